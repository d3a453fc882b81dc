"""shapely: plane geometry."""

import numpy as np
import shapely


def points(x):
    p = shapely.points(x.reshape(-1, 2))
    return (
        shapely.get_coordinates(p),
        shapely.get_x(p),
        shapely.distance(p, p[::-1]),
        shapely.total_bounds(p),
    )


def vectorized(x):
    p = shapely.points(x.reshape(-1, 2))
    square = shapely.box(0.2, 0.2, 0.8, 0.8)
    return (
        shapely.contains(square, p),
        shapely.contains_xy(square, x, x[::-1]),
        shapely.area(shapely.buffer(p[:5], x[:5])),
        p[0].distance(square),
    )


def lines_and_polygons(x):
    line = shapely.LineString(x[:20].reshape(-1, 2))
    hull = shapely.MultiPoint(x.reshape(-1, 2)).convex_hull
    return (
        line.length,
        np.array(line.coords),
        hull.area,
        shapely.Polygon(np.array([[0, 0], [1, 0], [1, 1.0]])).area,
        shapely.linestrings(x.reshape(-1, 2, 2)).size,
    )


def tree(x):
    p = shapely.points(x.reshape(-1, 2))
    return (
        np.sort(shapely.STRtree(p).query(shapely.box(0, 0, 0.3, 0.3))),
        shapely.STRtree(p).nearest(p[:5]),
        shapely.to_wkb(p[:2]).tolist(),
    )

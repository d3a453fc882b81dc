"""geopandas: maps as data frames."""

import geopandas as gpd
import numpy as np
import shapely


def frames(x):
    g = gpd.GeoDataFrame({"v": x}, geometry=gpd.points_from_xy(x, x[::-1]), crs=4326)
    return (
        g[x > 0.5].v.to_numpy(),
        g.geometry.x.to_numpy(),
        g.total_bounds,
        g.to_crs(3857).geometry.y.to_numpy(),
    )


def geometry(x):
    s = gpd.GeoSeries(shapely.points(x.reshape(-1, 2)))
    return (
        s.distance(shapely.Point(0, 0)).to_numpy(),
        s.buffer(x[: len(s)]).area.to_numpy(),
        s.within(shapely.box(0, 0, 0.5, 0.5)).to_numpy(),
    )


def join(x):
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(x, x))
    boxes = gpd.GeoDataFrame(
        {"k": np.arange(2)},
        geometry=[shapely.box(0, 0, 0.5, 0.5), shapely.box(0.5, 0.5, 2, 2)],
    )
    return gpd.sjoin(points, boxes)["k"].to_numpy()

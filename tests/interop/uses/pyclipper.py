"""pyclipper: polygons cut by polygons."""

import numpy as np
import pyclipper


def _polygon(x, shift=0):
    angles = np.linspace(0, 6, 12)
    radii = x[:12] * 50 + 100
    return np.stack(
        [radii * np.cos(angles) + shift, radii * np.sin(angles)], axis=1
    ).astype(int)


def clipped(x):
    made = pyclipper.Pyclipper()
    made.AddPath(_polygon(x), pyclipper.PT_CLIP, True)
    made.AddPaths([_polygon(x, 40), _polygon(x, -60) + 1], pyclipper.PT_SUBJECT, True)
    return [np.array(p) * 2 for p in made.Execute(pyclipper.CT_INTERSECTION)]


def offsets(x):
    made = pyclipper.PyclipperOffset()
    made.AddPath(_polygon(x), pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
    return made.Execute(7.0), made.Execute((x * 20).max())


def measured(x):
    polygon = _polygon(x) + 3
    return (
        pyclipper.Area(polygon),
        pyclipper.Orientation(polygon),
        pyclipper.PointInPolygon(polygon[0] // 2, polygon),
        pyclipper.CleanPolygon(polygon),
        pyclipper.ReversePath(polygon),
    )


def scaled(x):
    y = x[:24].reshape(-1, 2) * 1.0
    return pyclipper.scale_to_clipper(y), pyclipper.scale_from_clipper(_polygon(x))


def error_points(x):
    pyclipper.Area(x * 2)

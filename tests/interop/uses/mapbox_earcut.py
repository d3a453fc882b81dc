"""mapbox-earcut: triangles of polygons."""

import mapbox_earcut as earcut
import numpy as np


def _polygon(x):
    angles = np.linspace(0, 6, 20)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * (x[:20, None] + 1)


def triangles(x):
    polygon = _polygon(x)
    found = earcut.triangulate_float64(polygon, np.array([20], np.uint32))
    return found, polygon[found].sum(), polygon


def holes(x):
    outer, inner = _polygon(x) * 2, _polygon(x)[::-1] * 0.3
    both = np.concatenate([outer, inner])
    return earcut.triangulate_float64(both, np.cumsum([20, 20]).astype(np.uint32))


def other_dtypes(x):
    ends = np.array([20], np.uint32)
    return (
        earcut.triangulate_float32(_polygon(x).astype(np.float32), ends),
        earcut.triangulate_int32((_polygon(x) * 100).astype(np.int32), ends).reshape(
            -1, 3
        ),
    )


def error_ends(x):
    earcut.triangulate_float64(_polygon(x) * 2, np.array([7], np.uint32))

"""manifold3d: solids."""

import manifold3d as m3
import numpy as np


def _cube(x, shift=0.0):
    made = m3.Manifold.cube((1.0, 2.0, 3.0))
    return made.translate(tuple((x[:3] * 0.1 + shift).tolist()))


def meshes(x):
    found = _cube(x).to_mesh()
    vertices = np.asarray(found.vert_properties)
    triangles = np.asarray(found.tri_verts)
    again = m3.Manifold(
        m3.Mesh((vertices * 2).astype(np.float32), triangles.astype(np.uint32))
    )
    return vertices.astype(float).round(5), triangles.shape, round(again.volume(), 3)


def transformed(x):
    matrix = np.hstack([np.eye(3) * 2.0, x[:3].reshape(3, 1)])
    made = m3.Manifold.cube((1.0, 1.0, 1.0)).transform(matrix)
    return (
        made.volume(),
        np.round(made.bounding_box(), 5),
        _cube(x).scale(x[:3] + 1).volume(),
    )


def booleans(x):
    both = _cube(x) - _cube(x, 0.5)
    return (
        round(both.volume(), 4),
        both.num_vert(),
        round((_cube(x) ^ _cube(x, 0.5)).volume(), 4),
    )


def sections(x):
    angles = np.linspace(0, 6, 12)
    outline = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (x[:12, None] + 1)
    made = m3.CrossSection([outline])
    return (
        round(made.area(), 6),
        round(m3.Manifold.extrude(made, 2.0).volume(), 5),
        [np.asarray(p).shape for p in made.to_polygons()],
    )


def hulls(x):
    points = x[:60].reshape(-1, 3) * 5
    return round(m3.Manifold.hull_points(points).volume(), 4)


def callbacks(x):
    shift = x[:3] * 2

    def warp(points):
        return np.asarray(points) + shift

    return np.round(_cube(x).warp_batch(warp).bounding_box(), 5)

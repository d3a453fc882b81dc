"""vispy: plots on a GPU."""

import numpy as np
from vispy import color, geometry, visuals
from vispy.util import transforms


def colours(x):
    return color.get_colormap("viridis").map(x), color.ColorArray(
        x[:12].reshape(4, 3)
    ).rgba


def meshes(small):
    m = geometry.MeshData(small[:12].reshape(4, 3), np.array([[0, 1, 2], [1, 2, 3]]))
    return (
        m.get_face_normals(),
        m.get_edges(),
        transforms.rotate(30, (0, 0, 1)),
        geometry.create_sphere(4, 4).get_vertices(),
    )


def transform(x):
    t = visuals.transforms.STTransform(scale=(2, 3), translate=(1, 1))
    return t.map(x.reshape(-1, 2)), visuals.transforms.MatrixTransform(np.eye(4)).map(
        x.reshape(-1, 4)
    )

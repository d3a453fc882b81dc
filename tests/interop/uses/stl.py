"""numpy-stl: STL files."""

import io

import numpy as np
import stl
from stl import mesh


def _mesh(x):
    data = np.zeros(x.size // 9, dtype=mesh.Mesh.dtype)
    data["vectors"] = (x[: 9 * len(data)] * 2.0).reshape(-1, 3, 3)
    return mesh.Mesh(data), data


def vectors(x):
    made, _ = _mesh(x)
    return made.vectors, made.v0 + 1, made.areas, made.normals, made.x.sum()


def transformed(x):
    made, _ = _mesh(x)
    made.translate(x[:3] * 2)
    made.rotate([0.0, 0.0, 1.0], 0.5)
    made.transform(np.eye(4) * 1.0)
    return made.vectors, made.min_ * 2, made.max_, made.rotation_matrix(x[:3] + 1, 0.3)


def files(x):
    made, _ = _mesh(x)
    file = io.BytesIO()
    made.save("a.stl", fh=file, mode=stl.Mode.BINARY)
    file.seek(0)
    return mesh.Mesh.from_file("a.stl", fh=file).vectors * 2


def shared_data(x):
    made, data = _mesh(x)
    before = data["vectors"] + 1
    made.vectors[0] = 5
    data["vectors"][1] = 7
    return before, made.points, data["vectors"]


def joined(x):
    both = mesh.Mesh(np.concatenate([_mesh(x)[0].data, _mesh(x * 2)[1]]))
    return both.vectors, both.is_closed(), len(both)

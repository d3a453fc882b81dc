"""plyfile: PLY files."""

import io

import numpy as np
import plyfile


def _vertices(x):
    made = np.zeros(x.size // 3, [("x", "f4"), ("y", "f4"), ("z", "f8")])
    for i, name in enumerate("xyz"):
        made[name] = x[i::3][: len(made)] * 2.0
    return made


def _read(data):
    file = io.BytesIO()
    data.write(file)
    file.seek(0)
    return plyfile.PlyData.read(file)


def files(x):
    element = plyfile.PlyElement.describe(_vertices(x), "vertex")
    read = [_read(plyfile.PlyData([element], text=t)) for t in (False, True)]
    return (
        [r["vertex"]["z"] + 1 for r in read],
        read[0]["vertex"].data["x"],
        len(read[0]["vertex"]),
    )


def faces(x):
    made = np.empty(2, [("vertex_indices", "i4", (3,)), ("red", "u1")])
    made["vertex_indices"] = (x[:6].reshape(2, 3) * 9).astype(int)
    made["red"] = (x[:2] * 200).astype(np.uint8)
    read = _read(plyfile.PlyData([plyfile.PlyElement.describe(made, "face")]))
    return [np.asarray(f) * 2 for f in read["face"]["vertex_indices"]], read["face"][
        "red"
    ]


def shared_vertices(x):
    vertices = _vertices(x)
    element = plyfile.PlyElement.describe(vertices, "vertex")
    before = vertices["x"] + 1
    element["x"][0] = 5
    element["y"] = x[: len(vertices)] * 3
    vertices["z"][1] = 7
    return before, vertices["x"], element["y"], element["z"]


def error_description(x):
    plyfile.PlyElement.describe(x * 2, "vertex")

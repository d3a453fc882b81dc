"""safetensors: files of tensors."""

import numpy as np
import safetensors
from safetensors.numpy import load, load_file, save, save_file


def _sorted(tensors):
    return dict(sorted(tensors.items()))


def bytes_of_arrays(x):
    data = save({"x": x * 1.0 + 1, "m": x.reshape(-1, 4)})
    found = load(data)
    return len(data), data[:8], _sorted(found), found["x"] * 2


def files(x):
    save_file({"x": x + 1, "i": np.arange(5) * 2}, "a.safetensors", {"by": "test"})
    found = load_file("a.safetensors")
    with safetensors.safe_open("a.safetensors", framework="np") as file:
        part = file.get_slice("x")[2:7]
        return (
            _sorted(found),
            part,
            file.get_tensor("i"),
            file.metadata(),
            sorted(file.keys()),
        )


def dtypes(x):
    kinds = ("f2", "f4", "i1", "u1", "i4", "i8", "?")
    return _sorted(load(save({t: (x * 9).astype(t) for t in kinds})))


def views(x):
    return _sorted(load(save({"a": np.ascontiguousarray(x[::2]), "b": x[5:9] * 2})))


def error_dtype(x):
    save({"x": x.astype("M8[s]")})

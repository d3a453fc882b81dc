"""awkward: arrays of lists of different lengths."""

import awkward as ak
import numpy as np


def from_arrays(x):
    y = x * 1.0 + 1
    made = ak.from_numpy(y)
    table = ak.Array(y.reshape(-1, 4))
    return made.to_numpy(), ak.sum(table, axis=1).to_numpy(), str(made.type)


def array_of_array(x):
    made = ak.Array(x * 2.0)
    return (made + 1).to_numpy(), ak.to_list(made[:3]), len(made)


def unflatten(x):
    counts = np.arange(5) * 2 + 2
    lists = ak.unflatten(x[:30] * 1.0, counts)
    return ak.to_list(ak.sum(lists, axis=1)), ak.num(lists).to_numpy(), ak.max(lists)


def records(x):
    table = ak.zip({"a": x + 1, "b": np.arange(x.size) * 2})
    kept = table[table.a > 1.5]
    return kept.b.to_numpy(), ak.fields(table), ak.to_numpy(table.a + table.b)


def masks(x):
    mask = x * 1.0 > 0.5
    array = ak.Array((x * 10).astype(np.int64))
    return (
        array[mask].to_numpy(),
        ak.mask(array, mask).to_list()[:9],
        ak.where(mask, x + 1, array).to_numpy(),
        array[np.array([3, 1, 2])].to_numpy(),
    )


def numpy_functions(x):
    array = ak.Array([[1.0, 2.0], [], [3.0]])
    return (
        np.sqrt(array).to_list(),
        (np.array([1.0, 2.0, 3.0]) * array).to_list(),
        np.asarray(ak.Array(x + 1)) * 2,
        np.concatenate([ak.Array(x), x]).to_numpy(),
    )


def dtypes(x):
    return [
        str(ak.from_numpy((x * 9).astype(t)).type)[-8:]
        for t in ("i1", "u4", "f4", "c8", "?")
    ]


def builder(small):
    made = ak.ArrayBuilder()
    for value in small[:5] * 2:
        made.append(value)
    made.append(small[:3] + 1)
    return made.snapshot().to_list()


def shared_memory(x):
    made = ak.from_numpy(x)
    before = x + 1
    x[0] = 5
    seen = made[0], np.asarray(made)[:3]
    np.asarray(made)[1] = 7
    return before, seen, x[:3], x.sum()


def shared_contents(x):
    y = x * 1.0
    made = ak.contents.NumpyArray(y)
    y[2] = 3
    return np.asarray(made.data)[:4], y


def error_length(x):
    return ak.unflatten(x, np.array([1, 2]))

"""ujson: JSON."""

import numpy as np
import ujson


def _plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError("no")


def arrays(x):
    y = x * 1.0 + 1
    text = ujson.dumps(
        {"y": y, "rows": [y[:3], (y[3:5],)], "n": np.int32(3)}, default=_plain
    )
    return text, np.array(ujson.loads(text)["y"]) * 2


def lists(x):
    return ujson.dumps((x * 2).tolist()), ujson.dumps([float(v) for v in x[:5] + 1])


def scalars(x):
    y = x[:3] * 2
    return ujson.dumps([y[0], y.max(), True])


def files(x):
    with open("a.ujson", "w") as file:
        ujson.dump({"x": x + 1}, file, default=_plain)
    with open("a.ujson") as file:
        return np.array(ujson.load(file)["x"])


def nested(small):
    made = {"a": [{"b": small[:2] * 2}] * 2}
    return ujson.dumps(made, default=_plain), made["a"][0]["b"] is made["a"][1]["b"]


def error_without_default(x):
    try:
        ujson.dumps({"x": x[:2] * 2})
    except TypeError:
        raise TypeError("not serializable") from None


def error_integers(x):
    try:
        ujson.dumps([(x * 9).astype(np.int32)[:2]])
    except TypeError:
        raise TypeError("not serializable") from None

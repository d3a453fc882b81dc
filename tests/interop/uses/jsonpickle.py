"""jsonpickle: objects as JSON."""

import jsonpickle
import jsonpickle.ext.numpy as of_numpy

of_numpy.register_handlers()


def _both_ways(value):
    return jsonpickle.decode(jsonpickle.encode(value), on_missing="error", safe=False)


class _Signal:
    def __init__(self, data):
        self.data = data


def arrays(x):
    y = x * 1.0 + 1
    return _both_ways(y), _both_ways(y[:6].reshape(2, 3)), _both_ways(y[::2])


def texts(small):
    return jsonpickle.encode(small[:3] * 2), jsonpickle.encode({"a": small[:2] + 1})


def containers(x):
    return _both_ways({"x": x * 2, "rows": [x[:2], (x[2:4] + 1,)], "s": x[1]})


def objects(x):
    made = jsonpickle.decode(jsonpickle.encode(_Signal(x + 1)), classes=[_Signal])
    return made.data if isinstance(made, _Signal) else made["data"]


def dtypes(x):
    return [_both_ways((x * 9).astype(t)[:4]) for t in ("i1", "u4", "f4", "c8", "?")]


def shared_views(x):
    y = x * 1.0
    made = _both_ways([y, y[:3]])
    made[0][0] = 9
    return made[1], y[0]

"""dill: pickles of functions and classes."""

import pickle

import dill
import numpy as np


def arrays(x):
    y = x * 1.0 + 1
    return dill.loads(dill.dumps(y)), dill.loads(
        dill.dumps({"y": [y, y[::2]], "s": y[0]})
    )


def closures(x):
    y = x + 1

    def scaled(by):
        return y * by + np.sqrt(y)

    return dill.loads(dill.dumps(scaled))(3.0), dill.loads(dill.dumps(lambda: y[:5]))()


def classes(x):
    class Signal:
        scale = np.arange(3) * 2.0

        def __init__(self, data):
            self.data = data

        def energy(self):
            return (self.data**2).sum()

    made = dill.loads(dill.dumps(Signal(x * 2)))
    return made.data, made.scale, made.energy() == (x * 2 * (x * 2)).sum()


def functions():
    root, add, norm = dill.loads(dill.dumps([np.sqrt, np.add, np.linalg.norm]))
    return root(np.arange(4)), add(1, np.arange(3)), norm(np.arange(5) * 1.0)


def methods(x):
    draw = dill.loads(dill.dumps(np.random.default_rng(1).random))
    total, old = dill.loads(dill.dumps([(x * 2).sum, np.random.RandomState(3).rand]))
    return draw(4), total(), old(2)


def generators():
    made = dill.loads(dill.dumps(np.random.default_rng(5)))
    return made.normal(size=4), dill.loads(dill.dumps(np.random.RandomState(2))).rand(3)


def buffers(x):
    y = x * 2
    return pickle.loads(dill.dumps(y, protocol=5)), dill.copy([y, y[:3]])


def identity(x):
    y = x + 1
    a, b = dill.loads(dill.dumps((y, y)))
    made = dill.loads(dill.dumps([y, y.reshape(-1, 4)]))
    made[0][0] = 9
    return a is b, a, made[1][0], y[0]


def error_in_function(x):
    return dill.loads(dill.dumps(lambda v: v[np.array([10**6])]))(x * 2)

"""numba: compiled loops."""

import numba
import numpy as np
from numba import guvectorize, njit, prange, vectorize

# Sums of large arrays add in another order.
TOLERANCES = {"shared_view": 1e-14}


@njit
def _total(x):
    s = 0.0
    for v in x:
        s += v * 2
    return s


@njit
def _sine(n):
    return np.sin(n) + np.pi


@njit
def _new_arrays(n):
    a = np.zeros((n, 2))
    a[:, 1] = np.arange(n)
    return a, np.linspace(0, 1, n), np.float32(n), a.sum()


@njit
def _double(x):
    for i in range(x.shape[0]):
        x[i] *= 2


@njit(parallel=True)
def _parallel(x, out):
    for i in prange(x.size):
        out[i] = np.sqrt(x[i]) + 1
    return out.sum()


@njit("float64(float64[:])")
def _typed(x):
    return x[0] + x[-1]


@vectorize(["float64(float64, float64)"])
def _hypot(a, b):
    return np.sqrt(a * a + b * b)


@vectorize
def _dynamic(a):
    return a + 1


@guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
def _running_sum(a, out):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
        out[i] = s


@numba.stencil
def _neighbours(a):
    return a[-1, 0] + a[1, 0]


def kernel(x):
    return _total(x), _total(x.astype(np.float32)), _total(x[::2]), _typed(x)


def scalar_function(small):
    return _sine(0.5), _sine(3), _sine(small[1])


def arrays_made_inside(small):
    return _new_arrays(5)


def array_returned(x):
    @njit
    def add(a, b):
        return a + b * 2

    return add(x, x), add(x.reshape(-1, 4), x[:4]), np.sqrt(add(x, x))


def parallel(x):
    out = np.empty_like(x)
    return _parallel(x, out), out


def ufuncs(x):
    return (
        _hypot(x, 2.0),
        _dynamic(x),
        _dynamic((x * 10).astype(int)),
        _hypot.reduce(x[:9]),
    )


def generalized_ufunc(x):
    out = np.empty_like(x)
    _running_sum(x, out)
    return _running_sum(x.reshape(-1, 4)), out


def stencil(x):
    return _neighbours(x.reshape(-1, 4))


def closure_over_array(x):
    weights = np.array([1.0, 2.0, 3.0])

    @njit
    def weigh(a):
        return a[0] * weights[0] + a[1] * weights[2]

    return weigh(x)


def tuples_and_lists(x):
    @njit
    def both(pair):
        return pair[0][0] + pair[1][1]

    items = numba.typed.List()
    items.append(x)
    items.append(x + 1)
    return both((x, x * 2)), items[1]


def jit_class(x):
    @numba.experimental.jitclass([("data", numba.float64[:])])
    class Box:
        def __init__(self, data):
            self.data = data

        def total(self):
            return self.data.sum()

    return Box(x).total(), Box(x).data


def c_functions(small):
    @numba.cfunc("float64(float64)")
    def square(v):
        return v * v

    return square.ctypes(3.0), numba.typeof(small).name


def simulation(small):
    @njit
    def walk(positions, steps):
        np.random.seed(3)
        for _ in range(steps):
            positions += np.random.rand(positions.size) - 0.5
        return positions.mean()

    p = small.copy()
    return walk(p, 20), p


def shared_kernel(x):
    before = x + 1
    _double(x)
    after = x + 1
    _double(x)
    return before, after, x


def shared_view(x):
    before = x.sum()
    _double(x[::2])
    _double(x.reshape(-1, 4)[:, 1])
    return before, x, x.sum()


def error_type(small):
    return _total("a")

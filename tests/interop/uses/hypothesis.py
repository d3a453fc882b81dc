"""hypothesis: tests with random data."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

_SETTINGS = settings(
    max_examples=15,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _examples(strategy, use=lambda v: v):
    found = []

    @_SETTINGS
    @given(strategy)
    def run(value):
        found.append(use(value))

    run()
    return found


# Numbers are drawn from the source texts of the program too, and so of mxnp.
_LEVELS = st.sampled_from([0.5, 2.0, -1e9, float("inf")])


def arrays():
    return _examples(hn.arrays(np.float64, (3, 2), elements=_LEVELS), lambda a: a + 1)


def elements_of_arrays(x):
    levels = (x * 1.0 + 1)[:5]
    return (
        _examples(st.sampled_from(levels.tolist())),
        _examples(hn.arrays("f4", 4, elements=_LEVELS), lambda a: a * 2),
        _examples(st.sampled_from([levels, levels * 2]), lambda a: a.sum()),
    )


def bounds_of_scalars(x):
    y = x[:4] * 2
    found = _examples(st.floats(y.min(), y.max())), _examples(st.integers(0, y.size))
    return [y.min() <= v <= y.max() for v in found[0]], [v <= y.size for v in found[1]]


def strategies_of_shapes():
    shapes = hn.array_shapes(max_dims=3, max_side=4)
    return (
        _examples(hn.arrays(bool, shapes), lambda a: (a.shape, a.sum())),
        _examples(hn.broadcastable_shapes((2, 3))),
        _examples(hn.basic_indices((4, 5)), str),
        _examples(hn.integer_array_indices((4, 5)), lambda i: np.ones((4, 5))[i].sum()),
    )


def scalars_and_dtypes():
    return _examples(hn.scalar_dtypes(), str), _examples(hn.from_dtype(np.dtype("?")))


def filled():
    made = hn.arrays(np.float32, 30, elements=st.just(1.0), fill=st.just(np.float32(2)))
    return _examples(made, lambda a: a.mean())


def functions_of_two_arrays(x):
    pairs = st.tuples(st.just(x * 2), hn.arrays("f8", 2, elements=_LEVELS))
    return _examples(pairs, lambda p: (p[0].sum(), p[1]))


def error_falsified(x):
    y = x * 1.0 + 1

    @_SETTINGS
    @given(st.integers(0, y.size - 1))
    def run(i):
        assert y[i] < 0, "positive"

    run()

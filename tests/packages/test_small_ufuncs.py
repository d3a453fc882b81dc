"""Ufuncs of packages that the program calls with few elements."""

import warnings

import numpy
import pytest

import mxnp as np
from mxnp import _bridge

special = pytest.importorskip("scipy.special")

MOST_LOCKED = 500  # elements, in csrc/python/direct/elementwise.c

VALUES = [0.0, -1.0, 0.5, 3.7, 2.0, 1.0, 0.25]
COUNTS = [0, 1, 2, 3, 5]
UFUNCS = sorted(
    name for name, x in vars(special).items()
    if isinstance(x, numpy.ufunc) and not name.startswith(("pro_", "obl_"))
)  # fmt: skip


def drawn(r, code, shape):
    """Draw an operand: an array of some layout, or a number."""
    values = COUNTS if code in "ilqp" else VALUES
    a = r.choice(values, shape).astype(code)
    number = a.dtype.type(r.choice(values))
    return [
        a, a, a, r.choice(COUNTS, shape).astype("i4"), numpy.asfortranarray(a), number, number.item(), 2,
        numpy.repeat(a, 2, axis=-1)[..., ::2] if shape else a, a[:1] if shape else a,
    ][r.integers(10)]  # fmt: skip


def outcome(function, args, how, special_how):
    """Call a function, and describe all that its caller can see."""
    with warnings.catch_warnings(record=True) as seen, numpy.errstate(all=how):
        warnings.simplefilter("always")
        try:
            with special.errstate(all=special_how):
                result = function(*args)
        except Exception as error:
            result = str(error).replace("mxnp.ndarray", "numpy.ndarray")
            described = [(type(error), result)]
        else:
            results = result if isinstance(result, tuple) else (result,)
            described = [
                (x.dtype, x.shape, x.strides, x.tobytes(), isinstance(x, numpy.generic))
                for x in results
            ]
    return described, [(w.category, str(w.message), w.filename) for w in seen]


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", UFUNCS)
def test_each_ufunc_does_what_it_does_with_numpys_arrays(name):
    function = getattr(special, name)
    r = numpy.random.default_rng(3)
    types = [t for t in function.types if not set(t) & set("gG")] * 6
    for kinds in types:
        shape = [(5,), (1,), (0,), (3, 4), (1, 4), (), (2, 1, 3)][r.integers(7)]
        args = [drawn(r, code, shape) for code in kinds.partition("->")[0]]
        how, special_how = r.choice(["ignore", "warn", "raise"], 2)
        own = [np.array(x) if isinstance(x, numpy.ndarray) else x for x in args]
        expected = outcome(function, args, how, special_how)
        assert outcome(function, own, how, special_how) == expected


def n_converted(function, *args):
    """Call a function, and count the calls whose arrays were replaced by NumPy's."""
    np.synchronize()
    before = _bridge.converted_calls()
    result = function(*args)
    assert type(result) is np.ndarray
    return _bridge.converted_calls() - before


@pytest.mark.parametrize(
    "n", [1, MOST_LOCKED - 1, MOST_LOCKED, MOST_LOCKED + 1], ids=str
)
def test_few_elements_are_computed_without_the_ufunc(n):
    x = np.linspace(0, 1, n)
    is_converted = n > MOST_LOCKED
    assert n_converted(special.erf, x) == is_converted
    assert n_converted(special.jv, 1, x) == is_converted
    assert n_converted(special.betainc, 2.0, 3.0, x) == is_converted
    assert n_converted(special.erf, np.zeros(n, "i4")) == is_converted


def test_calls_that_the_ufunc_computes():
    x = np.linspace(0, 1, 5)
    assert n_converted(special.hyp2f1, x, x, x, x) == 1
    assert n_converted(special.xlogy, x, x[:, None]) == 1
    assert n_converted(special.erf, np.ones((3, 4)).T) == 1
    assert n_converted(special.erf, x[:0]) == 1


def test_operands_for_which_operations_wait():
    a = numpy.linspace(0, 1, 2**18)
    expected = special.erf(a[:5] + 1)
    x = np.array(a)
    y = (x + 1)[:5]
    assert _bridge.pending() > 0
    assert special.erf(y).tobytes() == expected.tobytes()


def test_an_exception_of_a_loop():
    x = np.array([0.5, -1.0])
    with (
        special.errstate(all="raise"),
        pytest.raises(special.SpecialFunctionError, match="singularity"),
    ):
        special.gammaln(x)


@pytest.mark.parametrize("code", ["f8", "i4", "i8"])
def test_a_filter_of_warnings_may_compute_with_arrays(monkeypatch, code):
    """Elements that are cast stay while the loop runs."""
    a = numpy.arange(-5, 15).astype(code)
    shown = []

    def show(message, *args, **kwargs):
        shown.append(np.arange(20) + 0.5)

    monkeypatch.setattr(warnings, "showwarning", show)
    results, counts = [], []
    for x in (a, np.array(a)):
        with warnings.catch_warnings(), special.errstate(all="warn"):
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", show)
            results.append(special.gammaln(x).tobytes())
        counts.append(len(shown))
        shown.clear()
    assert results[0] == results[1]
    assert counts[0] == counts[1] > 1


def test_a_filter_of_warnings_may_call_other_loops(monkeypatch):
    """What is known of ufuncs moves in memory while a loop runs."""
    functions = [getattr(special, name) for name in UFUNCS]
    unary = [f for f in functions if f.nin == f.nout == 1]
    shown = []

    def show(message, *args, **kwargs):
        if not shown:
            shown.append(message)
            for f in unary:
                for code in "fdil?":
                    f(np.ones(2, code))

    x = np.array([0.0, -1.0])
    with warnings.catch_warnings(), special.errstate(all="warn"):
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        result = special.gammaln(x)
    assert len(shown) == 1
    assert result.tobytes() == special.gammaln(numpy.asarray(x)).tobytes()

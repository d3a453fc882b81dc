"""Test arrays that compiled functions of packages return: the program gets mxnp arrays.

Each text runs as code of the program and as code of a package.
"""

import gc

import numpy
import pytest
from support.constants import constant
from support.doors import FOLDER

import mxnp
from mxnp import _bridge
from mxnp._interop import owners

PROGRAM = {"__name__": "__main__"}
PACKAGE = {"__name__": "other", "__file__": f"{FOLDER}/other.py"}


@pytest.fixture
def evaluate(compiled):
    """Return a function that evaluates a text as code of the program, or of a package."""

    def call(text, names=PROGRAM, **more):
        names = (
            names | {"c": compiled, "giver": compiled.Giver(), "numpy": numpy} | more
        )
        return eval(compile(text, "<stdin>", "eval"), names)

    return call


CALLS = [
    *("c.give()", "c.give_for(1)", "c.ufunc([1.0])", "c.ufunc(numpy.ones(3))"),
    *("giver.give()", "giver.give_for(1)", "c.Giver.give(giver)"),
    *("giver[1]", "giver + 1", "1 + giver", "next(map(giver.give_for, [1]))"),
]
N_CALLERS = constant("python/packages/owners.c", "N_CALLERS")
TUPLES = ["c.give_tuple()", "giver.give_tuple()", "giver()"]


@pytest.mark.parametrize("text", CALLS)
def test_arrays(evaluate, text):
    assert type(evaluate(text)) is mxnp.ndarray
    assert type(evaluate(text, PACKAGE)) is numpy.ndarray


def test_callers_are_not_confused(evaluate):
    callers = [
        (PROGRAM | {"__name__": f"own_{i}"}, mxnp.ndarray) for i in range(N_CALLERS)
    ]
    callers += [
        (PACKAGE | {"__name__": f"other_{i}"}, numpy.ndarray) for i in range(N_CALLERS)
    ]
    for names, cls in callers * 2:  # some of them have one place
        assert type(evaluate("c.give()", names)) is cls


def test_callers_whose_owner_changes(evaluate):
    before = owners.get_rules()
    callers = [PACKAGE | {"__name__": f"other_{i}"} for i in range(N_CALLERS)]
    try:
        for included, cls in ([], numpy.ndarray), ([str(FOLDER)], mxnp.ndarray):
            owners.set_rules(owners.ImportFilter(included))
            for names in callers:
                assert type(evaluate("c.give()", names)) is cls
            callers.reverse()  # the last one has a place of its own
    finally:
        owners.set_rules(before)


@pytest.mark.parametrize("text", TUPLES)
def test_tuples_that_nothing_else_has(evaluate, text):
    for names, cls in (PROGRAM, mxnp.ndarray), (PACKAGE, numpy.ndarray):
        assert list(map(type, evaluate(text, names))) == [cls, int, cls]


@pytest.mark.parametrize("owner", ["c", "giver"])
def test_containers_stay(evaluate, owner):
    stored = evaluate(f"{owner}.give_stored()")
    assert stored is evaluate(f"{owner}.give_stored()")
    assert type(stored[0]) is numpy.ndarray
    a, b, c = evaluate(f"{owner}.give_inside()")
    assert {type(each) for each in (a[0], b["x"], c[0])} == {numpy.ndarray}


CALLS_WITH_ARGUMENTS = [
    *(
        "c.give_last({})",
        "c.give_last(1, {})[0]",
        "c.give_last(*[numpy.ones(1)] * 7, {})[0]",
    ),
    *("giver.give_last({})", "giver({})", "giver(1, {})[0]"),
    *("c.ufunc([1.0], {})", "c.ufunc([1.0], out={})", "c.ufunc([1.0], out=({},))"),
]


@pytest.mark.parametrize("text", CALLS_WITH_ARGUMENTS)
@pytest.mark.parametrize("xp", [numpy, mxnp], ids=["numpy", "mxnp"])
def test_arguments_stay(evaluate, text, xp):
    x = xp.ones(1)
    assert evaluate(text.format("x"), x=x) is x


def test_ufuncs_take_arrays_of_both_kinds(evaluate):
    x = mxnp.arange(3.0)
    for a, b in (x, None), (x, numpy.ones(3)), (numpy.ones(3), x + 0):
        y = evaluate("c.ufunc(a, out=b)", a=a, b=b)
        assert b is None or y is b
        assert (numpy.asarray(y) == -numpy.asarray(a)).all()


def test_ufuncs_of_rows(evaluate):
    x = mxnp.arange(6.0).reshape(2, 3) + 1
    assert evaluate("c.row_ufunc(x)", x=x).tolist() == [1, 4]
    assert evaluate("c.row_ufunc(x)", x=x[1]) == 4


def test_ufuncs_get_numpys_arrays_without_the_protocol(evaluate):
    x = mxnp.arange(501.0)  # fewer elements: see test_small_ufuncs.py
    counts = [_bridge.converted_calls()]
    for text, names in ("c.ufunc(x)", PROGRAM), ("c.ufunc(x)", PACKAGE):
        assert type(evaluate(text, names, x=x)) is mxnp.ndarray
        counts.append(_bridge.converted_calls())
    with mxnp.trap_nan():
        evaluate("c.ufunc(x)", x=x)
    counts.append(_bridge.converted_calls())
    assert [count - counts[0] for count in counts] == [0, 1, 1, 1]


def test_compiled_code_gets_numpys_arrays(evaluate):
    for text in ("c.gets_numpys(c.give)", "c.gets_numpys(giver.give)", "giver.calling"):
        assert evaluate(text) is True


def test_numpy_converts_an_object(evaluate):
    assert type(evaluate("giver.__array__()")) is numpy.ndarray
    assert type(evaluate("numpy.asarray(giver)")) is numpy.ndarray
    assert evaluate("xp.asarray(giver)", xp=mxnp).shape == (3,)


def test_attributes_stay(evaluate):
    assert evaluate("giver.item") is evaluate("giver.item")


def test_numpys_own_functions_return_numpys_arrays(evaluate):
    texts = [
        *("numpy.random.RandomState(1).rand(3)", "numpy.random.rand(3)"),
        *("numpy.random.default_rng(1).random(3)", "numpy.arange(3).view()"),
        *("numpy.random.standard_normal(3)", "numpy.negative([1.0])"),
    ]
    assert {type(evaluate(text)) for text in texts} == {numpy.ndarray}


def test_memory_that_a_package_keeps(evaluate):
    kept = evaluate("c.give_kept()", PACKAGE)
    x, other = evaluate("c.give_kept(), c.give_kept()")
    before = _bridge.set_threshold(0)
    y = x + 1
    kept[:] = 5
    z = other + 1
    x *= 2
    assert (kept.tolist(), other.tolist()) == ([10.0] * 3, [10.0] * 3)
    assert (y.tolist(), z.tolist()) == ([1.0] * 3, [6.0] * 3)
    kept[:] = 0
    _bridge.set_threshold(before)


SCALARS = [
    kind
    for kind in dict.fromkeys(numpy.sctypeDict.values())
    if issubclass(kind, numpy.number | numpy.bool) and kind is not numpy.timedelta64
]


@pytest.mark.parametrize("kind", SCALARS, ids=lambda kind: kind.__name__)
def test_classes_of_scalars_return_arrays_of_arrays(evaluate, kind):
    """The argument itself, if it has the dtype."""
    for size in (3, 300_000):
        x = mxnp.ones(size, kind)
        for names, cls in (PROGRAM, mxnp.ndarray), (PACKAGE, numpy.ndarray):
            made = evaluate("kind([1, 0])", names, kind=kind)
            assert type(made) is cls
            assert made.tolist() == kind([1, 0]).tolist()
            other = mxnp.ones(size, "i2" if kind is numpy.int8 else "i1")
            made = evaluate("kind(x * 2)", names, kind=kind, x=other)
            assert (type(made), made.dtype) == (cls, kind)
            assert (made == kind(2)).all()
            assert type(evaluate("kind(1)", names, kind=kind)) is kind
        assert evaluate("kind(x)", kind=kind, x=x) is x
        assert type(evaluate("kind(x[0])", kind=kind, x=x)) is kind


@pytest.mark.parametrize(
    "call", ["object_(x)", "object_([x])", "bytes_([b'a'])", "void(x)"]
)
def test_classes_of_other_scalars_return_arrays(evaluate, call):
    x = mxnp.arange(3)
    expected = eval(f"numpy.{call}", {"numpy": numpy, "x": numpy.arange(3)})
    for names, cls in (PROGRAM, mxnp.ndarray), (PACKAGE, numpy.ndarray):
        made = evaluate(f"np.{call}", names, np=numpy, x=x)
        assert (type(made), made.dtype) == (cls, expected.dtype)
        assert made.tolist() == expected.tolist()


class Angle(numpy.float64):
    """A class of the program that derives from one of NumPy's scalars."""


def test_classes_that_derive_from_scalars():
    assert type(Angle(mxnp.float64(2))) is type(Angle.__new__(Angle, 1.5)) is Angle
    assert type(numpy.float64(mxnp.array(3.0))) is numpy.float64
    assert isinstance(Angle("3") + 1, numpy.float64)


class Finder:
    """A key of a dict that keeps the tuples that refer to the dict."""

    def __init__(self, found):
        self.found, self.dict = found, None

    def __hash__(self):
        if self.dict is not None:
            refer = gc.get_referrers(self.dict)
            self.found += [each for each in refer if type(each) is tuple]
        return 1


def test_a_tuple_that_a_key_finds_stays_as_it_is():
    found = []

    def give(_):
        key = Finder(found)
        key.dict = {key: numpy.ones(2)}
        return key.dict, numpy.ones(3), 5

    given = _bridge.Function(give)(mxnp.ones(1))
    assert list(map(type, given)) == [dict, mxnp.ndarray, int]
    assert list(map(type, found[0])) == [dict, numpy.ndarray, int]

"""Test operators of mxnp arrays with objects of other packages and of the program."""

from __future__ import annotations

import importlib
import operator
import sys

import numpy
import pytest

import mxnp

BINARY = {
    "radd": operator.add,
    "rsub": operator.sub,
    "rmul": operator.mul,
    "rmatmul": operator.matmul,
    "rtruediv": operator.truediv,
    "rfloordiv": operator.floordiv,
    "rmod": operator.mod,
    "rdivmod": divmod,
    "rpow": operator.pow,
    "rlshift": operator.lshift,
    "rrshift": operator.rshift,
    "rand": operator.and_,
    "ror": operator.or_,
    "rxor": operator.xor,
    "gt": operator.lt,
    "ge": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.gt,
    "le": operator.ge,
}
IN_PLACE = {
    name: getattr(operator, f"i{name.removeprefix('r')}")
    for name in list(BINARY)[:14]
    if name != "rdivmod"
}

PACKAGE = f"""
import numpy


class Other:
    __array_priority__ = 1e6
    __hash__ = None

    def __init__(self, answer=None):
        self.answer = answer or (lambda x: x)


def method(name):
    def called(self, other, *modulus):
        self.name, self.kind = name, type(other)
        return self.answer(other)

    return called


for name in {list(BINARY)}:
    setattr(Other, f"__{{name}}__", method(name))


class NoUfuncs(Other):
    __array_ufunc__ = None


class Equal:
    __array_priority__ = 1e6
    __hash__ = None

    def __eq__(self, other):
        return type(other).__module__ == "numpy"


class Wrapper(numpy.lib.mixins.NDArrayOperatorsMixin):
    def __array_ufunc__(self, ufunc, method, *inputs):
        return [type(x) for x in inputs if x is not self][0]


class Picky(Wrapper):
    def __array_ufunc__(self, ufunc, method, *inputs):
        if any(type(x) not in (Picky, numpy.ndarray) for x in inputs):
            return NotImplemented
        return super().__array_ufunc__(ufunc, method, *inputs)


class Nothing:
    __array_priority__ = 1e6

    def __radd__(self, other):
        return NotImplemented
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("some") / "site-packages"
    folder.mkdir()
    (folder / "otherpackage.py").write_text(PACKAGE)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("otherpackage")
    sys.path.remove(str(folder))


@pytest.fixture(params=[3, 50_000])
def a(request):
    return mxnp.arange(request.param) + 1


@pytest.mark.parametrize(
    ("name", "call"), [*BINARY.items(), *IN_PLACE.items()], ids=str
)
def test_a_package_gets_the_numpy_array(package, a, name, call):
    other = package.Other()
    assert call(a, other) is a
    assert (other.name, other.kind) == (name, numpy.ndarray)


@pytest.mark.parametrize("call", [*BINARY.values(), *IN_PLACE.values()])
def test_results_are_mxnps(package, a, call):
    made = call(a, package.Other(lambda x: x * 2))
    assert type(made) is mxnp.ndarray
    view = call(a, package.Other(lambda x: x[1:]))
    assert view.base is a
    view[:] = 0
    assert a[0] == 1
    assert not a[1:].any()
    assert call(a, package.Other(lambda x: "text")) == "text"


@pytest.mark.parametrize("call", BINARY.values())
def test_a_class_without_ufuncs(package, a, call):
    other = package.NoUfuncs()
    assert call(a, other) is a
    assert other.kind is numpy.ndarray


def test_unequal_where_only_equal_is_defined(package, a):
    assert (a == package.Equal()) is True
    assert (a != package.Equal()) is False


def test_arrays_kept_by_a_package_share_memory(package, a):
    """Check that both sides see each other's writes."""
    kept = []
    a + package.Other(kept.append)
    a += 1
    numpy.testing.assert_array_equal(kept[0], numpy.arange(a.size) + 2)
    twice = a * 2
    kept[0][:] = 7
    assert (a == 7).all()
    numpy.testing.assert_array_equal(twice, (numpy.arange(a.size) + 2) * 2)


@pytest.mark.parametrize("call", [operator.add, operator.iadd])
def test_errors_are_numpys(package, a, call):
    with pytest.raises(TypeError) as expected:
        call(numpy.arange(3), package.Nothing())
    with pytest.raises(TypeError) as error:
        call(a, package.Nothing())
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("n", [3, 50_000])
@pytest.mark.parametrize("name", [*BINARY])
def test_subclasses_are_asked_first(xp, name, n):
    def reflected(self, other, modulus=None):
        return name, type(self).__name__, type(other) is xp.ndarray, other.sum()

    cls = type("Own", (xp.ndarray,), {f"__{name}__": reflected})
    return BINARY[name](xp.arange(n) + 1, xp.arange(n).view(cls))


@pytest.mark.parametrize("n", [3, 50_000])
@pytest.mark.parametrize("name", [*BINARY])
def test_subclasses_may_leave_the_operator_to_numpy(xp, name, n):
    asked = []

    def reflected(self, other, modulus=None):
        asked.append(type(other) is xp.ndarray)
        return NotImplemented

    cls = type("Own", (xp.ndarray,), {f"__{name}__": reflected})
    made = BINARY[name](xp.arange(n) + 1, (xp.arange(n) % 9 + 1).view(cls))
    return asked, [type(x).__name__ for x in made] if name == "rdivmod" else made


@pytest.mark.parametrize("n", [3, 50_000])
@pytest.mark.parametrize("base", [2.0, -2.0])
def test_powers_and_quotients_are_masked(xp, base, n):
    exponent = xp.ma.array(xp.full(n, 1.5), mask=xp.arange(n) == 1)
    x = xp.full(n, base)
    made = x**exponent, *divmod(x, xp.ma.array(xp.arange(1, n + 1.0)))
    return [(type(y).__name__, y.tolist()) for y in made]


def test_unsupported_operands_raise():
    class OfProgram:
        __array_priority__ = 1e6

    for call in (*list(BINARY.values())[:14], *IN_PLACE.values()):
        with pytest.raises(TypeError) as expected:
            call(numpy.arange(3), OfProgram())
        with pytest.raises(TypeError) as error:
            call(mxnp.arange(3), OfProgram())
        assert str(error.value) == str(expected.value)


def test_classes_of_the_program_get_the_mxnp_array(package, a):
    class Own:
        __array_ufunc__ = None

        def __rmul__(self, other):
            return other

    class Inherits(package.Other):
        pass

    class Overrides(package.Other):
        def __rmul__(self, other):
            return type(other), super().__rmul__(other) is other

    assert a * Own() is a
    other = Inherits()
    assert a * other is a
    assert other.kind is numpy.ndarray
    assert a * Overrides() == (mxnp.ndarray, True)


def test_a_package_that_takes_numpys_arrays_alone(package, a):
    """As in astropy, `__array_ufunc__` is called with the mxnp array and refuses it."""
    assert package.Picky() * a is numpy.ndarray
    assert package.Picky() + a[:3] is numpy.ndarray


def test_a_package_that_takes_mxnp_arrays_gets_them(package, a):
    assert numpy.multiply(package.Wrapper(), a) is mxnp.ndarray
    assert numpy.multiply(a, package.Wrapper()) is mxnp.ndarray


@pytest.mark.needs("scipy")
@pytest.mark.slow
def test_sparse_matrices():
    from scipy import sparse

    dense = numpy.arange(9.0).reshape(3, 3)
    for kind in (
        sparse.csr_array,
        sparse.coo_array,
        sparse.csr_matrix,
        sparse.dok_array,
    ):
        product = mxnp.asarray(dense) @ kind(dense)
        numpy.testing.assert_array_equal(product, dense @ kind(dense))


@pytest.mark.needs("pandas")
@pytest.mark.slow
def test_pandas():
    import pandas

    x = numpy.arange(1.0, 4)
    delta = pandas.Timedelta(2, "D")
    for other in (pandas.Series(x), pandas.Index(x)):
        assert type(mxnp.asarray(x) * other) is type(other)
    numpy.testing.assert_array_equal(mxnp.asarray(x) * delta, x * delta)
    assert (mxnp.asarray(x) == delta).shape == (3,)

"""Test the namespace of `x.__array_namespace__()`, whose results are never scalars."""

import copy
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from support.lanes import IS_DEFAULT
from support.paths import ROOT

import mxnp as np
from mxnp import _bridge

xp = importlib.import_module("mxnp.array_namespace")
CONSUMERS = ROOT / "array_api_tests" / "consumers.py"
A = numpy.arange(6.0)

# Expressions whose results are NumPy scalars if `x` is a plain array.
SCALARS = """\
xp.sum(x)
xp.mean(x)
xp.std(x)
xp.any(x)
xp.argmax(x)
xp.count_nonzero(x)
xp.vecdot(x, x)
xp.sqrt(x[1])
xp.linalg.vector_norm(x)
xp.linalg.det(xp.reshape(x[:4], (2, 2)))
xp.searchsorted(x, x[2])
xp.nanmean(x)
x[1]
x[-1]
x[1] + 1
2 - x[1]
x[1] * x[2]
numpy.float64(2) * x[1]
-x[1]
abs(x[1])
x[1] ** 2
x[1] < 2
x[1] == x[2]
x @ x
divmod(x[5], 2)[1]
x.sum()
x.max()
x.take(2)
x.T[1]
list(x)[1]
xp.modf(x[1])[0]
xp.unstack(x)[2]
""".splitlines()


def is_standard(a):
    return type(a) is np.ndarray and a._is_standard


@pytest.mark.parametrize("expression", SCALARS)
def test_results_are_arrays(expression):
    names = {"numpy": numpy}
    result = eval(expression, names | {"xp": xp, "x": xp.asarray(A)})
    expected = eval(expression, names | {"xp": np, "x": np.array(A)})
    assert is_standard(result)
    assert result.shape == ()
    assert isinstance(expected, numpy.generic)
    assert result.dtype == expected.dtype
    assert result == expected


@pytest.mark.parametrize("size", [6, 10**5])
def test_arrays_stay_of_the_namespace(size):
    x = xp.reshape(xp.ones(size), (2, -1))
    results = [x + 1, x.T, x[0], x[:, ::2], x[x > 0], x.copy(), x.astype("f4"), x.mT,
               x[0][0] + x, 1 / x, xp.exp(x), xp.sum(x, axis=0), *xp.linalg.svd(x[:, :2]),
               *xp.unique_all(x), *divmod(x, 3), *xp.broadcast_arrays(x, x)]  # fmt: skip
    assert all(map(is_standard, results))
    assert xp.linalg.svd(x[:, :2]).U.base is None


def test_results_of_numpys_functions_are_numpys():
    a, x = np.array(A), xp.asarray(A)
    for each in (np.sum(a), a[0], a.sum(), np.sum(x), np.sqrt(x[1]), np.array(x)[0]):
        assert isinstance(each, numpy.generic)
    assert not np.array(x)._is_standard
    assert not np.exp(x)._is_standard


def test_asarray_returns_a_view():
    a = np.array(A)
    x = xp.asarray(a)
    assert is_standard(x)
    assert not a._is_standard
    assert x.base is a
    x[0] = 7
    a[1] = 8
    assert a.tolist() == x.tolist() == [7, 8, 2, 3, 4, 5]
    assert xp.asarray(x) is x


def test_in_place():
    a, x = np.array(A), xp.asarray(A)
    same = a
    same += x
    assert same is a
    assert not a._is_standard
    total = same = xp.sum(x)
    total += 1
    assert total is same
    assert is_standard(total)
    item = x[0]
    item += 5
    assert x[0] == 0


def test_large_arrays_are_recorded():
    np.synchronize()
    x = xp.sqrt(xp.ones(10**6) * 2 + 1)
    y = x.T[::2] * 2
    assert _bridge.pending() == 5  # ones, multiply, add, sqrt, multiply
    assert is_standard(y)
    numpy.testing.assert_allclose(xp.sum(y), 1e6 * 3**0.5)


def test_objects_are_left_alone():
    inside = [numpy.float64(1)]
    made = np.empty(2, object)
    made[0], made[1] = inside, (numpy.float64(2),)
    x = xp.asarray(made)
    assert x[0] is inside
    assert type(x[0][0]) is numpy.float64
    assert type(x[1][0]) is numpy.float64


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "complex128", "bool"])
def test_unique_values_are_sorted(dtype):
    a = numpy.random.default_rng(0).integers(-50, 50, 1000).astype(dtype)
    expected = numpy.unique(a)
    x = xp.asarray(a)
    for result in (
        xp.unique_values(x),
        xp.unique_all(x).values,
        xp.unique_counts(x).values,
        xp.unique_inverse(x).values,
    ):
        assert is_standard(result)
        numpy.testing.assert_array_equal(result, expected)


def test_unique_values_keeps_every_nan():
    result = xp.unique_values(xp.asarray([numpy.nan, 1.0, numpy.nan]))
    numpy.testing.assert_array_equal(result, [1, numpy.nan, numpy.nan])


def test_argsort_is_stable():
    a = numpy.random.default_rng(0).integers(0, 3, 1000)
    expected = numpy.argsort(a, kind="stable")
    numpy.testing.assert_array_equal(xp.argsort(xp.asarray(a)), expected)


def test_asarray_refuses_lists_of_objects():
    for given in (["yes", "no"], [object()]):
        with pytest.raises(TypeError, match="Unsupported dtype"):
            xp.asarray(given)
    assert xp.asarray(numpy.array(["yes"])).dtype == "U3"
    assert xp.asarray("yes").dtype == "U3"  # xarray fills string arrays with a scalar
    assert xp.asarray(b"yes").dtype == "S3"
    assert xp.asarray([1, 2], dtype="float32").dtype == "float32"
    with pytest.raises(TypeError, match="nonsense"):
        xp.asarray([1], nonsense=2)


def test_copies_and_pickles():
    x = xp.asarray(A)
    for same in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert is_standard(same)
        assert same.tolist() == x.tolist()
    assert not pickle.loads(pickle.dumps(np.array(A)))._is_standard
    for function in (xp.sum, xp.linalg.svd, xp.fft.fft, xp.exp):
        again = pickle.loads(pickle.dumps(function))
        assert again.is_standard
        assert again == function


def test_verify():
    x = xp.asarray(A)
    with np.verify():
        assert is_standard(xp.sum(x) + x[1] * xp.linalg.vector_norm(x))
        assert is_standard(x.mean())


def test_names():
    assert xp.__name__ == "mxnp.array_namespace"
    assert set(dir(np)) <= set(dir(xp))
    assert xp.float32 is numpy.float32
    assert xp.pi == numpy.pi
    assert xp.sum is xp.sum
    assert xp.sum == np.sum
    assert xp.linalg is importlib.import_module("mxnp.array_namespace.linalg")
    assert xp.fft.fftfreq.is_standard
    with pytest.raises(AttributeError):
        xp.no_such_name  # noqa: B018


def test_one_namespace_for_arrays_items_and_sums():
    import array_api_compat as compat

    x = xp.asarray(A)
    assert compat.array_namespace(x, x[0], xp.sum(x), np.array(A)) is xp
    assert not compat.is_numpy_array(x)
    assert compat.is_array_api_obj(x[0])


# -- Tests of packages, see array_api_tests/README.md ------------------------------------


def consumer(package, *arguments):
    done = subprocess.run(
        [sys.executable, str(CONSUMERS), package, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(
    not IS_DEFAULT,
    reason="is slow and runs in one lane only",
)
@pytest.mark.parametrize(
    ("package", "file", "selection"),
    [
        pytest.param(*case, marks=pytest.mark.needs(case[0]))
        for case in [
            ("sklearn", "preprocessing/tests/test_label.py", "array_api"),
            ("scipy", "special/tests/test_logsumexp.py", "LogSumExp"),
            ("array_api_extra", "tests/main/test_set.py", "not test_delegates"),
        ]
    ],
)
def test_tests_of_packages(package, file, selection):
    module = importlib.import_module(package)
    path = Path(module.__file__).parent / file
    status, counts = consumer(package, str(path), "-k", selection)
    assert status == 0, counts
    assert counts.startswith("mxnp: ")
    assert " 0 failed, " in counts
    assert int(counts.split()[1]) > 5


@pytest.mark.parametrize("kind", ["m8[D]", "M8[D]", "U5", "S5", "O"])
def test_dtypes_outside_the_standard_behave_as_in_numpy(kind):
    a = np.array([3, 1, 2]).astype(kind)
    for made in (xp.astype(a, a.dtype), xp.asarray(a), xp.concat([a, a]), xp.flip(a)):
        assert not made._is_standard
        assert type(made[0]) is type(numpy.asarray(made)[0])
    if kind[0] not in "US":  # NumPy has no maximum of strings.
        assert type(xp.max(a)) is type(numpy.max(numpy.asarray(a)))
    assert [type(x) for x in xp.astype(a, a.dtype)] == [type(x) for x in a]

"""Test the standard's additions to NumPy, and that NumPy itself is unchanged."""

import inspect
import pickle
import subprocess
import sys
import warnings

import numpy
import pytest

import mxnp

INF, NAN = numpy.inf, numpy.nan
STANDARD = "2025.12"

INFO = numpy.__array_namespace_info__

# Functions that take more arguments than NumPy's, with calls that NumPy accepts, too.
NUMPY_CALLS = {
    "clip": [
        ([3, 1, 2], 2, 3),
        ([3, 1, 2], None, 2),
        ([3, 1, 2], 1.5, None),
        ([3, 1, 2],),
        {"a": [3, 1, 2], "a_min": 1, "a_max": 2},
        {"a": [3, 1, 2], "min": 2},
        {"a": [3, 1, 2], "max": 2, "dtype": "float32"},
    ],
    "sort": [
        ([3, 1, 2],),
        ([[3, 1], [2, 4]], None),
        ([[3, 1], [2, 4]], 0, "heapsort"),
        {"a": [3, 1, 2], "stable": True},
    ],
    "argsort": [
        ([3, 1, 2],),
        ([[3, 1], [2, 4]], None),
        {"a": [3, 1, 2], "kind": "mergesort"},
    ],
    "fft.fftfreq": [(5,), (6, 0.1), {"n": 3, "d": 2.0, "device": "cpu"}],
    "fft.rfftfreq": [(5,), (6, 0.1), {"n": 3, "d": 2.0, "device": "cpu"}],
    "expm1": [
        (1.5,),
        ([-0.0, INF, -INF, NAN],),
        ([1 + 2j, 1e-9j],),
    ],
}


def function(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def outcome(call, arguments):
    try:
        if isinstance(arguments, dict):
            return call(**arguments)
        return call(*arguments)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, each) for name, calls in NUMPY_CALLS.items() for each in calls],
)
def test_numpys_calls_are_numpys(xp, name, arguments):
    return outcome(function(xp, name), arguments)


@pytest.mark.parametrize("name", NUMPY_CALLS)
def test_the_function_is_still_numpys(name):
    ours, theirs = function(mxnp, name), function(numpy, name)
    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_wrong_calls_have_numpys_errors(xp):
    a = xp.arange(3)
    results = []
    for call in (
        lambda: xp.clip(a, 0, 1, min=0),
        lambda: xp.clip(a, 0, 1, max=0),
        lambda: xp.clip(),
        lambda: xp.sort(a, kind="quicksort", stable=True),
        lambda: xp.sort(a, axis=1),
        lambda: xp.argsort(a, nonsense=1),
        lambda: xp.expm1(a, a, a),
        lambda: xp.expm1([[1j], [1j, 2j]]),
        lambda: xp.expm1(),
    ):
        try:
            call()
        except Exception as error:
            results.append((type(error), str(error)))
    assert len(results) == 9
    return results


def test_warnings_name_the_programs_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mxnp.expm1(mxnp.array([1e9]))
        mxnp.expm1(mxnp.array([1e9 + 1j]))
    assert {each.filename for each in caught} == {__file__}
    assert caught


# -- clip -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("positional", "keywords"),
    [
        ((2,), {}),
        ((2,), {"max": 3}),
        ((), {"min": 2, "max": 3}),
        ((2, 3), {}),
        ((None,), {"max": 2}),
    ],
)
def test_clip_takes_bounds_by_position_and_name(positional, keywords):
    a = mxnp.array([4, 1, 2, 3], dtype="int16")
    bounds = dict(zip(("min", "max"), positional, strict=False)) | keywords
    result = mxnp.clip(a, *positional, **keywords)
    assert type(result) is mxnp.ndarray
    assert result.dtype == "int16"
    low, high = bounds.get("min"), bounds.get("max")
    assert result.tolist() == [
        max(x, x if low is None else low) if high is None
        else min(max(x, x if low is None else low), high)
        for x in a.tolist()
    ]  # fmt: skip


def test_clip_into_out():
    a, out = mxnp.arange(5), mxnp.zeros(5, int)
    assert mxnp.clip(a, 1, max=3, out=out) is out
    assert out.tolist() == [1, 1, 2, 3, 3]


# -- sort, argsort --------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "float32", "float64", "U2"]
)
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_sort_descending(dtype, axis):
    # There are few values, so many are equal, and enough for every sorting algorithm.
    a = numpy.random.default_rng(1).integers(0, 9, (40, 30)).astype(dtype)
    ours = mxnp.asarray(a)
    ascending = numpy.sort(a, axis)
    expected = numpy.flip(ascending, -1 if axis is None else axis)
    result = mxnp.sort(ours, axis=axis, descending=True)
    assert type(result) is mxnp.ndarray
    assert (result == expected).all()
    assert (mxnp.sort(ours, axis=axis, descending=False) == ascending).all()


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64"])
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("keywords", [{}, {"stable": True}, {"kind": "stable"}])
def test_argsort_keeps_the_order_of_equal_elements(dtype, descending, keywords):
    a = mxnp.random.default_rng(2).integers(0, 9, 500).astype(dtype)
    values = a.tolist()
    expected = sorted(range(500), key=values.__getitem__, reverse=descending)
    result = mxnp.argsort(a, descending=descending, **keywords)
    assert result.dtype == numpy.intp
    assert result.tolist() == expected


def test_argsort_of_flattened_and_of_lists():
    a = [[3, 1], [2, 3]]
    assert mxnp.argsort(a, axis=None, descending=True).tolist() == [0, 3, 2, 1]
    assert mxnp.argsort(a, 0, descending=True).tolist() == [[0, 1], [1, 0]]


def test_unstable_descending_argsort_orders():
    a = mxnp.random.default_rng(3).integers(0, 9, 500)
    order = mxnp.argsort(a, descending=True, stable=False)
    assert sorted(order.tolist()) == list(range(500))
    assert (numpy.diff(a[order]) <= 0).all()


def test_sort_descending_by_field():
    a = mxnp.array([(1, 2), (2, 1), (1, 3)], dtype=[("x", int), ("y", int)])
    by_y = mxnp.sort(a, order="y", descending=True)
    assert by_y["y"].tolist() == [3, 2, 1]
    assert mxnp.argsort(a, order="y", descending=True).tolist() == [2, 0, 1]


@pytest.mark.parametrize("axis", [2, -3])
def test_descending_axis_out_of_bounds(axis):
    for sort in (mxnp.sort, mxnp.argsort):
        with pytest.raises(numpy.exceptions.AxisError):
            sort(mxnp.zeros((2, 2)), axis=axis, descending=True)


def test_descending_kind_and_stable_exclude_each_other():
    for sort in (mxnp.sort, mxnp.argsort):
        with pytest.raises(ValueError, match="can't be provided at the same"):
            sort(mxnp.zeros(2), kind="stable", stable=True, descending=True)


# -- fft ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
def test_frequencies_of_a_dtype(name, dtype):
    expected = getattr(numpy.fft, name)(9, 0.3).astype(dtype)
    for result in (
        getattr(mxnp.fft, name)(9, 0.3, dtype=dtype),
        getattr(mxnp.fft, name)(9, d=0.3, dtype=dtype, device="cpu"),
    ):
        assert type(result) is mxnp.ndarray
        assert result.dtype == dtype
        assert (result == expected).all()
    with pytest.raises(ValueError, match="device"):
        getattr(mxnp.fft, name)(9, dtype=dtype, device="moon")


# -- expm1 ----------------------------------------------------------------------------

# The standard's special cases: x and the value. NaN in a value may have any sign.
EXPM1 = [
    (complex(0, 0), complex(0, 0)),
    (complex(-0.0, 0), complex(0, 0)),
    (complex(1, INF), complex(NAN, NAN)),
    (complex(1, NAN), complex(NAN, NAN)),
    (complex(INF, 0), complex(INF, 0)),
    (complex(-INF, 1), complex(-1, 0)),
    (complex(INF, 1), complex(INF, INF)),
    (complex(INF, 2), complex(-INF, INF)),
    (complex(-INF, INF), complex(-1, 0)),
    (complex(INF, NAN), complex(INF, NAN)),
    (complex(-INF, NAN), complex(-1, 0)),
    (complex(NAN, 0), complex(NAN, 0)),
    (complex(NAN, 1), complex(NAN, NAN)),
    (complex(NAN, NAN), complex(NAN, NAN)),
]


def equal(got, expected):
    return (numpy.isnan(expected) and numpy.isnan(got)) or got == expected


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("x", "value"), EXPM1)
def test_expm1_of_complex_limits(dtype, x, value):
    for conjugate in (False, True):
        z, w = (x.conjugate(), value.conjugate()) if conjugate else (x, value)
        for result in (
            mxnp.expm1(mxnp.array([z], dtype))[0],
            mxnp.expm1(mxnp.array(z, dtype)),
            mxnp.expm1(numpy.dtype(dtype).type(z)),
        ):
            assert type(result) is numpy.dtype(dtype).type
            # The sign of infinity is free where the imaginary part is NaN.
            real = abs(result.real) if numpy.isnan(w.imag) else result.real
            assert equal(real, w.real)
            assert equal(result.imag, w.imag)
            if not numpy.isnan(w.imag) and not numpy.isnan(z.imag):
                assert numpy.signbit(result.imag) == numpy.signbit(w.imag) or x.imag > 1


def test_expm1_beside_limits_is_numpys():
    z = numpy.array([[1e-9 + 1e-9j, INF], [2 - 3j, 0.5j]])
    expected = numpy.expm1(z[numpy.isfinite(z)])
    assert (mxnp.expm1(mxnp.asarray(z))[numpy.isfinite(z)] == expected).all()


def test_expm1_of_limits_into_out_where():
    z = mxnp.array([complex(INF, 0), complex(INF, 0), 0j])
    out = mxnp.full((2, 3), 7 + 0j)
    assert mxnp.expm1(z, out=out, where=mxnp.array([True, False, True])) is out
    assert out.tolist() == [[complex(INF, 0), 7, 0]] * 2
    assert mxnp.expm1(z, out=(z,)) is z
    assert z.tolist() == [complex(INF, 0), complex(INF, 0), 0]


def test_expm1_of_limits_is_silent_and_takes_dtype():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = mxnp.expm1(mxnp.array([complex(INF, 0)], "complex64"), dtype="D")
    assert result.dtype == numpy.complex128
    assert result.tolist() == [complex(INF, 0)]


# -- The namespace --------------------------------------------------------------------


def test_array_namespace():
    a = mxnp.zeros(2)
    for version in ({}, None, STANDARD, "2022.12"):
        keywords = {} if version == {} else {"api_version": version}
        namespace = a.__array_namespace__(**keywords)
        assert namespace is sys.modules["mxnp.array_namespace"]
    assert mxnp.__array_api_version__ == namespace.__array_api_version__ == STANDARD


@pytest.mark.parametrize("version", ["2019.01", "", 2025])
def test_unknown_version_of_the_standard(xp, version):
    with pytest.raises((ValueError, TypeError)) as caught:
        xp.zeros(2).__array_namespace__(api_version=version)
    return type(caught.value), str(caught.value)


def test_namespace_info():
    info, theirs = mxnp.__array_namespace_info__(), INFO()
    assert info.devices() == mxnp.devices()
    assert isinstance(info.devices(), tuple)
    for other in ([None], (None,)):  # The standard had a list until version 2024.12.
        assert info.devices() + other == type(other)(mxnp.devices()) + other
    assert info.default_device() in info.devices()
    assert info.capabilities() == theirs.capabilities()
    for device in (None, "cpu"):
        assert info.dtypes(device=device) == theirs.dtypes(device=device)
        assert info.default_dtypes(device=device) == theirs.default_dtypes()
    assert info.dtypes(kind="real floating") == theirs.dtypes(kind="real floating")
    with pytest.raises(ValueError, match="moon"):
        info.dtypes(device="moon")


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("clip", ["a", "min", "max"]),
        ("sort", ["a", "axis", "descending", "stable"]),
        ("argsort", ["a", "axis", "descending", "stable"]),
        ("fft.fftfreq", ["n", "d", "dtype", "device"]),
        ("fft.rfftfreq", ["n", "d", "dtype", "device"]),
    ],
)
def test_signatures_show_the_standards_parameters(name, names):
    parameters = inspect.signature(function(mxnp, name)).parameters
    assert set(names) <= set(parameters)
    theirs = inspect.signature(function(numpy, name)).parameters
    assert set(theirs) <= set(parameters)


def test_functions_that_are_used_before_their_module_have_its_signatures():
    code = (
        "import inspect, numpy, mxnp\n"
        "from mxnp._namespace.mirror import find_counterpart\n"
        "find_counterpart(numpy.fft.fftfreq)(4)\n"
        "print(*inspect.signature(mxnp.fft.fftfreq).parameters)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"n d device dtype\n"


@pytest.mark.slow
def test_array_api_compat_is_imported_when_it_is_needed():
    code = "import sys, mxnp; mxnp.sort([1]); print('array_api_compat' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"


@pytest.mark.parametrize("size", [3, 40_000])
@pytest.mark.parametrize(
    ("name", "dtype"), [("finfo", "f4"), ("finfo", "c16"), ("iinfo", "u2")]
)
def test_limits_of_an_array_are_those_of_its_dtype(name, dtype, size):
    """Unlike NumPy, which takes a dtype only."""
    limits, numpys = getattr(mxnp, name), getattr(numpy, name)
    x = mxnp.ones(size, dtype) + mxnp.ones(size, dtype)
    assert limits(x).max == numpys(dtype).max
    assert isinstance(numpys(dtype), limits)
    with pytest.raises(ValueError, match="data type") as expected:
        numpys("U3")
    with pytest.raises(ValueError, match="data type") as found:
        limits("U3")
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("name", ["finfo", "iinfo"])
def test_limits_of_nothing_are_numpys(name):
    """NumPy 2.4 warns, at the line of the program, and NumPy 2.5 raises an error."""
    outcomes = []
    for limits in (getattr(numpy, name), getattr(mxnp, name)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = str(limits(None))
            except (TypeError, ValueError) as error:
                found = str(error)
        outcomes.append((found, [(str(w.message), w.filename) for w in caught]))
    assert outcomes[1] == outcomes[0]

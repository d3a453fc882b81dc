"""Test how packages that are written in Python decide whether an array is their own.

Before Python 3.12 they get mxnp arrays themselves. What cannot hold for these is an
expected failure there.
"""

import sys
from pathlib import Path

import numpy
import pytest


@pytest.fixture(scope="module")
def idioms():
    folder = str(Path(__file__).with_name("site-packages"))
    sys.path.insert(0, folder)
    import idioms

    yield idioms
    sys.path.remove(folder)
    del sys.modules["idioms"]


@pytest.fixture(params=[6, 20_000], ids=["small", "large"])
def n(request):
    return request.param


def without_door(reason):
    return pytest.mark.xfail(
        sys.version_info < (3, 12), strict=True, raises=AssertionError, reason=reason
    )


def fails(name, reason):
    return pytest.param(name, marks=without_door(reason))


SAME = "numpy.asarray of an mxnp array is another object with the same memory"
CLASS = "type(x) is mxnp.ndarray in a package written in Python"


@pytest.mark.parametrize(
    "name",
    [
        fails("copied_if_same", SAME),
        "copied_unless_made",
        "copied_unless_owner",
        "copied_if_shared",
        fails("copied_if_of_the_class", CLASS),
        "copied_if_an_instance",
        fails("copied_by_table", CLASS),
        "copied_by_dispatch",
        fails("copied_by_text", CLASS),
    ],
)
def test_the_arrays_of_the_program_stay_as_they_are(xp, idioms, n, name):
    x = xp.arange(float(n)) + 1
    result = getattr(idioms, name)(x)
    return x, numpy.asarray(result).tolist() == [0] * n


@without_door(SAME)
@pytest.mark.parametrize(
    "name", ["asanyarray", "ascontiguousarray", "asfortranarray", "require"]
)
def test_other_conversions_that_return_their_argument(xp, idioms, n, name):
    x = xp.arange(float(n)) + 1
    idioms.copied_if_same(x, getattr(numpy, name))
    return x


def test_arrays_that_own_their_memory(xp, idioms, n):
    x = xp.arange(float(n)) + 1
    return idioms.is_root(x), idioms.is_root(x[1:])


@without_door(SAME)
def test_converted_arrays_that_own_their_memory(xp, idioms, n):
    return idioms.is_root_after_conversion(xp.arange(float(n)) + 1)


def test_methods_and_functions_that_return_their_argument(xp, idioms, n):
    x = xp.arange(float(n)) + 1
    return idioms.keeps_identity(x), idioms.Holder(x).holds(x)

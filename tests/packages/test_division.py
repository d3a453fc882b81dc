"""Compiled functions whose large calls go to another function first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
import pytest

from mxnp import _bridge

LEAST = 5  # elements of a large call
NEVER = 2**62


class Compiled(NamedTuple):
    """A compiled function of some arrays, and its other arguments."""

    function: Callable[..., Any]
    n_arrays: int
    others: tuple[Any, ...]

    def divide(self, divide: Callable[..., Any]) -> None:
        _bridge.divide_calls(self.function, divide, LEAST)

    def call(self, size: int, **kwargs: Any) -> Any:
        arrays = [numpy.arange(float(size))] * self.n_arrays
        return self.function(*arrays, *self.others, **kwargs)


@pytest.fixture(params=["vectorcall", "class"])
def compiled_function(request: Any) -> Iterator[Compiled]:
    """Return a function that is called in one way: Cython's often by their class."""
    if request.param == "vectorcall":
        found = Compiled(request.getfixturevalue("compiled").row_named, 1, ())
    else:
        stats = pytest.importorskip("scipy.stats._stats")
        found = Compiled(stats._weightedrankedtau, 2, (None, None, True))
    was_on = _bridge.divide_all(True)
    yield found
    _bridge.divide_all(was_on)
    _bridge.divide_calls(found.function, len, NEVER)


def test_large_calls_go_to_the_other_function(compiled_function):
    compiled_function.divide(lambda *args: "divided")
    assert compiled_function.call(LEAST) == "divided"
    assert round(compiled_function.call(LEAST - 1)) == 1


def test_exceptions_that_are_returned_are_raised(compiled_function):
    compiled_function.divide(lambda *args: ValueError("a negative number"))
    with pytest.raises(ValueError, match="a negative number"):
        compiled_function.call(LEAST)


def test_exceptions_of_handlers_are_raised(compiled_function):
    def interrupted(*args):
        raise KeyboardInterrupt

    compiled_function.divide(interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled_function.call(LEAST)


@pytest.mark.parametrize("compiled_function", ["class"], indirect=True)
def test_keywords_of_calls_through_a_class(compiled_function):
    """They are left to the compiled function."""
    compiled_function.divide(lambda *args, **kwargs: "divided")
    found = compiled_function._replace(others=(None, None))
    assert round(found.call(LEAST, additive=True)) == 1

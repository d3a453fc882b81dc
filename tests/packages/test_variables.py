"""Test that functions find NumPy arrays in the variables of their caller."""

import sys

import numpy
import pytest

import mxnp as np
from mxnp._interop.variables import with_numpy_variables


@with_numpy_variables
def look_up(text, *, where="locals"):
    """Return the caller's variables, as duckdb sees them, and the place of the call."""
    frame = sys._getframe(1)
    while frame.f_code.co_name == "call_with_variables":
        frame = frame.f_back
    if text == "fail":
        raise ValueError(where)
    return {**frame.f_locals}, (frame.f_code.co_filename, frame.f_lineno)


module_variable = np.arange(3)


def test_arrays_are_numpys():
    x, table = np.ones(20_000) + 1, {"a": np.arange(3), "b": "text"}
    pair, other = [np.ones(2), np.ones(2)], (1, 2)
    found, _ = look_up("select x from table, pair, other where module_variable = 'no'")
    assert set(found) == {"x", "table", "pair", "other", "module_variable"}
    assert type(found["x"]) is type(found["module_variable"]) is numpy.ndarray
    assert found["x"].sum() == 40_000
    assert type(found["table"]["a"]) is type(found["pair"][1]) is numpy.ndarray
    assert found["table"]["b"] == "text"
    assert found["other"] is other
    assert type(table["a"]) is type(pair[0]) is type(x) is np.ndarray


def test_only_names_in_strings_are_found():
    x, y = np.ones(3), np.ones(3)
    assert list(look_up("x1 y, x_")[0]) == ["y"]
    assert not look_up("absent")[0]
    assert list(look_up("", where="x")[0]) == ["x"]
    assert x is not y


def test_names_are_those_of_the_calling_frame():
    x = np.ones(3)

    def nested():
        return look_up("x")[0]

    assert not nested()
    assert "x" in look_up("x")[0]
    assert x.size


def test_writes_are_seen():
    x = np.zeros(20_000) + 1
    look_up("x")[0]["x"][:] = 5
    assert (x + 1).sum() == 6 * x.size


def test_places_and_errors_are_the_programs():
    line = sys._getframe().f_lineno + 1
    assert look_up("")[1] == (__file__, line)
    with pytest.raises(ValueError, match="here"):
        look_up("fail", where="here")

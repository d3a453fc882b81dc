"""Test the notes on exceptions of packages that do not accept mxnp arrays."""

from __future__ import annotations

import sys
import textwrap

import pytest
from support.paths import python_path
from support.processes import end_of

PACKAGE = """
import functools
import json

import numpy


def strict(values, other=None):
    if type(values) is not numpy.ndarray:
        raise TypeError("values must be numpy.ndarray")


def outer(x, *more, **named):
    x = numpy.asarray(x)
    strict(*more, **named)


@functools.singledispatch
def dispatched(x):
    raise NotImplementedError(type(x).__name__)


def in_the_library(x):
    json.dumps([x])


def of_numpy(x):
    numpy.linalg.inv(x)


def negative(x):
    raise ValueError("x must be positive")


def rebound(*args, **named):
    x, args, named = args[0], None, None
    x.no_such_name


def call(function, x):
    function(x)
"""


@pytest.fixture
def last_lines(tmp_path):
    """Return a function that runs a program and returns the end of its errors."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "strictly.py").write_text(PACKAGE)

    def run(code, *options):
        file = tmp_path / "program.py"
        file.write_text(f"import numpy as np\nimport strictly\n{textwrap.dedent(code)}")
        end = end_of("-m", "mxnp", *options, file, PYTHONPATH=python_path(folder))
        assert end.status == 1
        return end.err.splitlines()[-2:]

    return run


def note(name, function):
    return (
        f"Argument {name!r} of {function} is an mxnp array. If strictly needs the "
        f"numpy.ndarray inside, pass {name}.__array__(), or run with --include strictly."
    )


without_door = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="packages get NumPy arrays"
)


@without_door
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("call", "name", "function"),
    [
        ("strict(np.ones(3))", "values", "strict"),
        ("strict(None, other=np.ones(3))", "other", "strict"),
        ("outer(np.ones(3), np.ones(3))", "more[0]", "outer"),
        ("outer(None, values=np.ones(3))", "values", "outer"),
        ("dispatched(np.ones(3))", "x", "dispatched"),
        ("in_the_library(np.ones(3))", "x", "in_the_library"),
    ],
)
def test_an_argument_is_named(last_lines, call, name, function):
    assert last_lines(f"strictly.{call}")[1] == note(name, function)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "code",
    [
        "strictly.strict([1])",  # no array was passed
        "strictly.strict(None, np.ones(3).__array__())",  # the array is NumPy's
        "strictly.of_numpy(np.ones((2, 3)))",  # NumPy raises the error
        "strictly.negative(-np.ones(3))",  # the error is not about types
        "strictly.rebound(np.ones(3))",
        "np.ones(3).no_such_name",
        "def f(x): raise TypeError('type')\nstrictly.call(f, np.ones(3))",
        "def f(x): raise TypeError('type')\nf(np.ones(3))",
        "import json\njson.dumps(np.ones(3))",
    ],
)
def test_other_exceptions_are_as_they_were(last_lines, code):
    assert "mxnp array" not in last_lines(code)[1]


@without_door
@pytest.mark.slow
def test_the_cures(last_lines):
    assert (
        "AttributeError" in last_lines("strictly.strict(np.ones(3).__array__()).x")[1]
    )
    code = "strictly.strict(np.ones(3)).x"
    assert "AttributeError" in last_lines(code, "--include", "strictly")[1]


def test_without_the_runner_nothing_is_hooked():
    code = "import sys, mxnp; print(sys.excepthook is sys.__excepthook__)"
    assert end_of("-c", code).out == "True\n"

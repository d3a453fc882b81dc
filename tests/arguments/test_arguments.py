"""Compare calls with odd arguments with NumPy's: see ``python -m tests.arguments``."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy
import pytest
from arguments.__main__ import Report, run
from arguments.known import DIFFERENT, NOT_RUN, Known, differs, runs
from arguments.runs import ASKING, Names, compare, evaluate
from arguments.runs import run as run_call
from arguments.table import BASES, FOUND, SIZES, Call, bases, read, ufunc_calls
from support.paths import ROOT
from support.processes import end_of

import mxnp
from mxnp import _bridge
from mxnp._namespace.functions import ROWS, calls_of
from mxnp._namespace.ways import load_form

CALLS = [*BASES, *ufunc_calls()]
ORDINARY = [text for text in CALLS if not differs(read(text, "small"))]


@pytest.fixture
def recorded() -> Iterator[None]:
    """Record the calls with large arrays, as the processes that run the calls do."""
    before = _bridge.set_threshold(min(200, _bridge.get_threshold()))
    yield
    _bridge.set_threshold(before)


def check(report: Report, calls: int) -> None:
    text = "\n".join(report.groups())
    assert not report.found, f"of {report.calls} calls, {len(report.found)}:\n{text}"
    assert report.calls == calls


def test_a_sample_of_calls_does_as_numpy_does() -> None:
    check(run(calls=500), 500)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_calls_do_as_numpy_does() -> None:
    check(run(calls=40_000, seed=1), 40_000)


@pytest.mark.parametrize("text", ORDINARY)
@pytest.mark.sampled(100)
def test_ordinary_calls_do_as_numpy_does(text: str) -> None:
    evaluate(text, "small")  # NumPy accepts it
    call = read(text, "small")
    assert compare(call, *(run_call(call, xp) for xp in (numpy, mxnp))) is None


@pytest.mark.parametrize("text", FOUND)
@pytest.mark.usefixtures("recorded")
def test_calls_that_differed_do_as_numpy_does(text: str) -> None:
    for size in SIZES:
        call = read(text, size)
        assert compare(call, *(run_call(call, xp) for xp in (numpy, mxnp))) is None, (
            size
        )


# Calls that read an object of the program more often than NumPy, or in another order.
READ_TWICE = [
    "np.select(AskedItems(), [f1, i1])", "np.select([b1, b1], AskedItems())",
    "np.select([b1, b1], Fails())", "i2.clip(max=AskedItems())", "i2.clip(max=AskedArray())",
    "f1.__setitem__(AskedItems(), 2.5)", "f2.__setitem__(AskedNumber(), f2[:1])",
    "f1.__setitem__(slice(AskedNumber(), 3), 2.5)", "f1.resize(10, refcheck=AskedNumber())",
    "(f2 + 1).__getitem__((AskedNumber(), AskedNumber()))", "np.add.at(f1, q1, AskedItems())",
    "np.multiply.at(f2, q1[:5], AskedArray())",
]  # fmt: skip


@pytest.mark.parametrize("text", READ_TWICE)
@pytest.mark.usefixtures("recorded")
def test_objects_are_read_as_often_as_by_numpy(text: str) -> None:
    for size in SIZES:
        call = read(text, size)
        assert compare(call, *(run_call(call, xp) for xp in (numpy, mxnp))) is None


@pytest.mark.slow
@pytest.mark.usefixtures("recorded")
def test_every_argument_is_read_as_often_as_by_numpy() -> None:
    values = [f"{name}()" for name in ASKING]
    values += ["[AskedNumber()]", "(AskedNumber(), AskedNumber())", "Fails()"]
    found = []
    for base in bases(evaluate):
        for parameter, value in itertools.product(base.parameters(), values):
            call = base.change(base.call, parameter, value)
            if runs(call) and not differs(call):
                outcomes = (run_call(call, xp) for xp in (numpy, mxnp))
                found += [
                    (call.text, each) for each in [compare(call, *outcomes)] if each
                ]
    assert not found


def test_every_function_is_in_the_table() -> None:
    """A function that mxnp computes itself, here or in C, has an ordinary call."""
    without = {name for name, row in ROWS.items() if not row.calls}
    draws = {"random.BitGenerator.random_raw", "random.Generator.bytes"}  # on a GPU
    attributes = {"ndarray.T", "ndarray.imag", "ndarray.real"}
    assert without == attributes | draws


def calls_by_name() -> Iterator[Call]:
    """Yield the calls of the table, with arguments by the names that forms have."""
    for name, row in ROWS.items():
        forms = [
            load_form(way, frozenset()) for way in row.forms if "/" not in way.module
        ]
        skipped = name.startswith(("ndarray.", "ufunc."))  # an array, or the ufunc
        for form, text in itertools.product(forms, calls_of(name)):
            call = read(text, "large")
            names = [*inspect.signature(form).parameters][skipped:]
            named = (*zip(names, call.arguments, strict=False), *call.keywords)
            yield replace(call, arguments=(), keywords=named)


@pytest.mark.parametrize("call", [*calls_by_name()], ids=lambda call: call.text)
@pytest.mark.usefixtures("recorded")
def test_parameters_have_numpys_names(call: Call) -> None:
    outcomes = (run_call(call, xp) for xp in (numpy, mxnp))
    assert differs(call) or compare(call, *outcomes) is None


def test_values_of_names_are_made_once_for_a_call() -> None:
    names = Names(numpy, "small")
    assert names["f1"] is names["f1"]
    assert names["f1"] is not Names(numpy, "small")["f1"]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("known", DIFFERENT, ids=lambda known: known.example)
def test_known_calls_differ(known: Known) -> None:
    call = read(known.example, known.size)
    assert known.has(call)
    assert compare(call, *(run_call(call, xp) for xp in (numpy, mxnp))) is not None


@pytest.mark.slow
@pytest.mark.parametrize("known", NOT_RUN, ids=lambda known: known.example)
def test_calls_that_are_not_run_fail_in_numpy(known: Known) -> None:
    """NumPy reads or writes memory that is not its own, or computes for seconds."""
    program = f"""
import faulthandler, sys
faulthandler.dump_traceback_later(5, exit=True)
sys.path.insert(0, {str(ROOT / "tests")!r})
from arguments.runs import evaluate
for _ in range(2000):
    evaluate({known.example!r}, {known.size!r})
"""
    assert known.has(read(known.example, known.size))
    assert end_of("-c", program, PYTHONMALLOC="debug").status != 0

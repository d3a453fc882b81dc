"""Compare random programs with NumPy, statement by statement.

``MXNP_FUZZ=20000`` runs 20,000 programs. ``python -m tests.fuzz --programs 20000`` does too,
and shortens and prints the first one that differs.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy
import pytest
from fuzz import foreign
from fuzz.found import FOUND
from fuzz.grammar import write
from fuzz.lanes import LANES, batches
from fuzz.programs import Step, is_complete, run, script
from fuzz.shrinking import shrink

import mxnp
from mxnp import _bridge

PROGRAMS = int(os.environ.get("MXNP_FUZZ", "240"))
RUNS = 60  # number of tests, so that several processes share the programs


@pytest.fixture(autouse=True)
def all_recorded() -> Any:
    before = _bridge.set_threshold(0)
    yield
    _bridge.set_threshold(before)


def fails(program: Any) -> bool:
    return run(program) is not None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(RUNS))
def test_programs_agree_with_numpy(part: int) -> None:
    for seed in range(part, PROGRAMS, RUNS):
        program = write(seed)
        difference = run(program)
        if difference:
            shortest = shrink(program[: difference.step + 1], fails, is_complete)
            message = (run(shortest) or difference).message
            pytest.fail(f"seed {seed}: {message}\n{script(shortest)}", pytrace=False)


@pytest.mark.parametrize("threshold", [0, 16384])
@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_programs_that_differed_agree_with_numpy(text: str, threshold: int) -> None:
    _bridge.set_threshold(threshold)
    difference = run([Step(line) for line in text.strip().splitlines()])
    assert difference is None, difference


def test_a_seed_determines_the_program() -> None:
    assert write(5) == write(5)
    assert write(5) != write(6)


def test_programs_make_sense() -> None:
    """All names are defined, and most kinds of statements occur."""
    texts = []
    for seed in range(40):
        program = write(seed)
        assert is_complete(program)
        texts += [step.text for step in program]
    for word in (
        "out=",
        "where=",
        ".at(",
        "+=",
        "del ",
        "astype",
        "axis",
        "n",
        "fill",
        "foreign",
        "unusual.",
        "simplefilter",
        ".view('?')",
        "10**30",
    ):
        assert any(word in text for text in texts), word


@pytest.fixture
def wrong_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mxnp.sort

    def sort(a: Any, axis: int = -1) -> Any:
        result = right(a, axis=axis)
        return -result if result.dtype == numpy.float64 else result

    monkeypatch.setattr(mxnp, "sort", sort)


@pytest.mark.usefixtures("wrong_sort")
def test_an_error_is_found_and_its_program_is_shortened() -> None:
    texts = [
        "a1 = make(3, (5,), 'd')",
        "a2 = make(4, (5,), 'i')",
        "a3 = a2 + 1",
        "a4 = np.sort(a3)",
        "a5 = a1 * 2",
        "a6 = np.sort(a5, axis=-1)",
        "a7 = a6 + 1",
    ]
    program = [Step(text) for text in texts]
    difference = run(program)
    assert difference is not None
    assert difference.step == len(program) - 1
    shortest = shrink(program, fails, is_complete)
    assert len(shortest) <= 3
    assert [step.text for step in shortest][:1] == texts[:1]
    assert run(shortest) is not None
    assert script(shortest).endswith(shortest[-1].text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s1 = 1 if np is numpy else 2", "s1 is 2, not 1"),
        ("s1 = 1 if np is numpy else 1.0", "s1 is 1.0, not 1"),
        ("a1 = np.zeros(3, 'f' if np is numpy else 'd')", "a1.dtype is float64"),
        ("a1 = np.zeros(3 if np is numpy else 4)", "a1.shape is (4,), not (3,)"),
        ("a1 = np.zeros((4, 4))[:, :: 1 if np is numpy else -1]", "a1.strides are"),
        ("a1 = np.zeros(3) if np is numpy else -np.zeros(3)", "a1 is"),
        ("a1 = numpy.zeros(3)", "a1 is a <class 'numpy.ndarray'>"),
        ("np.zeros(3)[9 if np is numpy else 7]", "was raised"),
        (
            "a1 = 1 if np is numpy else exec('a2 = 1', globals())",
            "there are ['a1', 'a2']",
        ),
    ],
)
def test_differences_are_described(text: str, message: str) -> None:
    difference = run([Step(text)])
    assert difference is not None
    assert message in difference.message


def test_nearly_equal_results_pass_only_if_inexact() -> None:
    near = "a1 = np.full(3, 1.0 if np is numpy else 1 + 2**-50)"
    assert run([Step(near)]) is not None
    assert run([Step(near, is_exact=False), Step("a2 = a1 + 1")]) is None
    far = near.replace("2**-50", "2**-40")
    assert run([Step(far, is_exact=False)]) is not None


@pytest.mark.parametrize(
    "text", ["a3 = (a2 * a2) / a1", "a3 = -(a2 + 1) / a1", "a3 = abs(a2 * 2) / a1"]
)
def test_the_layout_of_results_in_temporaries(text: str) -> None:
    """NumPy divides in the large temporary array, whose axes are transposed."""
    program = [
        "a1 = make(3, (2000, 30), 'I')",
        "a2 = make(4, (30, 2000), 'd').T",
        text,
    ]
    assert run([Step(text) for text in program]) is None


def test_statements_with_syntax_errors_fail_in_both() -> None:
    assert run([Step("make(3, (5,), 'd') += 1"), Step("s1 = 1")]) is None


# -- Other owners of the memory -------------------------------------------------------


def test_operations_wait_between_statements() -> None:
    pending = "np is numpy or __import__('mxnp')._bridge.pending() == 1"
    program = ["a1 = make(3, (50,), 'd')", "a2 = a1 + 1", f"s1 = {pending}"]
    assert run([Step(text) for text in program]) is None


@pytest.mark.parametrize("way", foreign.WAYS)
def test_others_share_the_memory(way: str) -> None:
    program = [
        "a1 = make(3, (50,), 'd')[::-2]",
        "a2 = a1 * 2",
        f"foreign.{way}(a1)[::3] = 7",
        "a3 = a1 + 1",
        f"n4 = foreign.{way}(a3)",
        "a3 *= 2",
        "n4 += 1",
        "a5 = a3 - a2",
        f"s6 = np.shares_memory(foreign.{way}(a1), foreign.by_asarray(a1))",
    ]
    difference = run([Step(text) for text in program])
    assert difference is None, difference


@pytest.fixture
def stale_dlpack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let DLPack export a copy, as if it did not wait for later writes."""
    right = foreign.by_dlpack

    def by_dlpack(a: Any) -> Any:
        return right(a.copy() if type(a) is mxnp.ndarray else a)

    monkeypatch.setattr(foreign, "by_dlpack", by_dlpack)


@pytest.mark.usefixtures("stale_dlpack")
def test_an_error_of_others_is_found_and_its_program_is_shortened() -> None:
    texts = [
        "a1 = make(3, (5,), 'd')",
        "a2 = make(4, (5,), 'i')",
        "n3 = foreign.by_memoryview(a1)",
        "a4, n5 = foreign.beside(lambda: a1 + a2, lambda: foreign.by_address(a2) + 1)",
        "a6 = foreign.interrupted(1e-5, lambda: a4 * 2)",
        "foreign.collect()",
        "a7 = a1 + 1; foreign.by_dlpack(a1)[...] = 1",
        "n3.sort()",
    ]
    program = [Step(text) for text in texts]
    difference = run(program)
    assert difference is not None
    shortest = shrink(program[: difference.step + 1], fails, is_complete)
    assert [step.text for step in shortest] == [texts[0], texts[6]]


class Error(Exception):
    """An error of a computation."""


def refuse() -> Any:
    raise Error


# Python 3.12 and later warn of forks while there are threads.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda compute: foreign.beside(lambda: 1, compute),
        lambda compute: foreign.beside(compute, lambda: 1),
        lambda compute: foreign.alarmed(1e-5, lambda: 1, compute),
        lambda compute: foreign.interrupted(10.0, compute),
        lambda compute: foreign.in_child(compute),
    ],
)
def test_errors_of_others_are_raised(call: Any) -> None:
    with pytest.raises(Error):
        call(refuse)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_a_computation_that_is_interrupted_is_repeated() -> None:
    calls = []

    def compute() -> int:
        calls.append(1)
        while len(calls) == 1:
            pass
        return len(calls)

    assert foreign.interrupted(1e-3, compute) == 2


# -- Lanes ----------------------------------------------------------------------------


def test_each_night_runs_other_programs() -> None:
    nights = [list(batches([*LANES], seed, 5000)) for seed in (0, 5000)]
    seeds = [
        batch.seed + i
        for night in nights
        for batch in night
        for i in range(batch.programs)
    ]
    assert seeds == [*range(10_000)]
    assert {batch.lane for batch in nights[0]} == {*LANES}
    assert list(batches(["cuda"], 0, 5000)) == [
        b for b in nights[0] if b.lane == "cuda"
    ]

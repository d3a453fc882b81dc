"""Compare random programs with NumPy, statement by statement.

``MXNP_FUZZ=20000`` runs 20,000 programs. ``python -m tests.fuzz`` runs programs for
some time, and shortens and prints the first one that differs.
"""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest
from fuzz.grammar import write
from fuzz.programs import Step, is_complete, run, script
from fuzz.shrinking import shrink

import mxnp
from mxnp import _bridge

PROGRAMS = int(os.environ.get("MXNP_FUZZ", "240"))
RUNS = 12  # number of tests, so that several processes share the programs


@pytest.fixture(autouse=True)
def all_recorded() -> Any:
    before = _bridge.set_threshold(0)
    yield
    _bridge.set_threshold(before)


def fails(program: Any) -> bool:
    return run(program) is not None


@pytest.mark.sampled(11)
@pytest.mark.parametrize("part", range(RUNS))
def test_programs_agree_with_numpy(part: int) -> None:
    for seed in range(part, PROGRAMS, RUNS):
        program = write(seed)
        difference = run(program)
        if difference:
            shortest = shrink(program[: difference.step + 1], fails, is_complete)
            message = (run(shortest) or difference).message
            pytest.fail(f"seed {seed}: {message}\n{script(shortest)}", pytrace=False)


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
    for word in ("out=", "where=", ".at(", "+=", "del ", "astype", "axis", "n", "fill"):
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

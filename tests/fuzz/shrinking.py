"""The shortest program that still shows a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .programs import Program


def shrink(
    program: Program,
    fails: Callable[[Program], bool],
    is_complete: Callable[[Program], bool],
) -> Program:
    """
    Leave out steps, and comparisons, as long as the program goes on failing.

    Parameters
    ----------
    program : sequence of Step
        One that fails.
    fails : callable
        Tells whether a program still fails.
    is_complete : callable
        Tells whether a program has all names that it uses.

    Returns
    -------
    sequence of Step
        A program of which no single step can be left out.
    """

    def is_good(shorter: Program) -> bool:
        return is_complete(shorter) and fails(shorter)

    size = max(1, len(program) // 2)
    while size:
        shorter = _leave_out(program, size, is_good)
        size = size // 2 if len(shorter) == len(program) or size > 1 else size
        program = shorter
    for number, step in enumerate(program):
        if step.is_checked:
            quiet = [*program]
            quiet[number] = replace(step, is_checked=False)
            if fails(quiet):
                program = quiet
    return program


def _leave_out(
    program: Program, size: int, is_good: Callable[[Program], bool]
) -> Program:
    """Leave out runs of so many steps, from the end to the beginning."""
    begin = len(program) - size
    while begin > -size:
        shorter = [*program[: max(begin, 0)], *program[max(begin, 0) + size :]]
        if shorter and is_good(shorter):
            program = shorter
        begin -= size
    return program

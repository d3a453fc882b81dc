"""Shorten programs that show a difference."""

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
    Remove steps and comparisons as long as the program still fails.

    Parameters
    ----------
    program : sequence of Step
        A program that fails.
    fails : callable
        Returns whether a program fails.
    is_complete : callable
        Returns whether a program defines all names that it uses.

    Returns
    -------
    sequence of Step
        A program that fails, from which no single step can be removed.
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
    """Remove `size` successive steps at a time, from the end to the beginning."""
    begin = len(program) - size
    while begin > -size:
        shorter = [*program[: max(begin, 0)], *program[max(begin, 0) + size :]]
        if shorter and is_good(shorter):
            program = shorter
        begin -= size
    return program

"""A program as the core describes it to the compiler: csrc/cpu/plan/runs.c."""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from mxnp._engine import core


class Layout(enum.IntEnum):
    """How the elements of an operand lie in a block."""

    ONE_VALUE = 0  # all elements are the same one
    ADJACENT = 1
    STRIDED = 2


class Access(NamedTuple):
    """How the calls of a program find an operand."""

    layout: Layout
    is_stored: bool  # in memory that others may read


class Operand(NamedTuple):
    """An operand of a call."""

    access: int
    dtype: str


class Call(NamedTuple):
    """A call of an operation; without an expression, only its own loop computes it."""

    expression: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]


class Program(NamedTuple):
    """The calls of a group of operations, and their operands."""

    accesses: tuple[Access, ...]
    calls: tuple[Call, ...]


_STORED = 4
# The operations that follow the rows of ops.def in csrc/ir/ops.h.
_OTHER_EXPRESSIONS = ("mx_cast(a)", "mx_select(a, b, c)", "mx_clip(a, b, c)")


def _expression(op: int) -> str:
    if op < 0:
        return ""
    rows = core.ops()
    return rows[op].expression if op < len(rows) else _OTHER_EXPRESSIONS[op - len(rows)]


def _read_accesses(numbers: Iterator[int]) -> Iterator[Access]:
    while (number := next(numbers)) >= 0:
        yield Access(Layout(number & ~_STORED), bool(number & _STORED))


def _read_operands(numbers: Iterator[int], count: int) -> Iterator[Operand]:
    for _ in range(count):
        yield Operand(next(numbers), core.dtypes()[next(numbers)].name)


def _read_calls(numbers: Iterator[int]) -> Iterator[Call]:
    for op in numbers:
        nin, nout = next(numbers), next(numbers)
        operands = tuple(_read_operands(numbers, nin + nout))
        yield Call(_expression(op), operands[:nin], operands[nin:])


def read_program(key: bytes) -> Program:
    """Return the program that a key describes."""
    numbers = iter(array("h", key))
    return Program(tuple(_read_accesses(numbers)), tuple(_read_calls(numbers)))

"""What is found in a program, and where it is looked for."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from mxnp._profiler.model import Row

from .syntax import Facts, Source
from .vectorization import Rewrite


@dataclass(frozen=True)
class Finding:
    """
    One place in the program that costs more than it need.

    Parameters
    ----------
    pattern : str
        Its name, as in docs/doctor.md.
    file : str
    line, end_line : int
        From 1.
    source : str
        The line.
    count : int
        How often, and of what in `unit`.
    unit : str
        What is counted.
    seconds : float
        Of array work, or waited.
    reason : str
        Why that costs time, in a sentence.
    rewrite : tuple of str
        What to write instead.
    conditions : tuple of str
        What must hold for the same result; empty: it is the same.
    is_example : bool
        Whether `rewrite` is only an example of the way to do it.
    """

    pattern: str
    file: str
    line: int
    end_line: int
    source: str
    count: int
    unit: str
    seconds: float
    reason: str
    rewrite: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    is_example: bool = False


@dataclass
class Search:
    """
    A file that patterns are looked for in.

    Parameters
    ----------
    source : Source
        The file.
    facts : Facts
        What was counted.
    has_gpu : bool
        Whether operations may run on a GPU.
    claimed : set of ast.AST
        Nodes of what was found already.
    """

    source: Source
    facts: Facts
    has_gpu: bool
    claimed: set[ast.AST] = field(default_factory=set)

    def claim(self, node: ast.AST) -> None:
        """Note that what was counted in a node has been told."""
        self.claimed.update(ast.walk(node))

    def finding(
        self,
        pattern: str,
        node: ast.AST,
        cost: tuple[int, str, float],
        reason: str,
        rewrite: Rewrite,
        *,
        is_example: bool = False,
    ) -> Finding:
        """Make a finding at the statement or expression."""
        line, end_line = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        return Finding(
            pattern,
            self.source.file,
            line,
            end_line or line,
            self.source.line(line),
            *cost,
            reason,
            tuple(line for text in rewrite.lines for line in text.split("\n")),
            tuple(rewrite.conditions),
            is_example,
        )


def summed(rows: Iterable[Row]) -> tuple[int, float]:
    """Give the calls and the seconds of rows."""
    rows = list(rows)
    return sum(row.calls for row in rows), sum(row.seconds for row in rows)

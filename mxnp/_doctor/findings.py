"""Findings of the doctor, and the search of one file for them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from mxnp._profiler.model import Row

from .bindings import Bindings
from .rewriting import Rewrite, parenthesized
from .syntax import LOOPS, Facts, Source


@dataclass(frozen=True)
class Finding:
    """
    One slow place in the program that can be avoided.

    Parameters
    ----------
    pattern : str
        The name of the pattern, as in docs/doctor.md.
    file : str
        The file.
    line, end_line : int
        Line numbers from 1.
    source : str
        The text of the first line.
    count : int
        The number of occurrences.
    unit : str
        What `count` counts.
    seconds : float
        The time of array work, or of waits.
    reason : str
        Why the place is slow, in one or two sentences.
    rewrite : tuple of str
        The suggested lines.
    conditions : tuple of str
        The conditions for the same result. Without any, the result is the same.
    is_example : bool
        Whether `rewrite` is only a general example.
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


@dataclass(frozen=True)
class Edit:
    """
    The change of a file that a finding suggests.

    Parameters
    ----------
    finding : Finding
        The finding.
    source : Source
        The file.
    node : ast.AST
        The loop or the expression that is replaced.
    text : str
        The new text.
    arrays : frozenset of str
        The names of lists that become arrays, and are used as arrays.
    """

    finding: Finding
    source: Source
    node: ast.AST
    text: str
    arrays: frozenset[str]

    def tree(self) -> ast.Module | ast.Expression:
        """Return the syntax tree of the new text, which may have several lines."""
        if isinstance(self.node, ast.expr):
            return ast.parse(f"({self.text})", mode="eval")
        return ast.parse(self.text)


@dataclass
class Search:
    """
    The search for patterns in one file.

    Parameters
    ----------
    source : Source
        The file.
    facts : Facts
        The counts of the file.
    has_gpu : bool
        Whether operations may run on a GPU.
    claimed : set of ast.AST
        The nodes of earlier findings, which later patterns leave out.
    edits : list of Edit
        The changes that findings suggest.
    """

    source: Source
    facts: Facts
    has_gpu: bool
    claimed: set[ast.AST] = field(default_factory=set)
    edits: list[Edit] = field(default_factory=list)

    def claim(self, node: ast.AST) -> None:
        """Reserve a node and everything in it for one finding."""
        self.claimed.update(ast.walk(node))

    def note_edit(self, finding: Finding, node: ast.AST, text: str) -> None:
        """Note how a finding changes the file."""
        bindings = Bindings(self.facts, node)
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        arrays = frozenset(filter(bindings.is_taken_as_array, names))
        if isinstance(node, ast.expr):
            text = self._inline(node, text)
        self.edits.append(Edit(finding, self.source, node, text, arrays))

    def _inline(self, node: ast.expr, text: str) -> str:
        """Return a text that can be in the place of an expression."""
        above = self.source.parent(node)
        is_argument = isinstance(above, ast.Call) and node in above.args
        is_alone = isinstance(above, ast.stmt) or is_argument
        if is_alone:
            return text
        return parenthesized(ast.parse(f"({text})", mode="eval").body, text)

    def restated(self, node: ast.expr, text: str) -> str:
        """Return the statement around an expression with another text in its place."""
        text = self._inline(node, text)
        statement = self.source.statement(node)
        if isinstance(statement, (*LOOPS, ast.If, ast.With, ast.FunctionDef, ast.Try)):
            return text
        return self.source.text(statement, lambda part: text if part is node else None)

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
        """Return a finding at a statement or expression."""
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
    """Return the sums of the calls and of the seconds of rows."""
    rows = list(rows)
    return sum(row.calls for row in rows), sum(row.seconds for row in rows)

"""The parts of rewrites: lines with conditions, ranges, subscripts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .bindings import integer

DIGITS = "the last digits may differ ({})"
REORDERED = DIGITS.format("it adds in another order")
MULTIPLIED = DIGITS.format("it multiplies in another order")
EXTREMES = {"min": "minimum", "max": "maximum"}
ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)


class CannotError(Exception):
    """A loop that cannot be rewritten as operations on whole arrays, with a reason."""


@dataclass
class Rewrite:
    """
    The suggested replacement of some lines.

    Parameters
    ----------
    lines : list of str
        The new lines.
    conditions : list of str
        The conditions for the same result. Without any, the result is the same.
    """

    lines: list[str]
    conditions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Bound:
    """An integer: the sum of an expression, if there is one, and a constant."""

    text: str
    constant: int
    node: ast.AST | None = None  # the node of `text`

    def __add__(self, more: int) -> Bound:
        return Bound(self.text, self.constant + more, self.node)

    def __str__(self) -> str:
        if not self.text:
            return str(self.constant)
        sign = "+" if self.constant > 0 else "-"
        return (
            f"{self.text} {sign} {abs(self.constant)}" * bool(self.constant)
            or self.text
        )


@dataclass(frozen=True)
class Indices:
    """The name and the range of a loop over ``range``."""

    name: str
    start: Bound
    stop: Bound
    step: int


def joined(terms: Counter[str]) -> str:
    """Return a sum of terms with their factors; that of "" is a constant."""
    pieces = [
        (
            "-" if factor < 0 else "+",
            str(abs(factor)) * (abs(factor) != 1 or not term),
            term,
        )
        for term, factor in sorted(
            terms.items(), key=lambda item: (not item[0], -item[1])
        )
        if factor
    ]
    text = " ".join(
        f"{sign} {' * '.join(filter(None, (factor, term)))}"
        for sign, factor, term in pieces
    )
    return text.removeprefix("+ ").replace("- ", "-", text.startswith("- ")) or "0"


def parenthesized(node: ast.AST, text: str) -> str:
    """Return a text on which a method can be called."""
    return text if isinstance(node, ATOMS) else f"({text})"


def lengths_of(base: str, axis: int) -> tuple[str, ...]:
    """Return the expressions with which a program writes the length of an axis."""
    first = (f"len({base})", f"{base}.size")
    return (f"{base}.shape[{axis}]", *(first if axis == 0 else ()))


def names_in(node: ast.AST) -> Iterator[ast.Name]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Name))


def mentions(node: ast.AST, name: str) -> bool:
    return any(part.id == name for part in names_in(node))


def entries_of(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def subscripted(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """Return the array and the entries of ``x[i, j]``, ``x[i][j]`` or ``x[i, :]``."""
    entries = entries_of(node)
    while len(entries) > 1 and is_everything(entries[-1]):
        entries.pop()
    inner = node.value
    if isinstance(inner, ast.Subscript) and isinstance(
        inner.slice, (ast.Name, ast.BinOp)
    ):
        return inner.value, [inner.slice, *entries]
    return inner, entries


def is_everything(entry: ast.expr) -> bool:
    is_slice = isinstance(entry, ast.Slice)
    return is_slice and ast.dump(entry) == ast.dump(ast.Slice())


def sign_of(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b")))[1:-1].strip()


def is_apart(first: list[ast.expr], second: list[ast.expr]) -> bool:
    """Check whether keys are equal in each iteration, or never of the same element."""
    if not second:
        return False
    if [ast.dump(one) for one in first] == [ast.dump(one) for one in second]:
        return True
    for one, other in zip(first, second, strict=False):
        numbers = (integer(one), integer(other))
        if None not in numbers and numbers[0] != numbers[1]:
            return (numbers[0] >= 0) == (numbers[1] >= 0)  # type: ignore[operator]
    return False

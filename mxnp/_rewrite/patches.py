"""Change a program as the doctor suggests, where the change was tried on its values."""

from __future__ import annotations

import ast
import builtins
import difflib
import io
import math
import os
import textwrap
import tokenize
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from mxnp._doctor.findings import Edit
from mxnp._doctor.syntax import Spot, assigned, dotted_name, spot, stored
from mxnp._engine import core, figures
from mxnp._profiler.text import place

from .copies import Unknown, difference, is_array, random_state, set_random_state
from .recording import RANDOM, Recording, Values

_RESULT = "the expression"
_WRITES = {"save", "savez", "savez_compressed", "savetxt", "tofile", "dump"}


class _RefusedError(Exception):
    """A change that is not offered, with the reason."""


@dataclass(frozen=True)
class Patch:
    """
    The changes of a program that were tried on the values of its run.

    Parameters
    ----------
    notes : str
        What was changed and what was not, and why.
    diff : bytes
        The changes of all files, in the unified format.
    """

    notes: str
    diff: bytes


def patch(recording: Recording, edits: Iterable[Edit], folder: Path) -> Patch:
    """
    Return the changes of a program that its loops allow.

    Each change is computed with the values that the loop had when it began, and the
    results are compared with the values that the loop left.

    Parameters
    ----------
    recording : Recording
        The values of the run.
    edits : iterable of Edit
        The changes that the doctor suggests after the run.
    folder : Path
        The folder to which the names of files in the diff are relative.
    """
    accepted: list[Edit] = []
    lines: list[str] = []
    found = [each for each in edits if _key(each) in recording.units]
    for edit in sorted(found, key=_extent):
        try:
            verdict = _verdict(edit, recording, accepted)
            lines += _note(edit, verdict, _conditions(edit))
            accepted.append(edit)
        except _RefusedError as reason:
            lines += _note(edit, f"not rewritten: {reason}")
    n = len(accepted)
    head = f"Rewrite: {n} of {figures.count(len(found), 'place')}"
    if not recording.contents:
        head = "Rewrite: no file of the program ran"
    elif not found:
        head = "Rewrite: no loop found that the doctor can rewrite"
    files = dict.fromkeys(edit.source.file for edit in accepted)
    diff = b"".join(
        _diff(
            recording.contents[file],
            [edit for edit in accepted if edit.source.file == file],
            _name(file, folder),
        )
        for file in files
    )
    return Patch("\n".join([head, *lines]), diff)


def _key(edit: Edit) -> tuple[str, Spot]:
    return edit.source.file, spot(edit.node)


def _extent(edit: Edit) -> tuple[str, tuple[int, int], int, int]:
    """Return a key by which outer loops come before the loops in them."""
    first, last, left, right = spot(edit.node)
    return edit.source.file, (first, left), -last, -right


def _note(edit: Edit, text: str, conditions: Iterable[str] = ()) -> list[str]:
    finding = edit.finding
    where = place(finding.file, finding.line)
    texts = [f"{finding.pattern}: {text}"]
    if conditions:
        texts.append(f"With other data, valid if {'; '.join(conditions)}.")
    wrapped = [f"  {line}" for text in texts for line in textwrap.wrap(text, 86)]
    return ["", f"{where}  {finding.source}", *wrapped]


def _conditions(edit: Edit) -> list[str]:
    """Return the conditions of a finding that one run cannot show to be met."""
    return [
        condition
        for condition in edit.finding.conditions
        if not condition.startswith("the last digits")
        and not condition.endswith(("can be an array", "NumPy scalars"))
    ]


def _name(file: str, folder: Path) -> str:
    """Return a file's name for a diff: relative to a folder that contains it."""
    path = folder / file
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


# -- Trials ----------------------------------------------------------------------------


def _verdict(edit: Edit, recording: Recording, accepted: list[Edit]) -> str:
    """
    Return how the values of a change were compared.

    Raises
    ------
    _RefusedError
        If the change must not be offered.
    """
    if any(_overlap(edit, other) for other in accepted):
        raise _RefusedError(
            "it is in another rewritten place; apply the patch and run this again"
        )
    unit = recording.units[_key(edit)]
    if unit.has_failed:
        raise _RefusedError("its values cannot be copied")
    if not unit.kept:
        raise _RefusedError(
            "its values need more memory than copies may take"
            if unit.is_too_large
            else "it did not run to its end"
        )
    if unit.shared:
        raise _RefusedError(f"{unit.shared} share memory")
    if not all(unit.forms.values()):
        raise _RefusedError("values of other types or lengths were not compared")
    _check_text(edit)
    _check_place(edit, recording.contents[edit.source.file])
    for before, _, _ in unit.kept:
        _check_lists(edit, before, unit.count)
    try:
        apart = max(_trial(edit, kept) for kept in unit.kept)
    except RecursionError:
        raise _RefusedError("its values are nested too deeply to compare") from None
    runs = f"{unit.count:,} run{'s' * (unit.count > 1)}"
    compared = f"compared in {len(unit.kept):,} of {runs}"
    if apart:
        rounding = f"by {apart:.1e} of a value at most"
        return f"the values differ by rounding, {rounding}; {compared}"
    return f"the same values, {compared}"


def _overlap(one: Edit, other: Edit) -> bool:
    (a, b, *one_columns), (c, d, *other_columns) = spot(one.node), spot(other.node)
    begins = [(a, one_columns[0]), (c, other_columns[0])]
    ends = [(b, one_columns[1]), (d, other_columns[1])]
    return one.source.file == other.source.file and max(begins) < min(ends)


def _check_text(edit: Edit) -> None:
    """Raise if a change has side effects, or uses names that have another meaning."""
    new, source = edit.tree(), edit.source
    for part in ast.walk(new):
        if isinstance(part, ast.Attribute) and part.attr in _WRITES:
            raise _RefusedError(f"it calls `{part.attr}`")
    for name in sorted(name for name in assigned([new]) if name.isidentifier()):
        inside = source.names(edit.node, name)
        if not inside and source.names(source.tree, name):
            raise _RefusedError(f"`{name}` has another use")


def _check_place(edit: Edit, content: bytes) -> None:
    """Raise if the code that was tried becomes other code in its place in the file."""
    expected = _Replacement(edit).visit(ast.parse(content))
    try:
        changed = ast.parse(_changed(content, [edit]))
    except (SyntaxError, UnicodeError):  # f-strings of several lines, with Python 3.11
        changed = None
    if changed is None or ast.dump(changed) != ast.dump(expected):
        raise _RefusedError("its lines cannot be moved")


class _Replacement(ast.NodeTransformer):
    """Replace a node of a syntax tree by the code of a change."""

    def __init__(self, edit: Edit) -> None:
        self._edit = edit

    def visit(self, node: ast.AST) -> Any:
        old = self._edit.node
        if type(node) is not type(old) or spot(node) != spot(old):
            return self.generic_visit(node)
        return self._edit.tree().body


def _trial(edit: Edit, kept: tuple[Values, Values, Any]) -> float:
    """Return how much the values of a change differ from the values of a run."""
    before, after, result = kept
    new = edit.tree()
    for name in (part.id for part in ast.walk(new) if isinstance(part, ast.Name)):
        value = before.get(name)
        if isinstance(value, Unknown):
            raise _RefusedError(f"`{name}` is {value}")
    found, changed = _computed(edit, before)
    loose = {
        name
        for name in assigned([edit.node])
        if not edit.source.is_used_outside(edit.node, name)
    }
    apart = {_RESULT: difference(result, changed)}
    if apart[_RESULT] == math.inf:
        raise _RefusedError(_contrast(_RESULT, result, changed))
    for name, value in after.items():
        one, other = value, found.get(name)
        if name in edit.arrays and is_array(other) and isinstance(value, list):
            one, other = numpy.array(value), numpy.asarray(other)
        apart[name] = difference(one, other)
        if apart[name] == math.inf and name not in loose:
            raise _RefusedError(_contrast(f"`{name}`", one, other))
    results = {name.partition(".")[0] for name in stored(edit.node)}
    results |= {_RESULT} if changed is not None else set()
    if not any(apart.get(name, math.inf) < math.inf for name in results):
        raise _RefusedError("no result of it was compared")
    return max(value for value in apart.values() if value < math.inf)


def _contrast(name: str, one: Any, other: Any) -> str:
    """Say how a value of the run differs from a value of a change."""
    kinds = [
        f"{type(value).__module__}.{type(value).__name__}" for value in (one, other)
    ]
    before, after = (kind.removeprefix("builtins.") for kind in kinds)
    if before == after:
        has_elements = isinstance(one, (list, tuple, dict))
        return f"{name} has other {'elements' if has_elements else 'values'}"
    return f"{name} is of type {before} and would be {after}"


def _check_lists(edit: Edit, before: Values, count: int) -> None:
    """Raise if a list of an array would be too long, or has numbers of other kinds."""
    for part in ast.walk(edit.tree()):
        if not (isinstance(part, ast.Attribute) and part.attr == "tolist"):
            continue
        for name in filter(None, map(dotted_name, ast.walk(part.value))):
            first, *rest = name.split(".")
            value: Any = before.get(first)
            for attribute in rest:
                value = getattr(value, attribute, None)
            if not is_array(value):
                continue
            if value.dtype.str[1:] not in ("b1", "i8", "f8", "c16"):
                raise _RefusedError(f"`{name}` is an array of {value.dtype}")
            is_whole = isinstance(part.value, ast.Name)
            if is_whole and 2 * edit.finding.count < value.size * count:
                raise _RefusedError(f"a list of `{name}` takes longer than its reads")


def _computed(edit: Edit, before: Values) -> tuple[Values, Any]:
    """Run a change with the values of a run, and return the names and its value."""
    names: Values = {"__builtins__": builtins, **before}
    tree = edit.tree()
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    try:
        code = compile(tree, "<rewrite>", mode)
    except SyntaxError:
        raise _RefusedError("it contains return, yield or await") from None
    state = random_state()
    set_random_state(before.get(RANDOM, state))
    result = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = eval(code, names)  # which runs statements too
            core.synchronize()  # errors and warnings are raised here
            names[RANDOM] = random_state()
    except Exception as error:
        raise _RefusedError(f"{type(error).__name__}: {error}") from None
    finally:
        set_random_state(state)
    return names, result


# -- Files -----------------------------------------------------------------------------


def _changed(content: bytes, changes: Iterable[Edit]) -> bytes:
    """Return the content of a file with its changes."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    lines = [*io.StringIO(content.decode(encoding), newline="")]
    for edit in sorted(changes, key=_extent, reverse=True):
        _replace(lines, edit)
    return "".join(lines).encode(encoding)


def _diff(content: bytes, changes: Iterable[Edit], name: str) -> bytes:
    """Return the changes of a file in the unified format."""
    texts = (content, _changed(content, changes))
    before, after = (io.BytesIO(text).readlines() for text in texts)
    header = os.fsencode(name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in difflib.diff_bytes(
            difflib.unified_diff, before, after, header, header
        )
    )


def _replace(lines: list[str], edit: Edit) -> None:
    """Replace the text of a node in the lines of its file."""
    first, last, left, right = spot(edit.node)
    head = lines[first - 1].encode()[:left].decode()
    tail = lines[last - 1].encode()[right:].decode()
    new = edit.text.split("\n")
    if isinstance(edit.node, ast.stmt):
        new = _comments(lines[first - 1 : last], edit.text) + new
    indent = head[: len(head) - len(head.lstrip())]
    end = "\r\n" if lines[first - 1].endswith("\r\n") else "\n"
    rest = [indent + line if line else line for line in new[1:]]
    text = end.join([head + new[0], *rest]) + tail
    lines[first - 1 : last] = [text]


def _comments(lines: list[str], new: str) -> list[str]:
    """Return the comments in a loop that its new text lacks, but not one at its end."""
    tokens = tokenize.generate_tokens(iter(lines).__next__)
    found = [
        token.string.rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT and token.start[0] < len(lines)
    ]
    return [comment for comment in found if comment not in new]

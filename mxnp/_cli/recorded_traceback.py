"""The traceback of an error that is raised after the program's last line.

Recorded operations keep only the place that recorded them. Its frame has ended when the
error is raised, so the traceback is that of code with the same file, line and name.
"""

from __future__ import annotations

import ast
import linecache
import re
from types import TracebackType

_NOTE = re.compile(r"recorded at (.+):(\d+)", re.DOTALL)


def traceback_of(error: BaseException) -> TracebackType | None:
    """Return a traceback of the line that a note on a deferred error names, or None."""
    for note in getattr(error, "__notes__", []):
        found = _NOTE.fullmatch(note)
        if found:
            return _traceback_at(found[1], int(found[2]))
    return None


def _traceback_at(file: str, line: int) -> TracebackType | None:
    text = linecache.getline(file, line).rstrip()
    # The instruction spans the line, so that Python underlines no part of it.
    statement = ast.parse("raise RuntimeError").body[0]
    for node in ast.walk(statement):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = line
            node.col_offset = len(text) - len(text.lstrip())
            node.end_col_offset = len(text.encode())
    code = compile(ast.Module([statement], []), file, "exec", dont_inherit=True)
    code = code.replace(co_name=_function_at(file, line))
    try:
        exec(code, {"__name__": "__main__"})
    except RuntimeError as raised:
        here = raised.__traceback__
        return here.tb_next if here else None
    return None


def _function_at(file: str, line: int) -> str:
    """Return the name of the innermost function that contains a line."""
    name = "<module>"
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return name
    for node in ast.walk(tree):  # a function comes before those inside it
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            is_inside = node.body[0].lineno <= line <= (node.end_lineno or 0)
            name = node.name if is_inside else name
    return name

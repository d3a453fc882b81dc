"""How places in the program's files and notebook cells are written."""

from __future__ import annotations

import sys


def cell_name(file: str) -> str | None:
    """Return the name that IPython shows for the file of a notebook cell, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    compiler = getattr(shell, "compile", None)
    named = getattr(compiler, "format_code_name", lambda file: None)(file)
    return " ".join(named) if named else None


def describe(file: str, line: int, name: str | None = None) -> str:
    """Return a place as tracebacks show it: "f.py:3" or "Cell In[27], line 3".

    A file other than a cell is called `name`, by default its path.
    """
    cell = cell_name(file)
    return f"{cell}, line {line}" if cell else f"{name or file}:{line}"

"""Copies of NumPy's tests whose imports name another package; asserts are untouched."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import numpy

SOURCE = Path(numpy.__file__).parent

# Tests of NumPy's packaging, compilers and typing stubs: nothing of them is the API.
LEFT_OUT = {"distutils", "f2py", "typing", "_pyinstaller", "tests"}


def copy_tests(folder: Path, package: str) -> list[Path]:
    """
    Copy the tests that numpy ships into `folder`, importing `package` instead of numpy.

    Returns
    -------
    list of Path
        The test files, relative to `folder`.
    """
    shutil.copy(SOURCE / "conftest.py", folder / "conftest.py")
    files = []
    for tests in sorted(SOURCE.rglob("tests")):
        part = tests.relative_to(SOURCE).parts[0]
        if part in LEFT_OUT or not tests.is_dir():
            continue
        copy = folder / "numpy_tests" / part
        shutil.copytree(tests, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for file in [copy.parent / "__init__.py", copy / "__init__.py"]:
            file.touch()
        for file in sorted(copy.rglob("*.py")):
            file.write_text(rewrite(file.read_text(), package))
            if file.parent == copy and file.name.startswith("test_"):
                files.append(file.relative_to(folder))
    return files


def is_public(module: str) -> bool:
    """Tell whether a module is NumPy's and all public; the others stay as they are."""
    parts = module.split(".")
    hidden = {"core", "f2py", "distutils", "tests"} & set(parts)
    private = any(part.startswith("_") for part in parts)
    return parts[0] == "numpy" and not hidden and not private


def rewrite(source: str, package: str) -> str:
    """Let the import statements of a test file name `package` where they name numpy."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        first = getattr(node, "lineno", 0) - 1
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if is_public(node.module):
                lines[first] = re.sub(
                    r"\bfrom numpy\b", f"from {package}", lines[first]
                )
        elif isinstance(node, ast.Import):
            text = ", ".join(_clause(alias, package) for alias in node.names)
            indent = lines[first][: node.col_offset]
            rest = lines[first][node.end_col_offset :]
            lines[first] = f"{indent}import {text}{rest}"
    return "".join(lines)


def _clause(alias: ast.alias, package: str) -> str:
    name = alias.name
    if not is_public(name):
        return f"{name} as {alias.asname}" if alias.asname else name
    ours = re.sub("^numpy", package, name)
    if alias.asname:
        return f"{ours} as {alias.asname}"
    return ", ".join([*([ours] if "." in name else []), f"{package} as numpy"])

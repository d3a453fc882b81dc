"""Copy NumPy's tests, and change only their imports so that they test another package."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy

SOURCE = Path(numpy.__file__).parent
COPIES = "numpy_tests"  # the package of the copies

# Folders about compilers and packaging, and the data for tests of the typing stubs.
LEFT_OUT = {"distutils", "f2py", "_pyinstaller"}
IGNORED = shutil.ignore_patterns("__pycache__", "pass", "fail", "reveal", "misc")

_PROGRAM = re.compile(r"^[ \t]*(?:import|from) numpy\b", re.MULTILINE)


def copy_tests(folder: Path, package: str) -> list[Path]:
    """
    Copy the tests in numpy's package to `folder`, with imports of `package`.

    Returns
    -------
    list of Path
        The test files, relative to the folder of the copies.
    """
    shutil.copy(SOURCE / "conftest.py", folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    root = folder / COPIES
    files = []
    for tests in sorted(SOURCE.rglob("tests")):
        part = tests.relative_to(SOURCE)
        if part.parts[0] in LEFT_OUT or "data" in part.parts or not tests.is_dir():
            continue
        shutil.copytree(tests, root / part, ignore=IGNORED)
        for parent in [*(root / part).relative_to(folder).parents][:-1]:
            (folder / parent / "__init__.py").touch()
        (root / part / "__init__.py").touch()
        for file in sorted((root / part).glob("*.py")):
            file.write_text(rewrite(file.read_text(encoding="utf-8"), package))
            if file.name.startswith("test_"):
                files.append(file.relative_to(root))
    return files


def is_public(name: str) -> bool:
    """Return whether a dotted name is one of NumPy's and has no private part."""
    top, *rest = name.split(".")
    return top == "numpy" and not (
        any(map(is_private_name, rest)) or rest[:1] in _PRIVATE_PARTS
    )


_PRIVATE_PARTS = (["core"], ["f2py"], ["distutils"], ["tests"])


def is_private_name(part: str) -> bool:
    """Return whether a part of a name is private: underscored, or ``tests``."""
    dunder = part.startswith("__") and part.endswith("__")
    return part == "tests" or (part.startswith("_") and not dunder)


def rewrite(source: str, package: str) -> str:
    """
    Return the text of a test file that imports `package` instead of numpy.

    Import statements are changed, including those of programs in strings. Names from
    NumPy's private modules stay NumPy's. So does anything that is reached through a
    private name, such as ``np._core.umath``.
    """
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    edits = set()
    tree = ast.parse(source)
    roots = set(_names_of_numpy(tree))
    for node in ast.walk(tree):
        edit = _edit(node, package, roots)
        if edit:
            where, new = edit
            assert where.end_lineno is not None
            assert where.end_col_offset is not None
            start = starts[where.lineno - 1] + where.col_offset
            stop = starts[where.end_lineno - 1] + where.end_col_offset
            old = text[start:stop].decode()
            edits.add((start, stop, new if new else _in_string(old, package)))
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new.encode() + text[stop:]
    return text.decode()


def _names_of_numpy(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "numpy":
                    yield alias.asname or "numpy"
                elif alias.name.startswith("numpy.") and not alias.asname:
                    yield "numpy"


def _edit(node: ast.AST, package: str, roots: set[str]) -> tuple[ast.expr, str] | None:
    """Return the part of a node to replace and the new text; "" for text in a string."""
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        module = _module(node.module, package)
        if module != node.module:
            names = ", ".join(_as(alias.name, alias.asname) for alias in node.names)
            return node, f"from {module} import {names}"  # type: ignore[return-value]
    elif isinstance(node, ast.Import):
        new = "import " + ", ".join(_clause(alias, package) for alias in node.names)
        return node, new  # type: ignore[return-value]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id in roots and not is_public(f"numpy.{node.attr}"):
            return node.value, '__import__("numpy")'
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _PROGRAM.search(node.value):
            return node, ""
    return None


def _module(name: str, package: str) -> str:
    """Return the module that replaces a module of NumPy."""
    if re.match(r"numpy\.(\w+\.)*tests\b", name):
        return re.sub("^numpy", COPIES, name)
    return re.sub("^numpy", package, name) if is_public(name) else name


def _clause(alias: ast.alias, package: str) -> str:
    name = _module(alias.name, package)
    if alias.asname or name.partition(".")[0] not in {"numpy", package}:
        return _as(name, alias.asname)
    return ", ".join([*([name] if "." in name else []), f"{package} as numpy"])


def _as(name: str, asname: str | None) -> str:
    return f"{name} as {asname}" if asname else name


def _in_string(literal: str, package: str) -> str:
    literal = re.sub(r"\bimport numpy(?= as\b)", f"import {package}", literal)
    literal = re.sub(
        r"\bimport numpy(?! as\b|[.\w])", f"import {package} as numpy", literal
    )
    return re.sub(r"\bfrom numpy(?= import|\.[a-z])", f"from {package}", literal)

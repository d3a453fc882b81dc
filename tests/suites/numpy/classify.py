"""
Determine which test functions use only NumPy's public API, and which only numbers.

The README.md of this folder describes the rules and their reasons.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rewrite import SOURCE, is_public

# Names in tests about compilers, packaging, documentation or the import of numpy.
_PRIVATE = re.compile(
    r"extbuild|build_and_import_extension|[cC]ython|meson|mypy|cffi|numba"
    r"|subprocess|importlib|import_module|reload|pkgutil|modules|get_include"
    r"|add_newdoc\w*|__doc__|docstring|show_config|show_runtime|__config__|__version__"
    r"|__file__|__path__"
)

# Names in tests that are not only about arrays of numbers.
_OTHER = {
    "other dtypes": r"object_?|datetime\w*|timedelta\w*|busday\w*|NaT|typecodes"
    r"|StringDType|str|str_|bytes|bytes_|character|flexible|void"
    r"|names|fields|titles|recarray|record|recfunctions|rec|char|strings|chararray",
    "other arrays": r"matrix|asmatrix|bmat|matlib|mat|ma|masked\w*|mrecords|MaskedArray"
    r"|memmap|subok|view_type|__array\w*__|__dlpack\w*__|from_dlpack|__buffer__"
    r"|array_function\w*",
    "Python": r"pickle\w*|dumps?|loads|__reduce\w*__|__(set|get)state__|copyreg"
    r"|getrefcount|HAS_REFCOUNT|gc|weakref|inspect|signature|_?ctypes\w*|memoryview"
    r"|threading|Thread|run_threaded|concurrent|getbuffer|assert_no_gc_cycles|Decimal"
    r"|Fraction|deepcopy|__annotations__|npt|getsizeof|dir|__all__|__module__",
    "files and text": r"tempfile|tmp_?path|tmpdir|temppath|tempdir|open|StringIO|BytesIO"
    r"|NamedTemporaryFile|save\w*|load|loadtxt|fromregex|genfromtxt|fromfile|tofile"
    r"|fromstring|array2string|array_str|array_repr|repr|__repr__|__str__|__format__"
    r"|\w*printoptions|format_float\w*|format_parser",
}
_OTHER_WORDS = re.compile("|".join(_OTHER.values()))
# Type codes in such tests: object, times, text, void, structures.
_OTHER_CODES = re.compile(
    r"All|object|[<>=|]?([mM](8(\[.*\])?)?|[OTSUaV]\d*|[a-zA-Z]\d+(,.*)+)"
    r"|(datetime|timedelta)64.*|[bhilqpBHILQPefdgFDG?]*O[a-zA-Z?]*"
)


@dataclass
class File:
    """The definitions of a test file, and the meanings of its imported names."""

    path: Path
    tree: ast.Module
    modules: dict[str, str] = field(default_factory=dict)  # NumPy's modules by name
    private: set[str] = field(default_factory=set)  # names of private objects
    elsewhere: dict[str, tuple[Path, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self._bind_modules(node)
            elif isinstance(node, ast.ImportFrom):
                self._bind_names(node)

    def _bind_modules(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if top != "numpy":
                continue
            if not alias.asname:
                self.modules["numpy"] = "numpy"
            elif is_public(alias.name):
                self.modules[alias.asname] = alias.name
            else:
                self.private.add(alias.asname)

    def _bind_names(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        beside = self.path.parent
        if not node.level and not module.startswith("numpy"):
            return
        for alias in node.names:
            bound = alias.asname or alias.name
            if node.level:
                self.elsewhere[bound] = (beside / f"{module}.py", alias.name)
            elif re.search(r"\btests\b", module):
                file = SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py")
                self.elsewhere[bound] = (file, alias.name)
            elif not is_public(f"{module}.{alias.name}"):
                self.private.add(bound)
            elif (SOURCE.parent / module.replace(".", "/") / alias.name).is_dir():
                self.modules[bound] = f"{module}.{alias.name}"

    @cached_property
    def top(self) -> dict[str, list[ast.stmt]]:
        """The statements of the file that define each top-level name."""
        found: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in _bound(node):
                found.setdefault(name, []).append(node)
        return found


class Classifier:
    """A classifier of the test functions of NumPy's suite."""

    def __init__(self) -> None:
        self._files: dict[Path, File | None] = {}

    def kind(self, origins: list[tuple[Path, str]]) -> str:
        """
        Return ``"private"``, ``"public"`` or ``"numeric"``.

        Parameters
        ----------
        origins : list of (Path, str)
            NumPy's file and the qualified name of the test function and of the classes
            in which it runs.
        """
        if not origins:  # The name is that of a file that cannot be collected.
            return "private"
        pending: list[tuple[File, ast.AST]] = []
        owners: list[tuple[File, ast.ClassDef]] = []
        for path, name in origins[1:]:
            file = self._file(path)
            for node in file.top.get(name.partition(".")[0], ()) if file else ():
                if file and isinstance(node, ast.ClassDef):
                    owners.append((file, node))
        path, name = origins[0]
        file = self._file(path)
        if file is None:
            return "private"
        function = _find(file, name)
        if function is None:  # The function was made at run time.
            return "private"
        pending.append((file, function))
        for each, owner in owners:
            pending += [(each, part) for part in owner.decorator_list]
            pending += [(each, part) for part in owner.bases]
            pending += [
                (each, item)
                for item in owner.body
                if {"setup_method", "setup_class", "setup", "teardown_method"}
                & set(_bound(item))
            ]
        return self._closure(pending, owners)

    def _closure(
        self,
        pending: list[tuple[File, ast.AST]],
        owners: list[tuple[File, ast.ClassDef]],
    ) -> str:
        numeric = True
        seen: set[int] = set()
        while pending:
            file, node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if _is_structured(node) or any(map(_OTHER_CODES.fullmatch, _strings(node))):
                numeric = False
            for word, is_private in _words(node, file):
                if is_private or _PRIVATE.fullmatch(word):
                    return "private"
                numeric &= not _OTHER_WORDS.fullmatch(word)
            used, members = _used(node)
            for word in used:
                pending += [
                    (file, each)
                    for each in file.top.get(word, ())
                    if not isinstance(each, ast.ClassDef) or not _has_tests(each)
                ]
                if word in file.elsewhere:
                    path, name = file.elsewhere[word]
                    other = self._file(path)
                    if other is None:
                        return "private"
                    pending += [(other, each) for each in other.top.get(name, ())]
            for each, owner in owners:
                pending += [
                    (each, item) for item in owner.body if members & _bound(item)
                ]
        return "numeric" if numeric else "public"

    def _file(self, path: Path) -> File | None:
        if path not in self._files:
            known = path.exists() and path.suffix == ".py"
            self._files[path] = (
                File(path, ast.parse(path.read_text(encoding="utf-8")))
                if known
                else None
            )
        return self._files[path]


def _find(file: File, name: str) -> ast.AST | None:
    """Find a function by its qualified name."""
    *owners, last = [part for part in name.split(".") if part != "<locals>"]
    body: list[ast.stmt] = file.tree.body
    for owner in owners:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == owner:
                body = node.body
                break
        else:
            return None
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == last:
            return node
    return None


def _has_tests(node: ast.ClassDef) -> bool:
    return any(
        isinstance(item, ast.FunctionDef) and item.name.startswith("test")
        for item in node.body
    )


def _bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _is_structured(node: ast.AST) -> bool:
    """Return whether a structured dtype is written out: ``[('x', int), ...]``."""
    for part in ast.walk(node):
        if isinstance(part, ast.List) and part.elts:
            first = part.elts[0]
            if (
                isinstance(first, ast.Tuple)
                and len(first.elts) in {2, 3}
                and isinstance(first.elts[0], ast.Constant)
                and isinstance(first.elts[0].value, str)
            ):
                return True
    return False


def _used(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the names that code uses from its file, and those from its class."""
    parts = list(ast.walk(node))
    names = [part for part in parts if isinstance(part, ast.Name)]
    arguments = {part.arg for part in parts if isinstance(part, ast.arg)}
    own = {part.id for part in names if isinstance(part.ctx, ast.Store)}
    free = {part.id for part in names} - own
    of_self = {
        part.attr
        for part in parts
        if isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and part.value.id in {"self", "cls"}
    }
    # An argument may be a fixture. Decorators use names of their class without `self`.
    return free | arguments, of_self | free | arguments


def _strings(node: ast.AST) -> Iterator[str]:
    """Yield the strings in code, without docstrings."""
    documentation = {
        id(part.value) for part in ast.walk(node) if isinstance(part, ast.Expr)
    }
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if id(part) not in documentation:
                yield part.value


def _words(node: ast.AST, file: File) -> Iterator[tuple[str, bool]]:
    """Yield the names in code, and whether each is private to NumPy."""
    for text in _strings(node):
        if "import numpy" in text:
            yield "import numpy", True  # The string is a program.
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id, part.id in file.private
        elif isinstance(part, ast.arg | ast.keyword) and part.arg:
            yield part.arg, False
        elif isinstance(part, ast.FunctionDef):
            yield part.name, False
        elif isinstance(part, ast.Import | ast.ImportFrom):
            module = getattr(part, "module", None) or ""
            for alias in part.names:
                name = f"{module}.{alias.name}" if module else alias.name
                of_numpy = name.partition(".")[0] == "numpy" and "tests" not in name
                for word in name.split("."):
                    yield word, of_numpy and not is_public(name)
        elif isinstance(part, ast.Attribute):
            yield part.attr, _is_private(part, file)


def _is_private(node: ast.Attribute, file: File) -> bool:
    """Return whether an attribute is a private name in a module of NumPy."""
    parts = [node.attr]
    root = node.value
    while isinstance(root, ast.Attribute):
        parts.insert(0, root.attr)
        root = root.value
    module = file.modules.get(root.id) if isinstance(root, ast.Name) else None
    return module is not None and not is_public(".".join([module, *parts]))

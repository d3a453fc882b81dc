"""Which test functions touch only NumPy's public API, and which only numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rewrite import is_public

# Words of a test that is about more than arrays of numbers: other kinds of dtypes,
# subclasses and protocols, Python's own machinery, files and text.
OTHER_KINDS = re.compile(
    r"object_?|O|datetime64|timedelta64|[<>=|]?[mM]8.*|StringDType|str_?|bytes_?|[SU]\d*"
    r"|[<>=|][SU]\d+|void|V\d*|chararray|char|strings|rec|recarray|record|names|fields"
    r"|titles|matrix|asmatrix|ma|masked\w*|MaskedArray|memmap|pickle|dumps|loads|deepcopy"
    r"|getrefcount|gc|weakref|inspect|signature|ctypes|memoryview|__\w+__|subok|view_type"
    r"|poly1d|subprocess|threading|warnings_|tempfile|StringIO|BytesIO|NamedTemporaryFile"
    r"|savez?|loadtxt|savetxt|genfromtxt|fromfile|tofile|array2string|repr|printoptions"
    r"|set_printoptions|base|flags|strides|nditer|errstate_|dlpack|from_dlpack|setbufsize"
)


class Classifier:
    """
    The kinds of the test functions of one file.

    A function is private when it, or anything of its file that it uses, names a module
    that is private (``numpy._core...``), a private attribute of a module of NumPy's, or
    a helper that compiles C. Otherwise it is public, and numeric when no word in it is
    one of `OTHER_KINDS`.
    """

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.modules: set[str] = set()  # names bound to NumPy's modules
        self.private: set[str] = set()  # names bound to private things
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._bind(node)
        self.top: dict[str, list[ast.AST]] = {}
        self.tests: dict[str, tuple[ast.AST, ast.ClassDef | None]] = {}
        for node in tree.body:
            for name in _bound(node):
                self.top.setdefault(name, []).append(node)
            if isinstance(node, ast.ClassDef):
                for item in node.body:
                    if isinstance(item, ast.FunctionDef):
                        self.tests[f"{node.name}::{item.name}"] = (item, node)
            elif isinstance(node, ast.FunctionDef):
                self.tests[node.name] = (node, None)

    def _bind(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            module = alias.name
            if isinstance(node, ast.ImportFrom):
                module = f"{'.' * node.level}{node.module or ''}"
            bound = alias.asname or alias.name.partition(".")[0]
            if module.startswith("."):
                self.private.add(bound)
            elif module.partition(".")[0] != "numpy":
                continue
            elif not is_public(module) or alias.name.startswith("_"):
                self.private.add(bound)
            elif isinstance(node, ast.Import):
                self.modules.add(bound)

    def kind(self, test: str) -> str:
        """Give ``"private"``, ``"public"`` or ``"numeric"`` for ``Class::function``."""
        if test not in self.tests:  # inherited from a class of another file
            return "private"
        function, owner = self.tests[test]
        words: set[str] = set()
        seen: set[int] = set()
        pending: list[ast.AST] = [function]
        if owner is not None:
            pending += [*owner.decorator_list, *owner.bases]
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for word, is_private in self._words(node):
                if is_private:
                    return "private"
                words.add(word)
                pending += self.top.get(word, []) if word in self.top else []
                pending += _members(owner, word)
        return "public" if any(map(OTHER_KINDS.fullmatch, words)) else "numeric"

    def _words(self, node: ast.AST) -> Iterator[tuple[str, bool]]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id, part.id in self.private
            elif isinstance(part, ast.arg):
                yield part.arg, False
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value, False
            elif isinstance(part, ast.Attribute):
                of_numpy = isinstance(part.value, ast.Name) and (
                    part.value.id in self.modules
                )
                hidden = part.attr.startswith("_") and not part.attr.startswith("__")
                yield part.attr, of_numpy and (hidden or part.attr in {"core", "f2py"})


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    else:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _members(owner: ast.ClassDef | None, word: str) -> list[ast.AST]:
    """Give the members of a test class that a word may name: helpers, data, set-up."""
    if owner is None:
        return []
    used = {word, "setup_method", "setup_class", "setup"}
    return [
        item
        for item in owner.body
        if any(name in used for name in _bound(item)) and not word.startswith("test_")
    ]

"""Find code that Metal rejects and C++ accepts, in the syntax tree of the compiler.

Such code has pointers without an address space, casts between address spaces, recursion,
function pointers, lambdas, static locals, program-scope variables that are not
constant, or wrong conversions of vectors.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from .compiler import Compiler
from .source import SOURCE_NAME

Node = dict[str, Any]
Message = tuple[int, str]

FLAGS = ("-D__MSL_LINT", "-Wno-everything")

LINE_DIRECTIVE = re.compile(rf'#line (\d+) "{SOURCE_NAME}"')
ADDRESS_SPACE = re.compile(
    r"address_space\(\d\)|\b(?:device|constant|threadgroup|__global_\w+|__local)\b"
)
CONSTANT_SPACE = re.compile(r"address_space\(2\)|\b(?:constant|__global_host)\b")
VECTOR_TYPE = re.compile(
    r"ext_vector_type|\b(?:u?(?:char|short|int|long)|b?half|bfloat|float)[234]$"
)
BOOL_VECTOR = re.compile(r"__msl::bools<|\bbool[234]\b|\bbools<\d>")

FUNCTIONS = {"FunctionDecl", "CXXMethodDecl"}
VARIABLES = {"VarDecl", "ParmVarDecl", "FieldDecl"}
EXPLICIT_CASTS = {"CStyleCastExpr", "CXXFunctionalCastExpr", "CXXReinterpretCastExpr"}
CONVERSIONS = {"FloatingCast", "IntegralToFloating", "FloatingToIntegral"}
COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
LOGIC = {"&&", "||", "&", "|", "^"}
TRANSPARENT = {
    "ParenExpr",
    "ImplicitCastExpr",
    "MaterializeTemporaryExpr",
    "ExprWithCleanups",
    "CXXBindTemporaryExpr",
}


def lint(path: str) -> list[Message]:
    """
    Find code that only Metal rejects.

    Parameters
    ----------
    path : str
        The path of a Metal program.

    Returns
    -------
    list of (int, str)
        The line and message of each finding, in the order of lines.

    Raises
    ------
    CompileError
        If the program does not compile.
    """
    with open(path, encoding="utf-8") as file:
        return lint_text(file.read())


def lint_text(text: str) -> list[Message]:
    """Find code that only Metal rejects in the text of a program; see `lint`."""
    compiler = Compiler(instrumented=False, extra_flags=FLAGS)
    code, tree = compiler.checked_syntax_tree(text)
    return Lint(code, json.loads(tree)).messages()


def functions_not_inlined(text: str) -> set[str]:
    """
    Return the names of the functions of a program that may be compiled as calls.

    Matrices that a function takes may lose columns then. Kernels are no such functions.
    """
    compiler = Compiler(instrumented=False)
    kernels = {kernel.name for kernel in compiler.check(text)}
    found = set()
    ahead = [json.loads(compiler.checked_syntax_tree(text)[1])]
    while ahead:
        node = ahead.pop()
        kinds = {child.get("kind") for child in children(node)}
        is_function = node.get("kind") in FUNCTIONS and "CompoundStmt" in kinds
        if is_function and "AlwaysInlineAttr" not in kinds:
            found.add(node["name"])
        ahead += (child for child in children(node) if not child.get("isImplicit"))
    return found - kernels


class Lint:
    """
    The findings in a syntax tree.

    Parameters
    ----------
    code : str
        The C++ code of the program.
    tree : dict
        The syntax tree that clang writes as JSON.
    """

    def __init__(self, code: str, tree: Node) -> None:
        self._lines = Lines(code)
        self._code = code
        self._found: set[Message] = set()
        self._calls: dict[str, set[str]] = {}
        self._functions: dict[str, tuple[str, int]] = {}
        self._path: list[Node] = []  # from the tree's root to the current node
        self._function: str | None = None
        self._walk(tree)
        self._find_recursion()

    def messages(self) -> list[Message]:
        """Return the line and message of each finding."""
        return sorted(self._found)

    def _report(self, node: Node, message: str) -> None:
        """Record a finding at a node, or at the nearest node around it with a line."""
        for candidate in [node, *reversed(self._path)]:
            offset = offset_of(candidate)
            if offset is not None:
                self._found.add((self._lines.line(offset), message))
                return
        self._found.add((0, message))

    def _walk(self, node: Node) -> None:
        """Check a node and all nodes below it."""
        if node.get("isImplicit"):
            return
        kind = node.get("kind", "")
        outer = self._function
        if kind in FUNCTIONS:
            self._enter_function(node)
        check = getattr(self, f"_check_{kind}", None)
        if check:
            check(node)
        if kind in VARIABLES:
            self._check_variable(node)
        if kind in EXPLICIT_CASTS:
            self._check_cast(node)
        self._path.append(node)
        for child in node.get("inner", ()):
            if child:
                self._walk(child)
        self._path.pop()
        self._function = outer

    # -- Functions

    def _enter_function(self, node: Node) -> None:
        """Record a function, and check the type that it returns."""
        self._function = node["id"]
        offset = offset_of(node)
        line = self._lines.line(offset) if offset is not None else 0
        self._functions[node["id"]] = node.get("name", ""), line
        self._calls.setdefault(node["id"], set())
        if "previousDecl" in node:  # Calls may name either declaration.
            self._calls.setdefault(node["previousDecl"], set()).add(node["id"])
        result = _type(node).partition("(")[0]
        if _is_unqualified(result) and not _is_marked(node):
            name = node.get("name")
            self._report(node, f"'{name}' returns '{result}' without an address space")

    def _check_DeclRefExpr(self, node: Node) -> None:  # noqa: N802
        """Record a call of a function."""
        to = node.get("referencedDecl", {})
        if self._function and to.get("kind") in FUNCTIONS:
            self._calls[self._function].add(to["id"])

    def _check_MemberExpr(self, node: Node) -> None:  # noqa: N802
        """Record a call of a method."""
        to = node.get("referencedMemberDecl")
        if self._function and to:
            self._calls[self._function].add(to)

    def _find_recursion(self) -> None:
        """Report functions that call themselves, directly or indirectly."""
        for start in self._functions:
            name, line = self._functions[start]
            seen: set[str] = set()
            ahead = list(self._calls[start])
            while ahead:
                function = ahead.pop()
                if function == start:
                    self._found.add((line, f"'{name}' calls itself: no recursion"))
                    break
                if function not in seen:
                    seen.add(function)
                    ahead += self._calls.get(function, ())

    def _check_LambdaExpr(self, node: Node) -> None:  # noqa: N802
        """Report a lambda."""
        self._report(node, "lambda expressions are not supported in Metal")

    # -- Variables

    def _check_variable(self, node: Node) -> None:
        """Report pointers to functions and pointers without an address space."""
        name = node.get("name")
        if not name or name.startswith("__"):
            return
        declared = _type(node)
        if "(*" in declared and "[" not in declared:
            self._report(node, f"'{name}' is a pointer to a function")
        elif (
            _is_unqualified(declared)
            and not _is_marked(node)
            and not self._is_auto(node)
        ):
            self._report(node, f"'{name}' ('{declared}') has no address space")

    def _is_auto(self, node: Node) -> bool:
        """Return whether a variable's type is deduced from its initialiser."""
        begin = _place(node.get("range", {}).get("begin", {}))
        end = _place(node.get("loc", {}))
        if begin is None or end is None:
            return False
        return re.search(r"\bauto\b", self._code[begin:end]) is not None

    def _check_VarDecl(self, node: Node) -> None:  # noqa: N802
        """Report static locals and program-scope variables that can change."""
        name = node.get("name", "")
        is_static = node.get("storageClass") == "static"
        if self._function:
            if is_static:
                self._report(node, f"static local variable '{name}'")
        elif not CONSTANT_SPACE.search(_type(node)):
            message = f"program-scope variable '{name}' is not in constant memory"
            self._report(node, message)

    # -- Expressions

    def _check_cast(self, node: Node) -> None:
        """Report casts between address spaces, and casts that reinterpret vectors."""
        kind = node.get("castKind")
        if kind == "AddressSpaceConversion":
            self._report(node, f"cast between address spaces to '{_type(node)}'")
        elif kind == "BitCast" and VECTOR_TYPE.search(_type(node)):
            self._report(
                node,
                f"the Metal emulator would take the bits of a vector as '{_type(node)}': "
                "convert it with the constructor, not with a name for it",
            )

    def _check_ImplicitCastExpr(self, node: Node) -> None:  # noqa: N802
        """Report implicit conversions of bfloat, except to float and of operands."""
        if node.get("castKind") not in CONVERSIONS or node.get("isPartOfExplicitCast"):
            return
        inner = next(children(node), {})
        types = [_canonical(node), _canonical(inner)]
        if types.count("__bf16") != 1 or types[0] == "float" or self._is_operand():
            return
        source, target = (t.replace("__bf16", "bfloat") for t in reversed(types))
        self._report(node, f"no implicit conversion from '{source}' to '{target}'")

    def _is_operand(self) -> bool:
        """Return whether the current node is an operand of arithmetic or a choice."""
        for outer in reversed(self._path):
            kind = outer.get("kind")
            if kind == "BinaryOperator":
                return outer.get("opcode") != "="
            if kind == "ConditionalOperator":
                return True
            if kind not in TRANSPARENT or outer.get("isPartOfExplicitCast"):
                return False
        return False

    def _check_BinaryOperator(self, node: Node) -> None:  # noqa: N802
        """Report comparisons of vectors whose results are used as numbers."""
        if node.get("opcode") not in COMPARISONS or not VECTOR_TYPE.search(
            _canonical(node)
        ):
            return
        for outer in reversed(self._path):
            if outer.get("kind") in TRANSPARENT or outer.get("opcode") in LOGIC | {"!"}:
                continue
            if not BOOL_VECTOR.search(_canonical(outer)):
                self._report(
                    node,
                    "comparing vectors gives a bool vector in Metal, and numbers on "
                    "the Metal emulator: make it a bool vector, or use it in select, any "
                    "or all",
                )
            return


class Lines:
    """A map from offsets in C++ code to lines of the program."""

    def __init__(self, code: str) -> None:
        self._starts: list[int] = []
        self._numbers: list[int] = []
        number, at = 1, 0
        for text in code.splitlines(keepends=True):
            directive = LINE_DIRECTIVE.match(text)
            self._starts.append(at)
            self._numbers.append(number)
            number = int(directive[1]) if directive else number + 1
            at += len(text)

    def line(self, offset: int) -> int:
        """Return the line in the program."""
        return self._numbers[bisect_right(self._starts, offset) - 1]


def _place(location: Node) -> int | None:
    """Return the offset of a location, which for a macro is that of its use."""
    location = location.get("expansionLoc", location)
    return None if "includedFrom" in location else location.get("offset")


def offset_of(node: Node) -> int | None:
    """Return the offset of a node, or None."""
    place = _place(node.get("loc", {}))
    return _place(node.get("range", {}).get("begin", {})) if place is None else place


def _type(node: Node) -> str:
    """Return the type of a node as written."""
    return node.get("type", {}).get("qualType", "")


def _canonical(node: Node) -> str:
    """Return the type of a node without type aliases."""
    written = node.get("type", {})
    return written.get("desugaredQualType", written.get("qualType", ""))


def _is_unqualified(declared: str) -> bool:
    """Return whether a type is a pointer or reference without an address space."""
    return bool(re.search(r"[*&]", declared)) and not ADDRESS_SPACE.search(declared)


def _is_marked(node: Node) -> bool:
    """Return whether a declaration contains ``thread``."""
    return any(child.get("kind") == "AnnotateAttr" for child in children(node))


def children(node: Node) -> Iterator[Node]:
    """Return the nodes directly below a node."""
    return (child for child in node.get("inner", ()) if child)

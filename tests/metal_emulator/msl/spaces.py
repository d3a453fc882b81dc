"""Find conversions to thread memory that clang makes for SYCL, and Metal rejects.

Objects in any address space can be copied and assigned. A member function takes objects in
the address spaces that its declarations name, which `rewrite.py` marks, and otherwise
objects in thread memory. Every other implicit conversion is an error.
"""

from __future__ import annotations

import json
import re

from .compiler import SYCL_SPACES
from .lint import Lines, Message, Node, children, offset_of

MARK = re.compile(r"__msl_on_(\w+)")
SPACE = re.compile("|".join(rf"\b{name}\b" for name in SYCL_SPACES))
METHODS = {"CXXMethodDecl", "CXXConversionDecl"}
SPECIAL = re.compile(r"void \((?:const )?(?P<type>.+?) &&?\)")


def find_conversions(code: str, tree: str) -> list[Message]:
    """Return the line and message of each wrong conversion in a program's syntax tree."""
    search = _Search(code)
    root = json.loads(tree)
    search.read_methods(root)
    search.walk(root, [])
    return sorted(search.found)


class _Search:
    """The wrong conversions in a program."""

    def __init__(self, code: str) -> None:
        self.found: set[Message] = set()
        self._code = code
        self._lines = Lines(code)
        # The address spaces of each member function of the program, by identifier. Those of
        # the library, which are not in the tree, take objects in all.
        self._methods: dict[str, set[str]] = {}

    def read_methods(self, node: Node) -> None:
        """Record the member functions below a node."""
        if node.get("kind") in METHODS:
            self._methods[node["id"]] = self._spaces_of(node)
        for child in children(node):
            self.read_methods(child)

    def _spaces_of(self, method: Node) -> set[str]:
        """Return the address spaces whose objects a member function takes."""
        start = offset_of(method)
        if method.get("isImplicit") or start is None:
            return {"thread", *SYCL_SPACES.values()}
        marks = MARK.findall(re.split("[{;]", self._code[start:], maxsplit=1)[0])
        return set(marks) or {"thread"}

    def walk(self, node: Node, path: list[Node]) -> None:
        """Check a node and all nodes below it."""
        if node.get("castKind") == "AddressSpaceConversion":
            self._check(node, path)
        elif node.get("referencedMemberDecl") in self._methods:
            self._check_object_in_thread_memory(node, path)
        path.append(node)
        for child in children(node):
            self.walk(child, path)
        path.pop()

    def _check(self, cast: Node, path: list[Node]) -> None:
        """Record a conversion that is neither of an object nor of a copy's source."""
        source = next(children(cast))["type"]["qualType"]
        space = SPACE.search(source)
        if space is None:
            return
        ours = SYCL_SPACES[space[0]]
        is_implicit = cast["kind"] == "ImplicitCastExpr"
        if is_implicit and self._is_of_object(cast, path, ours):
            return
        parent = path[-1]
        if is_implicit and parent.get("kind") == "MemberExpr":
            message = f"'{parent['name']}' takes no object in {ours} memory"
        else:
            target = cast["type"]["qualType"]
            message = f"'{source}' does not convert to '{target}'"
            message = message.replace(space[0], ours)
        self._report(message, [*path, cast])

    def _check_object_in_thread_memory(self, member: Node, path: list[Node]) -> None:
        """Record a call for such an object of a function that takes none."""
        takes = self._methods[member["referencedMemberDecl"]]
        base = next(children(member), {})
        is_converted = base.get("castKind") == "AddressSpaceConversion"
        # The object that a member function has is in the address space of its mark.
        if "thread" not in takes and not is_converted and not _is_this(base):
            message = f"'{member['name']}' takes no object in thread memory"
            self._report(message, [*path, member])

    def _report(self, message: str, path: list[Node]) -> None:
        """Record a message at the line of the innermost node that has one."""
        offsets = (offset_of(node) for node in reversed(path))
        line = next((self._lines.line(at) for at in offsets if at is not None), 0)
        self.found.add((line, message))

    def _is_of_object(self, cast: Node, path: list[Node], space: str) -> bool:
        """Return whether a conversion is to an object argument or of a copy's source."""
        parent = path[-1]
        kind = parent.get("kind")
        if kind in {"CXXConstructExpr", "CXXTemporaryObjectExpr"}:
            special = SPECIAL.match(parent.get("ctorType", {}).get("qualType", ""))
            return special is not None and special["type"] == _type_name(cast)
        if kind == "MemberExpr" and "referencedMemberDecl" in parent:
            return self._takes(parent["referencedMemberDecl"], space)
        if kind == "CXXOperatorCallExpr":
            return self._is_of_operator(cast, parent, space)
        return False

    def _is_of_operator(self, cast: Node, call: Node, space: str) -> bool:
        """Return whether a conversion is of an operator's object, or of what it assigns."""
        function, first, *_ = children(call)
        reference = next(children(function), function).get("referencedDecl", {})
        if reference.get("kind") not in METHODS:
            return False
        is_assignment = reference.get("name") == "operator="
        return (first is cast or is_assignment) and self._takes(reference["id"], space)

    def _takes(self, method: str, space: str) -> bool:
        """Return whether a member function takes objects in an address space."""
        return method not in self._methods or space in self._methods[method]


def _is_this(node: Node) -> bool:
    """Return whether an expression is ``this``, with or without a conversion."""
    inner = next(children(node), node)
    return "CXXThisExpr" in {node.get("kind"), inner.get("kind")}


def _type_name(node: Node) -> str:
    """Return the name of a node's type without its qualifiers."""
    return node["type"]["qualType"].removeprefix("const ")

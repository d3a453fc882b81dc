"""What is known of a name before a loop: lower bounds of numbers, memory of arrays."""

from __future__ import annotations

import ast

from .syntax import Facts, assigned, dotted_name, is_stored

_NEW = {  # functions whose result shares no memory with other arrays
    *("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like"),
    *("full_like", "arange", "linspace", "logspace", "array", "copy", "eye"),
    *("random.rand", "random.randn", "random.random", "random.uniform"),
    *("random.normal", "random.randint", "random.standard_normal"),
}


def called(node: ast.AST | None) -> str:
    """Return the name that a call calls, or ""."""
    is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if is_named else ""  # type: ignore[union-attr]


def integer(node: ast.AST | None) -> int | None:
    """Return the value of an integer literal, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = integer(node.operand)
        return None if number is None else -number
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


class Bindings:
    """
    The values that names have where a loop begins.

    Parameters
    ----------
    facts : Facts
        The counts of the file.
    loop : ast.AST
        The loop, or the comprehension.
    """

    def __init__(self, facts: Facts, loop: ast.AST) -> None:
        self._facts = facts
        self._source = facts.source
        self._outermost = loop

    def least(self, node: ast.AST | None, depth: int = 0) -> int | None:
        """Return a lower bound of a number, or None if none is known."""
        if isinstance(node, ast.Name) and depth < 4:
            return self.least(self._value(node.id), depth + 1)
        is_length = (
            called(node) == "len"
            or (isinstance(node, ast.Attribute) and node.attr == "size")
            or (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Attribute)
                and node.value.attr == "shape"
            )
        )
        return 0 if is_length else integer(node)

    def is_text(self, node: ast.AST | None) -> bool:
        """Check whether an expression is known to be a text or bytes."""
        value = self._value(node.id) if isinstance(node, ast.Name) else node
        return isinstance(value, ast.JoinedStr) or (
            isinstance(value, ast.Constant) and isinstance(value.value, (str, bytes))
        )

    def _value(self, name: str) -> ast.AST | None:
        """Return the expression that a name is bound to, or None if it is unknown."""
        scope = self._source.scope(self._outermost)
        for place in (scope, self._source.tree):
            stores = [use for use in self._source.names(place, name) if is_stored(use)]
            arguments = getattr(place, "args", None)
            if isinstance(arguments, ast.arguments) and any(
                isinstance(part, ast.arg) and part.arg == name
                for part in ast.walk(arguments)
            ):
                return None
            if not stores:
                continue
            if len(stores) > 1 or self._source.is_shared(name, scope) * (
                place is scope and scope is not self._source.tree
            ):
                return None
            above = self._source.parent(stores[0])
            if isinstance(above, ast.Assign):
                return above.value
            if isinstance(above, ast.Tuple):
                outer = self._source.parent(above)
                if isinstance(outer, ast.Assign):
                    value = outer.value
                    if isinstance(value, ast.Attribute) and value.attr == "shape":
                        return ast.Subscript(value, ast.Constant(0), ast.Load())
                    if isinstance(value, ast.Tuple):
                        return value.elts[above.elts.index(stores[0])]
            return None
        return None

    def is_new(self, name: str) -> bool:
        """Check whether an array certainly shares its memory with no other array."""
        scope = self._source.scope(self._outermost)
        statement = self._source.statement(self._outermost)
        block = self._source.block(statement)
        if "." in name or (scope is self._source.tree and self._is_in_function(name)):
            return False
        at = block.index(statement) if statement in block else 0
        for number in range(at - 1, -1, -1):
            earlier = block[number]
            if isinstance(earlier, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name
                for target in earlier.targets
            ):
                is_only = len(earlier.targets) == 1 and self._makes_new(earlier.value)
                between = block[number + 1 : at]
                return is_only and not any(self._escapes(one, name) for one in between)
            if name in assigned([earlier]):
                return False
        return False

    def is_empty_list(self, name: str) -> bool:
        """Check whether a name is bound to an empty list just before the loop."""
        statement = self._source.statement(self._outermost)
        block = self._source.block(statement)
        for earlier in reversed(block[: block.index(statement)]):
            if self._source.names(earlier, name):
                return (
                    isinstance(earlier, ast.Assign)
                    and [dotted_name(target) for target in earlier.targets] == [name]
                    and ast.dump(earlier.value) == ast.dump(ast.List([], ast.Load()))
                )
        return False

    def is_taken_as_array(self, name: str) -> bool:
        """Check whether a list of the loop is only passed to functions of NumPy."""
        scope = self._source.scope(self._outermost)
        if not self.is_empty_list(name) or self._source.is_shared(name, scope):
            return False
        inside = {*self._source.names(self._outermost, name)}
        uses = self._source.names(self._next_value(name) or scope, name)
        return all(
            use in inside or is_stored(use) or self._is_argument(use) for use in uses
        )

    def _next_value(self, name: str) -> ast.Assign | None:
        """Return the assignment to a name that certainly follows, or None."""
        statement = self._source.statement(self._outermost)
        block = self._source.block(statement)
        for later in block[block.index(statement) + 1 :]:
            if not isinstance(later, (ast.Assign, ast.AugAssign, ast.Expr)):
                break
            if self._source.names(later, name):
                is_bound = isinstance(later, ast.Assign) and name in assigned([later])
                return later if is_bound else None  # type: ignore[return-value]
        return None

    def _is_argument(self, use: ast.Name) -> bool:
        above = self._source.parent(use)
        if called(above) == "len":
            return True
        is_first = isinstance(above, ast.Call) and use in above.args[:1]
        function = self._source.function(above.func) if is_first else ""  # type: ignore[union-attr]
        return bool(function) and not function.startswith("random.")

    def _is_in_function(self, name: str) -> bool:
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
        return any(
            self._source.names(node, name)
            for node in ast.walk(self._source.tree)
            if isinstance(node, functions)
        )

    def _makes_new(self, value: ast.expr) -> bool:
        if isinstance(value, ast.BinOp):
            return True
        if not isinstance(value, ast.Call):
            return False
        is_copy = isinstance(value.func, ast.Attribute) and value.func.attr == "copy"
        if any(keyword.arg == "copy" for keyword in value.keywords):
            return False
        return self._source.function(value.func) in _NEW or (
            is_copy and not value.args and not value.keywords
        )

    def _escapes(self, statement: ast.stmt, name: str) -> bool:
        """Check whether a statement may create another reference to an array."""
        for use in self._source.names(statement, name):
            above = self._source.parent(use)
            if is_stored(use):
                return True
            is_member = isinstance(above, ast.Attribute) and above.attr in (
                *("shape", "size", "ndim", "dtype", "sum", "max", "min", "copy"),
            )
            is_read = called(above) in ("len", "sum", "print")
            is_item = isinstance(above, ast.Subscript) and (
                is_stored(above) or bool(self._facts.elements(above, "getitem"))
            )
            is_term = isinstance(above, (ast.BinOp, ast.Compare))
            if not (is_member or is_read or is_item or is_term):
                return True
        return False

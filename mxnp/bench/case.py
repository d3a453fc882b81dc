"""A case: one computation at one size, and the comparison of its results."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy

# By the name of the parameter: NumPy arrays, and in some cases scalars or lists.
Inputs = dict[str, Any]

# The largest relative difference from NumPy's result, by dtype. Other packages sum in
# another order and have other sines, and NumPy's own error is of this size too.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


@dataclass(frozen=True)
class Case:
    """
    One computation at one size.

    Parameters
    ----------
    suite, name : str
        The suite, and the name of the case in tables.
    dtype : str
        The name of the dtype of the computation.
    size : int
        The number of elements of the largest arrays.
    function : callable
        ``function(np, **inputs)`` takes a namespace like NumPy's. It returns an array
        or a scalar, or a tuple of them.
    inputs : callable
        A function that returns the inputs: NumPy arrays by the name of the parameter,
        always the same.
    layout : str, optional
        A word for the shape of the arrays.
    operations : int, optional
        The number of array operations, or 0 if it is not fixed.
    kind : str, optional
        The kind of the operations, by which summaries are grouped.
    peers : tuple of str, optional
        The peers that run the case, besides NumPy and mxnp.
    numexpr : str, optional
        The computation in numexpr's language, with the same names.
    target : str, optional
        The input that a computation in place writes to.
    pure : callable, optional
        The same computation for arrays that cannot be written to.
    statement : str, optional
        Python source to time in place of a call of `function`.
    tolerance : float, optional
        The largest difference from NumPy's result, relative to the largest element. By
        default it is `TOLERANCE` of the dtype. Integers and bools must be equal.
    """

    suite: str
    name: str
    dtype: str
    size: int
    function: Callable[..., Any]
    inputs: Callable[[], Inputs] = field(default=dict)
    layout: str = ""
    operations: int = 0
    kind: str = ""
    peers: tuple[str, ...] = ()
    numexpr: str = ""
    target: str = ""
    pure: Callable[..., Any] | None = None
    statement: str = ""
    tolerance: float | None = None

    @property
    def label(self) -> str:
        """The name of the case in tables, without its size."""
        return " ".join(filter(None, [self.name, self.layout, self.dtype]))

    @property
    def relative(self) -> float:
        """The tolerance of the case."""
        if self.tolerance is not None:
            return self.tolerance
        return TOLERANCE.get(self.dtype, TOLERANCE["float64"])


def of_statement(statement: str, names: tuple[str, ...]) -> Callable[..., Any]:
    """
    Return the function of a case for one statement.

    Parameters
    ----------
    statement : str
        An expression, whose value the function returns, or an assignment, whose target
        the function returns.
    names : tuple of str
        The parameters, after the namespace ``np``.

    Returns
    -------
    callable
        The function.
    """
    if is_expression(statement):
        lines = [f"return {statement}"]
    else:
        (node,) = ast.parse(statement).body
        assigned = node.targets[0] if isinstance(node, ast.Assign) else node
        assert isinstance(assigned, ast.AugAssign | ast.Subscript)
        name = (
            assigned.target if isinstance(assigned, ast.AugAssign) else assigned.value
        )
        lines = [statement, f"return {ast.unparse(name)}"]
    return define("function", ["np", *names], lines, {})


def is_expression(statement: str) -> bool:
    """Check whether a statement is an expression."""
    return isinstance(ast.parse(statement).body[0], ast.Expr)


def define(
    name: str, parameters: list[str], lines: list[str], names: dict[str, Any]
) -> Callable[..., Any]:
    """Define a function by its lines and its global names."""
    text = f"def {name}({', '.join(parameters)}):\n    " + "\n    ".join(lines)
    space = dict(names)
    exec(compile(text, f"<{name}>", "exec"), space)
    function: Callable[..., Any] = space[name]
    return function


def uniform(
    names: str, shape: int | tuple[int, ...], dtype: str, low: float, high: float
) -> Callable[[], Inputs]:
    """Return a function that makes uniform random inputs for each name."""

    def make() -> Inputs:
        rng = numpy.random.default_rng(1)
        return {name: _random(rng, shape, dtype, low, high) for name in names.split()}

    return make


def _random(
    rng: numpy.random.Generator,
    shape: int | tuple[int, ...],
    dtype: str,
    low: float,
    high: float,
) -> Any:
    if dtype == "bool":
        return rng.random(shape, dtype="float32") < (low + high) / 2
    if dtype.startswith("int"):
        return rng.integers(int(low), int(high), shape, dtype=dtype)
    random = rng.random(shape, dtype=dtype)  # type: ignore[call-overload]
    random *= high - low
    random += low
    return random


def difference(result: Any, expected: Any, relative: float, exact_type: bool) -> str:
    """
    Compare a result with NumPy's.

    Parameters
    ----------
    result, expected : ndarray, scalar, or tuple or list of them
        The result of the peer, already as NumPy arrays, and the result of NumPy.
    relative : float
        The largest difference, relative to the largest expected element.
    exact_type : bool
        Whether the dtypes must be equal too.

    Returns
    -------
    str
        One sentence about the difference, empty if there is none.
    """
    ours, theirs = list(_parts(result)), list(_parts(expected))
    if len(ours) != len(theirs):
        return f"returns {len(ours)} results, NumPy {len(theirs)}"
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        where = f"result {number} " if len(ours) > 1 else ""
        if one.shape != other.shape:
            return f"{where}has shape {one.shape}, NumPy's {other.shape}"
        if exact_type and one.dtype != other.dtype:
            return f"{where}has dtype {one.dtype}, NumPy's {other.dtype}"
        if other.dtype.kind not in "fc":
            if not numpy.array_equal(one, other):
                count = numpy.count_nonzero(one != other)
                return f"{where}differs from NumPy's in {count} of {one.size} elements"
            continue
        finite = numpy.abs(other[numpy.isfinite(other)])
        largest = float(finite.max()) if finite.size else 0.0
        close = numpy.isclose(one, other, relative, relative * largest, equal_nan=True)
        if not close.all():
            with numpy.errstate(all="ignore"):
                worst = numpy.nanmax(numpy.abs(one - other))
            return (
                f"{where}differs from NumPy's by up to {worst:.3g}, in "
                f"{numpy.count_nonzero(~close)} of {one.size} elements; "
                f"the largest element is {largest:.3g}"
            )
    return ""


def _parts(result: Any) -> Iterator[Any]:
    if isinstance(result, tuple | list):
        for part in result:
            yield from _parts(part)
    else:
        yield numpy.asarray(result)

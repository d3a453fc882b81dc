"""Overhead: the cost of one operation on a small array.

The statements are timed in a loop, without a function call around them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy

from mxnp.bench.case import Case, Inputs, of_statement

SIZES = (1, 10, 60, 100, 1000, 4096)
QUICK_SIZES = (1, 100)

# Statements by the kind of operation. Their names stand for these objects:
#   a b c   vectors; c is written to
#   f g     vectors of float32
#   k l     vectors of int64
#   m       a mask, true for about half of the elements
#   i       the indices of all elements, in random order
#   p q r   square matrices with about as many elements; r is written to
#   v       a vector as long as a row of a matrix
#   s       a NumPy scalar
#   n       the number of elements
#   values  a list of at most 10 floats
STATEMENTS = {
    "binary": (
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "p * q",
        "p + v",
        "a ** 2",
        "a ** 0.5",
        "m & m",
    ),
    "scalar": (
        "a + 1",
        "a * 2.0",
        "1.0 + a",
        "1.0 - a",
        "a / 3.0",
        "s * a",
        "a * s",
    ),
    "comparison": ("a < b", "a == b", "a > 1.0"),
    "unary": ("-a", "abs(a)", "~m"),
    "in place": (
        "c += b",
        "c -= 1.0",
        "c *= 1.0",
        "c[1:] += b[1:]",
        "r[0] -= v",
        "r[:, 0] *= 1.0",
    ),
    "ufunc": (
        "np.add(a, b)",
        "np.sqrt(a)",
        "np.exp(a)",
        "np.isnan(a)",
        "np.maximum(a, b)",
        "np.maximum(a, 1.0)",
        "np.add(a, b, out=c)",
        "np.multiply(a, 2.0, out=c)",
        "np.sqrt(a, out=c)",
    ),
    "reduction": (
        "a.sum()",
        "np.sum(a)",
        "a.mean()",
        "a.max()",
        "np.max(a)",
        "a.min()",
        "a.std()",
        "a.argmax()",
        "m.any()",
        "np.all(m)",
        "p.sum(axis=0)",
        "p.max(axis=1)",
    ),
    "product": (
        "a.dot(b)",
        "a @ b",
        "a[::2] @ b[::2]",
        "p[:, 0] @ v",
        "p @ v",
        "np.dot(p, q)",
        "p @ q",
        "p.T @ q",
    ),
    "element": ("a[0]", "a[-1]", "p[0, -1]", "float(a[0])"),
    "view": (
        "a[1:-1]",
        "a[::2]",
        "a[...]",
        "a[:, None]",
        "p[0]",
        "p[:, 0]",
        "p[0, 1:]",
        "p.T",
        "a.reshape(1, -1)",
        "p.ravel()",
    ),
    "index array": ("a[i]", "a[m]", "c[i] = a", "c[m] = 0.0"),
    "assignment": (
        "c[0] = 1.0",
        "r[0, -1] = 1.0",
        "c[:] = 0.0",
        "c[:] = a",
        "c[...] = a",
        "c[1:] = a[1:]",
        "r[0] = v",
        "r[:, 0] = v",
    ),
    "iteration": ("[x for x in a]", "[row for row in p]"),
    "attribute": ("len(a)", "a.shape", "a.size"),
    "copy": ("a.copy()", "a.astype('float32')", "np.asarray(a)"),
    "creation": (
        "np.zeros(n)",
        "np.empty(n).shape",
        "np.ones(n)",
        "np.full(n, 2.0)",
        "np.arange(n)",
        "np.array(values)",
        "np.zeros_like(a)",
    ),
    "function": (
        "np.where(m, a, b)",
        "np.clip(a, 0.8, 1.2)",
        "np.concatenate((a, b))",
        "np.stack((a, b))",
        "np.cumsum(a)",
    ),
}
WRITTEN = ("c", "r")


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return every statement at every size, in float64."""
    return of_statements("overhead", STATEMENTS, sizes, "float64")


def of_statements(
    suite: str,
    statements: Mapping[str, Sequence[str]],
    sizes: Sequence[int],
    dtype: str,
) -> list[Case]:
    """
    Return a case for each statement and size.

    Parameters
    ----------
    suite : str
        The name of the suite.
    statements : mapping of str to sequence of str
        The statements by their kind. The names in them stand for the objects above.
    sizes : sequence of int
        The numbers of elements.
    dtype : str
        The dtype in the names of the cases; "" if they have several.

    Returns
    -------
    list of Case
        The cases.
    """
    return [
        _case(suite, statement, kind, size, dtype)
        for kind, chosen in statements.items()
        for statement in chosen
        for size in sizes
    ]


def _case(suite: str, statement: str, kind: str, size: int, dtype: str) -> Case:
    used = tuple(name for name in _inputs(1) if re.search(rf"\b{name}\b", statement))
    return Case(
        suite,
        statement,
        dtype,
        size,
        of_statement(statement, used),
        _inputs_of(used, size),
        operations=1,
        kind=kind,
        target="".join(name for name in WRITTEN if name in used),
        statement=statement,
    )


def _inputs_of(used: Sequence[str], size: int) -> Callable[[], Inputs]:
    """Return a function that makes the inputs that a statement uses."""
    return lambda: {name: _inputs(size)[name] for name in used}


def _inputs(size: int) -> Inputs:
    """Make all objects that the statements name."""
    rng = numpy.random.default_rng(1)
    side = max(1, round(math.sqrt(size)))
    a, b, c = rng.random((3, size)) + 0.5
    p, q, r = rng.random((3, side, side)) + 0.5
    return {
        "a": a,
        "b": b,
        "c": c,
        "f": a.astype("float32"),
        "g": b.astype("float32"),
        "k": rng.integers(-9, 9, size),
        "l": rng.integers(-9, 9, size),
        "m": a < b,
        "i": rng.permutation(size),
        "p": p,
        "q": q,
        "r": r,
        "v": p[0].copy(),
        "s": a[0],
        "n": size,
        "values": a[:10].tolist(),
    }

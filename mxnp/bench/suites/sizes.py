"""Sizes: common statements at all powers of two up to 2**17.

They show from which size on operations should be recorded: no size may be slower than
NumPy. The statements are timed in a loop, without a function call around them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mxnp.bench.case import Case

from .overhead import of_statements

SIZES = tuple(2**power for power in range(18))
QUICK_SIZES = (1, 1024, 16384)

# The names stand for the objects that are listed in `overhead`.
STATEMENTS = {
    "binary": ("a + b", "a / b", "f + g", "k + l", "m & m", "p + v"),
    "scalar": ("a * 2.0", "k * 2", "a ** 2"),
    "comparison": ("a < b", "a > 1.0"),
    "unary": ("-a", "np.sqrt(a)", "np.exp(a)", "np.sin(a)", "np.maximum(a, 1.0)"),
    "in place": ("c += b", "c *= 1.0", "np.add(a, b, out=c)"),
    "chain": ("a[1:] + a[:-1]", "(a + b) * a - b", "np.sqrt(a * a + b * b)"),
    "reduction": (
        "a.sum()",
        "a.max()",
        "a.mean()",
        "a.std()",
        "a.argmax()",
        "m.any()",
        "p.sum(axis=0)",
        "p.sum(axis=1)",
        "np.cumsum(a)",
        "a @ b",
    ),
    "cast": (
        "a.astype('float32')",
        "f.astype('float64')",
        "k.astype('float64')",
        "a.astype('int64')",
        "m.astype('float64')",
    ),
    "index array": ("a[i]", "a[m]", "c[i] = a", "c[m] = 0.0"),
    "function": (
        "np.where(m, a, b)",
        "np.clip(a, 0.8, 1.2)",
        "np.concatenate((a, b))",
        "np.zeros(n)",
        "a.copy()",
        "c[:] = a",
    ),
}


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return every statement at every size."""
    return of_statements("sizes", STATEMENTS, sizes, "")

"""Calls that are not run, or that differ, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .table import Call


@dataclass(frozen=True)
class Known:
    """
    A kind of calls, and one of them as an example.

    Attributes
    ----------
    pattern : str
        A regular expression that matches these calls.
    example : str
        A call. With NumPy it crashes or does not return, or mxnp's result differs.
    """

    pattern: str
    reason: str
    example: str
    size: str = "small"

    def has(self, call: Call) -> bool:
        return re.search(self.pattern, call.text) is not None


# NumPy reads or writes memory of others, or does not return.
NOT_RUN = [
    Known(
        r"(accumulate|cum\w+)\(.*out=\(?(np\.zeros\(\(\), |np\.array\(|f0|i0|.*'U)",
        "NumPy writes a running result beyond an array without axes",
        "np.cumsum(f1, out=f0)",
        "large",
    ),
    Known(
        r"(dstack|column_stack|[hv]?stack|concatenate)\(np\.(matrix|ma\.array)",
        "NumPy dispatches to more arrays than it has room for",
        "np.dstack(np.matrix(f2.T))",
        "large",
    ),
    Known(
        r"(diag|diagonal|trace)\(.*-?2 ?\*\* ?(31|32|63|70)",
        "NumPy's offset of a diagonal overflows",
        "f2.diagonal(offset=-2**31).tolist()",
        "large",
    ),
    Known(
        r"\b(all|any|reduce)\(.*out=.*(None\)|None\]|object|, '\|?O'|o[0-3])",
        "NumPy releases the objects of `out` twice",
        "b1.all(out=np.array(None))",
        "large",
    ),
    Known(
        r"random\.default_rng\(.*out=",
        "NumPy takes any `out` of a draw for an array",
        "np.random.default_rng(1).random(out=(None,))",
    ),
    Known(
        r"(power|norm\(.*object|shift|pow__).*(2 ?\*\* ?(31|32|63|64|70)|o[12])",
        "numbers of Python may have millions of digits",
        "np.power(i1, [2**70])",
    ),
    Known(
        r"(put|take|choose)\(.*(nan|inf|2 ?\*\* ?).*wrap",
        "NumPy subtracts the length from an index until it is in bounds",
        "np.put(f1, np.float64(np.nan), f3, mode='wrap')",
    ),
    Known(
        r"(val|val2d|vander|tri\w?|tensordot|power|dot|pad|tile|resize|permutation)\(.*2 ?\*\* ?(31|32|6|7)",
        "NumPy needs memory for as many elements, or computes them",
        "np.tri(2**31)",
    ),
    Known(
        r"polynomial\.\w+\.\w+\(.*o[12]",
        "NumPy computes with objects, for long",
        "np.polynomial.laguerre.lagval(f1, o2)",
        "large",
    ),
    Known(
        r"\b(choice|kron|vander)\(.*\bo[12]\b",
        "millions of objects take long to compute and to compare",
        "np.random.default_rng(1).choice([i1, o1], S)",
        "large",
    ),
    Known(
        r"np\.diff\(([^,]+, |.*n=)2 ?\*\* ?(31|32|6|7)",
        "NumPy computes each of the differences",
        "np.diff(f1, n=2**64)",
    ),
]

# NumPy does not write all elements of a subarray dtype in Fortran order.
_UNDEFINED = re.compile(r"asfortranarray\(.*\(int, 2\)|\(int, 2\).*order='F'")

DIFFERENT = [
    Known(
        r"\b(arg)?sort\(.*descending=",
        "a parameter of the standard, which NumPy has from 2.5 on and takes odd values for",
        "np.sort(f1, descending=[1])",
    ),
    Known(
        r"searchsorted",
        "positions in an array that is not sorted depend on the order of the search",
        "f1.searchsorted(s1)",
        "large",
    ),
    Known(
        r"np\.signbit\(.*out=.*(\.T|\[)",
        "NumPy writes wrong elements of an `out` with steps",
        "np.signbit(f1, out=np.zeros((4000, 2), '?')[..., 0])",
        "large",
    ),
    Known(
        r"triangular\(.*np\.mean",
        "NumPy's message names the class of the function",
        "np.random.default_rng(1).triangular(1, np.mean, 4)",
    ),
    Known(
        r"np\.clip\(",
        "the Array API standard adds calls with one bound",
        "np.clip(f1, 0)",
    ),
    Known(
        r"np\.(maximum|minimum)\.at\(",
        "NumPy warns of NaN in its loop for index arrays only",
        "np.maximum.at(n1, q1, p1)",
        "large",
    ),
    Known(
        r"\.__\w+__\(.*(matrix|np\.ma|Sub)",
        "the method does not know whether an operator calls it, which asks subclasses first",
        "f1.__eq__(np.matrix(f2))",
    ),
]


def runs(call: Call) -> bool:
    is_defined = not _UNDEFINED.search(call.text)
    return is_defined and not any(known.has(call) for known in NOT_RUN)


def differs(call: Call) -> bool:
    return any(known.has(call) for known in DIFFERENT)

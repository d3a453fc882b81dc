"""How far results may be from NumPy's, for verifying, for the tests and for the docs.

On the processor results are NumPy's bits, but for what is listed here and for the order
of additions. Metal flushes subnormal numbers to zero, has functions of its own
precision, and adds up in another order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

__all__ = [
    "CANCELLING",
    "COMPLEX",
    "METAL",
    "OTHERS",
    "PROCESSOR",
    "SUM_STEPS",
    "near",
]

# ulp by which our own loops may differ from NumPy's: 0.668 and 0.51 ulp from the exact.
PROCESSOR = {("sin", "float64"): 1, ("cos", "float64"): 1}

# ulp of float32, for functions of a Metal device that are not exact: what the Metal
# Shading Language Specification has (table 8.2, precise), and 2 for NumPy's own error.
METAL = {
    "arccos": 6, "arccosh": 6, "arcsin": 6, "arcsinh": 6, "arctan": 7, "arctan2": 8,
    "arctanh": 7, "cbrt": 4, "cos": 6, "cosh": 6, "deg2rad": 2, "degrees": 2, "exp": 6,
    "exp2": 6, "expm1": 8, "hypot": 2, "log": 6, "log10": 6, "log1p": 8, "log2": 6,
    "power": 18, "rad2deg": 2, "radians": 2, "sin": 6, "sinh": 8, "tan": 8, "tanh": 7,
    "floor_divide": 0, "spacing": 0,
}  # fmt: skip

# Of these, what is near zero where two large terms cancel is bounded by eps times the
# terms.
CANCELLING = {"logaddexp": 4, "logaddexp2": 4}
CANCELLED = 200  # eps

# Bounds of complex functions on a device are of the length of the number: eps times
# this.
COMPLEX = 32

# eps, for functions on a device that are made of several operations.
OTHERS = 64

# A sum of n numbers is within (log2 n + this) eps of the sum of their sizes, or as near
# to the exact one as NumPy's: on the processor 64 partial sums are added one after the
# other, on a device a thread adds up to 256.
SUM_STEPS = {"cpu": 64, "metal": 300}

# Characters of the dtypes that a device computes with. bfloat16, which has none of its
# own in NumPy, is computed in float32: that is off by one number of it at most.
INEXACT = "efF"


class _Limits(NamedTuple):
    eps: float
    tiny: float


BFLOAT16 = _Limits(2.0**-7, 2.0**-126)


def near(ours: Any, numpys: Any) -> Any:
    """Tell of each number whether a device's is near enough to NumPy's."""
    ours, numpys = numpy.asarray(ours), numpy.asarray(numpys)
    if numpys.dtype.name == "bfloat16" and ours.shape == numpys.shape:
        with numpy.errstate(all="ignore"):
            ours, numpys = ours.astype("f8"), numpys.astype("f8")
            return _near(ours, numpys, BFLOAT16, numpy.abs(numpys), 1)
    if numpys.dtype.char not in INEXACT or ours.shape != numpys.shape:
        return numpy.zeros(numpys.shape, bool)
    limits = numpy.finfo(numpys.dtype)
    with numpy.errstate(all="ignore"):
        if numpys.dtype.kind == "c":  # a part is as exact as the whole number is long
            parts = numpy.abs(numpys.real), numpy.abs(numpys.imag)
            length = numpy.maximum(*(numpy.nan_to_num(p, posinf=0) for p in parts))
            return _near(ours.real, numpys.real, limits, length) & _near(
                ours.imag, numpys.imag, limits, length
            )
        return _near(ours, numpys, limits, numpy.abs(numpys))


def _near(
    ours: Any, numpys: Any, limits: Any, length: Any, steps: float = OTHERS
) -> Any:
    finite = length[length < 2.0]
    least = max(limits.tiny, finite.max(initial=0) * 4 * limits.eps)
    apart = numpy.abs(ours.astype("f8") - numpys.astype("f8"))
    return (
        (ours == numpys)
        | (numpy.isnan(ours) & numpy.isnan(numpys))
        | (apart <= steps * limits.eps * length.astype("f8") + least)
    )

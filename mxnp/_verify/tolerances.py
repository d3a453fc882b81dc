"""Bounds on differences from NumPy, for `verify`, the tests and the documentation.

On the processor, results are NumPy's to the last bit, except for the functions listed
here and for the order of additions. Metal flushes subnormal numbers to zero, its
functions have other precisions, and sums add in another order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from mxnp._engine import core

__all__ = [
    "CANCELLING",
    "COMPLEX",
    "GPU",
    "LINEAR",
    "OTHERS",
    "PROCESSOR",
    "SUM_STEPS",
    "near",
]

# In ulp: the bounds of mxnp's own loops, whose errors are at most 0.668 and 0.51 ulp.
PROCESSOR = {("sin", "float64"): 1, ("cos", "float64"): 1}

# In ulp of float32: the bounds of functions of a Metal device that are not exact. They
# are those of the Metal Shading Language Specification (table 8.2, precise), plus 2 for
# NumPy's own error.
GPU = {
    "arccos": 6, "arccosh": 6, "arcsin": 6, "arcsinh": 6, "arctan": 7, "arctan2": 8,
    "arctanh": 7, "cbrt": 4, "cos": 6, "cosh": 6, "deg2rad": 2, "degrees": 2, "exp": 6,
    "exp2": 6, "expm1": 8, "hypot": 2, "log": 6, "log10": 6, "log1p": 8, "log2": 6,
    "power": 18, "rad2deg": 2, "radians": 2, "sin": 6, "sinh": 8, "tan": 8, "tanh": 7,
    "float_power": 18, "floor_divide": 0, "spacing": 0,
}  # fmt: skip

# In ulp too. Near zero, where two large terms cancel, the bound of these functions is
# CANCELLED times eps.
CANCELLING = {"logaddexp": 4, "logaddexp2": 4}
CANCELLED = 200

# The bound of complex functions on a device, in eps times the absolute value.
COMPLEX = 32

# The bound of functions on a device that consist of several operations, in eps.
OTHERS = 64

# Fourier transforms on a device, and their bound in eps times the element and the root
# mean square of the result, because all elements of the input contribute.
TRANSFORMS = {
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    *("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"),
}
TRANSFORM = 32

# Functions of matrices on a device. Their errors depend on the condition of the matrix,
# and vectors may have other signs than NumPy's, so their values are not compared.
LINEAR = {
    *("cholesky", "cond", "det", "eigh", "eigvalsh", "inv", "lstsq", "matrix_power"),
    *("matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals"),
}

# A sum of n numbers is within (log2 n + this) eps times the sum of their absolute
# values, or it is as near to the exact sum as NumPy's. The processor adds 64 partial
# sums one after the other, and a thread of a device adds up to 256.
SUM_STEPS = {"cpu": 64, "gpu": 300}

# The characters of the inexact dtypes of a device. bfloat16 has no character in NumPy.
# It is computed in float32, so its error is one unit in the last place at most.
INEXACT = "efFdD" if "float64" in core.gpu().types else "efF"


class _Limits(NamedTuple):
    eps: float
    tiny: float


BFLOAT16 = _Limits(2.0**-7, 2.0**-126)


def near(ours: Any, numpys: Any) -> Any:
    """Return a mask of the numbers of a device that are near enough to NumPy's."""
    ours, numpys = numpy.asarray(ours), numpy.asarray(numpys)
    if numpys.dtype.name == "bfloat16" and ours.shape == numpys.shape:
        with numpy.errstate(all="ignore"):
            ours, numpys = ours.astype("f8"), numpys.astype("f8")
            return _near(ours, numpys, BFLOAT16, numpy.abs(numpys), 1)
    if numpys.dtype.char not in INEXACT or ours.shape != numpys.shape:
        return numpy.zeros(numpys.shape, bool)
    limits = numpy.finfo(numpys.dtype)
    with numpy.errstate(all="ignore"):
        if numpys.dtype.kind == "c":  # the bound of each part depends on the larger one
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

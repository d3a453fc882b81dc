"""How far results on a Metal device may be from NumPy's.

Metal flushes subnormal numbers to zero, has functions of its own precision, and adds up in
another order. So the tests of this folder, when they run there, compare floats of 32 bits
and less within these bounds, and everything else to the last bit; test_metal_operations.py
says for each operation what it keeps to.
"""

from __future__ import annotations

import os
from typing import Any

import numpy

METAL = os.environ.get("MXNP_DEVICE") == "metal"

INEXACT = "efF"  # characters of the dtypes that a device computes with


def near(ours: numpy.ndarray, numpys: numpy.ndarray) -> numpy.ndarray:
    """Tell of each number whether it is near enough to NumPy's, if it came from Metal."""
    ours, numpys = numpy.asarray(ours), numpy.asarray(numpys)
    if not METAL or numpys.dtype.char not in INEXACT or ours.shape != numpys.shape:
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
    ours: numpy.ndarray, numpys: numpy.ndarray, limits: Any, length: numpy.ndarray
) -> numpy.ndarray:
    finite = length[length < 2.0]
    least = max(limits.tiny, finite.max(initial=0) * 4 * limits.eps)
    apart = numpy.abs(ours.astype("f8") - numpys.astype("f8"))
    return (
        (ours == numpys)
        | (numpy.isnan(ours) & numpy.isnan(numpys))
        | (apart <= 64 * limits.eps * length.astype("f8") + least)
    )

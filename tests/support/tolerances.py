"""
Bounds for differences of results on a Metal device: see mxnp/_verify/tolerances.py.

When tests run on a Metal device, they compare floats of 32 bits and less within these
bounds, and everything else to the last bit. metal/test_operations.py lists the accuracy
of each operation.
"""

from __future__ import annotations

from typing import Any

import numpy
from support.lanes import ON_GPU

from mxnp._engine import core
from mxnp._verify import tolerances

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# The rows of dtypes.def for NumPy's dtypes. ml_dtypes provides bfloat16.
NUMPYS = [row for row in core.dtypes() if row.name != "bfloat16"]


def has_dtype(name: str) -> bool:
    """Return whether a dtype of dtypes.def is available: bfloat16 needs ml_dtypes."""
    return name != "bfloat16" or ml_dtypes is not None


def finfo(dtype: Any) -> Any:
    """Return the limits of a floating-point dtype, including bfloat16."""
    is_numpys = numpy.dtype(dtype).kind in "fc"
    return numpy.finfo(dtype) if is_numpys else ml_dtypes.finfo(dtype)


def near(ours: numpy.ndarray, numpys: numpy.ndarray) -> numpy.ndarray:
    """Return for each number of a Metal device whether it is within its bound."""
    if not ON_GPU:
        return numpy.zeros(numpy.shape(numpys), bool)
    return tolerances.near(ours, numpys)

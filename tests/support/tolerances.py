"""How far results on a Metal device may be from NumPy's: see mxnp/_verify/tolerances.py.

The tests of this folder, when they run there, compare floats of 32 bits and less within
these bounds, and everything else to the last bit; metal/test_operations.py says for each
operation what it keeps to.
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

# The rows of dtypes.def that are NumPy's own: bfloat16 is that of ml_dtypes.
NUMPYS = [row for row in core.dtypes() if row.name != "bfloat16"]


def has_dtype(name: str) -> bool:
    """Tell whether the dtype of a row of dtypes.def can be had here: bfloat16 need not."""
    return name != "bfloat16" or ml_dtypes is not None


def finfo(dtype: Any) -> Any:
    """Give the limits of floats, also of bfloat16, as numpy.finfo does."""
    is_numpys = numpy.dtype(dtype).kind in "fc"
    return numpy.finfo(dtype) if is_numpys else ml_dtypes.finfo(dtype)


def near(ours: numpy.ndarray, numpys: numpy.ndarray) -> numpy.ndarray:
    """Tell of each number whether it is near enough to NumPy's, if it came from Metal."""
    if not ON_GPU:
        return numpy.zeros(numpy.shape(numpys), bool)
    return tolerances.near(ours, numpys)

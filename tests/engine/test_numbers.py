"""Test numbers of Python beside arrays: in the range of the dtype, at its ends and beyond.

NumPy's result, its exception or its warnings are expected, for small arrays and for those
that are recorded, and for both orders of the operands.
"""

from __future__ import annotations

import math
import types
import warnings
from typing import Any

import numpy
import pytest
from support.tolerances import NUMPYS

from mxnp import _bridge
from mxnp._engine import core

pytestmark = [pytest.mark.any_nan, pytest.mark.any_last_bit]

Library = types.ModuleType

UFUNCS = [op.name for op in core.ops() if op.nin == 2]
DTYPES = [row.name for row in NUMPYS]
SIZES = [5, max(_bridge.get_threshold(), 6)]
# Each range of integers ends with one of these powers.
ENDS = [2**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64, 70)]
NUMBERS = [
    0, 1, True, False, -1, *ENDS, *(-end for end in ENDS), *(end - 1 for end in ENDS),
    *(-1 - end for end in ENDS), 10**400, 1.5, -0.0, 2.0**63, 1e40, 1e300, math.inf, math.nan,
    1j, 1e300j,
]  # fmt: skip


def outcomes(function: Any, a: Any, number: Any) -> list[Any]:
    """Return what both orders of the operands give: results or exceptions, and warnings."""
    found: list[Any] = []
    for operands in ((a, number), (number, a)):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            try:
                result = function(*operands)
                # Elements of results are computed here, where warnings are collected.
                found.append((result, str(result)))
            except (TypeError, ValueError, OverflowError) as error:
                found.append((type(error), str(error)))
        found.append(sorted(str(each.message) for each in shown))
    return found


@pytest.mark.sampled(21)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UFUNCS)
def test_numbers_beside_arrays(xp: Library, name: str, dtype: str) -> list[Any]:
    # Zeros are left out, whose signs minima and maxima may choose.
    arrays = [xp.array(numpy.arange(size) % 7 + 1).astype(dtype) for size in SIZES]
    return [
        outcomes(getattr(xp, name), a, number) for a in arrays for number in NUMBERS
    ]

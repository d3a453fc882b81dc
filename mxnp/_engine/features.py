"""The features of the processor that NumPy uses."""

from __future__ import annotations

import sys
from typing import Any

import numpy  # noqa: F401 - it loads the module below

_compiled: Any = sys.modules["numpy._core._multiarray_umath"]

FEATURES: dict[str, bool] = _compiled.__cpu_features__
"""Whether each feature that NumPy knows is there and not disabled."""

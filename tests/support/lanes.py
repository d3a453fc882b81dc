"""Constants for the environment variables under which the tests run."""

from __future__ import annotations

import os
import platform

import pytest

from mxnp._engine.devices import GPU

ON_GPU = os.environ.get("MXNP_DEVICE") == GPU
ON_CUDA = ON_GPU and GPU == "cuda"
FUSES = os.environ.get("MXNP_FUSE") != "0"
# Whether no lane of .ci chose otherwise. tests/conftest.py sets some of the other variables.
IS_DEFAULT = os.environ.get("MXNP_JIT", "0") == "0" and {
    "MXNP_DEVICE",
    "MXNP_FUSE",
    "MXNP_NUM_THREADS",
    "MXNP_THRESHOLD",
    "MXNP_VERIFY",
}.isdisjoint(os.environ)
needs_fusion = pytest.mark.skipif(not FUSES, reason="MXNP_FUSE=0 disables fusion")
# Elsewhere some of NumPy's results depend on the position: casts of numbers that the new
# dtype lacks, and last bits of Fourier transforms.
ON_X86 = platform.machine() in ("x86_64", "AMD64")

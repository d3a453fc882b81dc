"""Which lane the tests run in: its settings are those of the environment."""

from __future__ import annotations

import os

import pytest

from mxnp._engine.devices import GPU

ON_GPU = os.environ.get("MXNP_DEVICE") == GPU
FUSES = os.environ.get("MXNP_FUSE") != "0"
needs_fusion = pytest.mark.skipif(not FUSES, reason="nothing is fused")

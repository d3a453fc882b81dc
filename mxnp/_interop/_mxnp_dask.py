"""Import mxnp with Dask if Dask's configuration names it.

Dask loads this entry point in every program, so it is outside the package, whose import
takes long.
"""

from __future__ import annotations

import importlib
from typing import Any


def import_backend(_: Any) -> None:
    """Import mxnp if ``array.backend`` is "mxnp" when Dask is imported."""
    from dask import config

    if config.get("array.backend", None) == "mxnp":
        importlib.import_module("mxnp")

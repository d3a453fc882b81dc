"""Compiled functions of other packages, whose large calls threads divide."""

from typing import Any

from mxnp._engine import environment
from mxnp._interop.adapters import when_imported


def load() -> None:
    """Divide the calls of SciPy, now or as soon as the program imports it."""
    if environment.get("MXNP_SCIPY") == "1":
        when_imported("scipy", _load_table)


def _load_table(scipy: Any) -> None:
    from . import placing  # most programs do not need it

    placing.load()

"""Paths of the folders from which tests read files."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "tests" / "metal_emulator"
EXAMPLES = ROOT / "docs" / "examples"


def python_path(*folders: str | Path) -> str:
    """Return PYTHONPATH with folders before its own, which may have the mxnp to test."""
    own = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([*map(str, folders), *filter(None, own.split(os.pathsep))])

"""Paths of the folders from which tests read files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "tests" / "metal_emulator"
EXAMPLES = ROOT / "docs" / "examples"

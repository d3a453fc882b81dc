"""The folders of the repository that tests read files from."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "tests" / "metal_emulator"
EXAMPLES = ROOT / "docs" / "examples"

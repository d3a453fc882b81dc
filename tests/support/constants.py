"""Constants of the C sources, for sizes at their borders."""

from __future__ import annotations

import re
from pathlib import Path

_SOURCES = Path(__file__).parents[2] / "csrc"


def constant(file: str, name: str) -> int:
    """Return the number that a macro of a C file stands for, such as ``(1 << 14)``."""
    text = (_SOURCES / file).read_text(encoding="utf-8")
    found = re.search(rf"#define {name}\s+\(?(\d+)(?: << (\d+))?\)?", text)
    assert found is not None, f"{file} has no {name}"
    return int(found[1]) << int(found[2] or 0)

"""The machine of a run: its processor, memory, load and settings."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from mxnp._engine import core


def describe() -> dict[str, str]:
    """
    Describe the machine.

    Returns
    -------
    dict
        The texts of ``processor``, ``cores``, ``memory``, ``system``, ``python`` and
        ``settings``, the environment variables that configure the packages.
    """
    total = _memory_total()
    settings = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if re.match(r"MXNP_|XLA_|[A-Z]+_NUM_THREADS$", name)
    ]
    return {
        "processor": _processor(),
        "cores": f"{core.usable_threads()} usable, of {os.cpu_count()}",
        "memory": f"{total / 2**30:.0f} GiB" if total else "unknown",
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "settings": " ".join(settings) or "none",
    }


def load() -> list[float]:
    """Return the load averages over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def memory_available() -> int:
    """Return the bytes that are available for new arrays; 0 if they are unknown."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
    except OSError:
        return _memory_total() // 2
    found = re.search(r"^MemAvailable: *(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _memory_total() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*: *(.+)", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()

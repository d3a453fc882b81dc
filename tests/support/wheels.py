"""Wheels of other packages that tests read. They are downloaded once, and never kept here."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from metal_emulator import toolchain

PLATFORMS = {
    "pyobjc-framework-Metal": "macosx_10_9_universal2",
    "mlx-metal": "macosx_14_0_arm64",
}


def wheel(package: str) -> zipfile.ZipFile:
    """Return a package's wheel, or skip the test if pip cannot download it."""
    folder = Path(toolchain.cache_folder(), "wheels")
    folder.mkdir(mode=0o700, exist_ok=True)
    stem = package.lower().replace("-", "_")
    found = [p for p in folder.glob("*.whl") if p.name.lower().startswith(stem)]
    if not found:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        pip += ["--only-binary=:all:", "--python-version", "3.11"]
        pip += ["--platform", PLATFORMS[package], "-d", str(folder), package]
        try:
            done = subprocess.run(pip, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            pytest.skip(f"pip does not get to downloading {package}")
        if done.returncode:
            pytest.skip(f"pip cannot download {package}: {done.stderr.strip()[-200:]}")
        found = [p for p in folder.glob("*.whl") if p.name.lower().startswith(stem)]
    return zipfile.ZipFile(found[0])

"""Wheels of other packages that tests read. They are downloaded once, and never kept here."""

from __future__ import annotations

import fcntl
import functools
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from metal_emulator import toolchain


@dataclass(frozen=True)
class Wheel:
    """A release, and the tags of its wheel."""

    version: str
    platform: str
    python: str = "3.11"


# The releases are fixed, so that tests do not change when packages do.
WHEELS = {
    "mlx-metal": Wheel("0.32.4", "macosx_14_0_arm64"),
    "pyobjc-framework-Metal": Wheel("12.2.2", "macosx_10_9_universal2"),
    "torch": Wheel("2.15.0", "macosx_14_0_arm64", "3.12"),
}


def wheel(package: str) -> zipfile.ZipFile:
    """Return a package's wheel, or skip the test if pip cannot download it."""
    path, problem = _path(package)
    if path is None:
        pytest.skip(problem)
    return zipfile.ZipFile(path)


@functools.cache
def _path(package: str) -> tuple[Path | None, str]:
    """Return the path of the wheel, or None and the reason why there is none."""
    folder = Path(toolchain.cache_folder(), "wheels")
    folder.mkdir(mode=0o700, exist_ok=True)
    with _locked(folder / f"{package}.lock"):
        path = _find(folder, package)
        problem = "" if path else _download(folder, package)
        return path or _find(folder, package), problem


def _find(folder: Path, package: str) -> Path | None:
    stem = package.lower().replace("-", "_")
    start = f"{stem}-{WHEELS[package].version}-"
    files = (p for p in folder.glob("*.whl") if p.name.lower().startswith(start))
    return next(files, None)


def _download(folder: Path, package: str) -> str:
    """Download the wheel into the folder; return the reason if that fails."""
    wanted = WHEELS[package]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    pip += ["--quiet", "--retries", "1", "--no-deps", "--only-binary=:all:"]
    pip += ["--platform", wanted.platform, "--python-version", wanted.python]
    with tempfile.TemporaryDirectory(dir=folder) as name:
        command = [*pip, "--dest", name, f"{package}=={wanted.version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        except subprocess.TimeoutExpired:
            return f"pip did not download {package} within 240 seconds"
        for path in Path(name).glob("*.whl"):
            path.replace(folder / path.name)
    if done.returncode == 0:
        return ""
    return f"pip cannot download {package}: {done.stderr.strip().splitlines()[-1]}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let the other processes of a test run wait for the download."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

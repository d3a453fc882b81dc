"""The build backend: meson-python, with a simpler editable install.

The editable install of meson-python rebuilds the package at import with the tools of
its build, which pip deletes after an isolated build. The editable install of this
module consists of the compiled modules and a path to the checkout, so it works in both
cases. When the C sources change, mxnp._engine.core asks for a new install.
"""

import base64
import hashlib
import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

if sys.version_info < (3, 11):  # noqa: UP036  (pip looks at requires-python later)
    sys.exit(f"mxnp needs Python 3.11 or later, and this is {sys.version.split()[0]}")

import digest
import mesonpy
from mesonpy import build_sdist, build_wheel, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

ROOT = Path(__file__).parents[1]

# Without build isolation, meson may be in an environment that is not activated.
os.environ["PATH"] += os.pathsep + sysconfig.get_path("scripts")


def get_requires_for_build_wheel(
    config_settings: dict[str, str | list[str]] | None = None,
) -> list[str]:
    """Return the requirements of a wheel; the Metal emulator adds clang."""
    required = list(mesonpy.get_requires_for_build_wheel(config_settings))
    has_emulator = "-Dmetal=emulator" in str(
        (config_settings or {}).get("setup-args", "")
    )
    if has_emulator and not os.environ.get("METAL_EMULATOR_CLANG"):
        required.append("ziglang")
    return required


get_requires_for_build_editable = get_requires_for_build_wheel


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, str] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build a wheel of the compiled modules, metadata and a path to the checkout.

    The folder of the build stays, so that the next build compiles only what changed.
    """
    settings = {"build-dir": str(build_folder(config_settings))}
    settings |= config_settings or {}
    with tempfile.TemporaryDirectory() as folder:
        name = build_wheel(folder, settings, metadata_directory)
        with ZipFile(Path(folder, name)) as wheel:
            files = {path: wheel.read(path) for path in wheel.namelist() if stays(path)}
    files["mxnp.pth"] = f"{ROOT}\n".encode()
    state = digest.state(str(ROOT / "csrc"))
    built = digest.digest(str(ROOT / "csrc")).encode()
    if any(built in data for data in files.values()):  # no source has changed since
        files["mxnp/_core.state"] = state.encode()
    record = next(path for path in files if path.endswith(".dist-info/RECORD"))
    del files[record]
    lines = [f"{path},{sha256(data)},{len(data)}" for path, data in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with ZipFile(Path(wheel_directory, name), "w", ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_folder(config_settings: dict[str, str] | None) -> Path:
    """Return the folder of editable builds with these settings, which Meson keeps."""
    options = sorted((config_settings or {}).items())
    settings = repr((sys.implementation.cache_tag, options))
    name = hashlib.sha256(settings.encode()).hexdigest()[:8]
    return ROOT / "build" / f"editable-{name}"


def stays(path: str) -> bool:
    """Return whether a file of the wheel is not in its place in the checkout."""
    is_beside = "/" not in path  # the module that Dask loads
    return is_beside or ".dist-info/" in path or path.endswith((".so", ".pyd"))


def sha256(data: bytes) -> str:
    """Return the hash of a file in the format of a wheel's RECORD."""
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + encoded.decode().rstrip("=")

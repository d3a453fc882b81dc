"""How pip builds mxnp: by meson-python, except that an editable install is simpler.

meson-python's own editable install rebuilds at import, with the very tools of its
build, and pip deletes these when it builds in isolation. Here it is the compiled
modules and a path to the checkout, so it works however pip is called; when the C
sources change, mxnp._engine.core asks for a new install.
"""

import base64
import hashlib
import os
import sysconfig
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

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

# Without build isolation meson is in an environment that may not be activated.
os.environ["PATH"] += os.pathsep + sysconfig.get_path("scripts")


def get_requires_for_build_wheel(
    config_settings: dict[str, str | list[str]] | None = None,
) -> list[str]:
    """List what a wheel is built with: the Metal emulator needs clang."""
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
    """Build a wheel of compiled modules, metadata and a path to the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        name = build_wheel(folder, config_settings, metadata_directory)
        with ZipFile(Path(folder, name)) as wheel:
            files = {path: wheel.read(path) for path in wheel.namelist() if stays(path)}
    files["mxnp.pth"] = f"{ROOT}\n".encode()
    record = next(path for path in files if path.endswith(".dist-info/RECORD"))
    del files[record]
    lines = [f"{path},{sha256(data)},{len(data)}" for path, data in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with ZipFile(Path(wheel_directory, name), "w", ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def stays(path: str) -> bool:
    """Tell whether a file of the wheel cannot be had from the checkout."""
    return ".dist-info/" in path or path.endswith((".so", ".pyd"))


def sha256(data: bytes) -> str:
    """Hash as a wheel's RECORD wants it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + digest.decode().rstrip("=")

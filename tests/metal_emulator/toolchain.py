"""
Find the compiler and the linker: those of the ziglang package, or another clang.

``METAL_EMULATOR_CLANG`` names another clang, such as ``clang-19``. Parts that many
compilations share are compiled once, into the folder ``METAL_EMULATOR_CACHE``.
"""
# This module avoids pathlib, whose import takes longer than the module itself.
# ruff: noqa: PTH103, PTH111, PTH113, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import stat
import sys

MISSING = (
    "no compiler for the Metal emulator: install the ziglang package, "
    "or name a clang in METAL_EMULATOR_CLANG"
)

# Options for this processor. With AVX512-FP16, LLVM 22 casts a half that is NaN to the
# least short, not to 0.
NATIVE = ["-march=native"]
if os.uname().machine == "x86_64":
    NATIVE.append("-mno-avx512fp16")


class Toolchain:
    """
    Commands that compile and link.

    Attributes
    ----------
    clang : list of str
        A clang driver, with the options it needs to find its headers.
    linker : list of str
        A linker with the options of GNU ld.
    """

    def __init__(self, clang: list[str], linker: list[str]) -> None:
        self.clang = clang
        self.linker = linker

    def identity(self) -> str:
        """Return a text that changes when the compiler changes."""
        status = os.stat(self.clang[0])
        return f"{self.clang} {status.st_size} {status.st_mtime_ns}"


class MissingToolchainError(Exception):
    """No compiler was found."""


def find() -> Toolchain:
    """
    Find the compiler.

    Returns
    -------
    Toolchain
        The compiler that ``METAL_EMULATOR_CLANG`` names, or else ziglang's.

    Raises
    ------
    MissingToolchainError
        If there is no compiler.
    """
    zig = _zig()
    named = os.environ.get("METAL_EMULATOR_CLANG", "").split()
    if named:
        path = _program(named[0])
        if path is None:
            raise MissingToolchainError(
                f"METAL_EMULATOR_CLANG: no program {named[0]!r}"
            )
        linker = [zig, "ld.lld"] if zig else [_program("ld") or "ld"]
        return Toolchain([path, *named[1:]], linker)
    if zig is None:
        raise MissingToolchainError(MISSING)
    # Zig's own front end would check its cache first. The clang inside it does not.
    headers = os.path.join(os.path.dirname(zig), "lib", "include")
    return Toolchain([zig, "clang", "-isystem", headers], [zig, "ld.lld"])


def cache_folder() -> str:
    """
    Return the cache folder, and create it if it does not exist.

    Raises
    ------
    PermissionError
        If other users can write to the folder, whose code is run (runtime/kept.h).
    """
    folder = os.environ.get("METAL_EMULATOR_CACHE")
    folder = folder or os.path.expanduser("~/.cache/mxnp-metal-emulator")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.stat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(
            f"Metal emulator: nothing is kept in {folder}, which others can write to (its "
            f"owner is user {status.st_uid}, its mode {status.st_mode & 0o777:03o}): "
            "make it yours alone, or name another folder in METAL_EMULATOR_CACHE"
        )
    return folder


def _zig() -> str | None:
    """Return the path of zig in the ziglang package, without importing the package."""
    for folder in sys.path:
        path = os.path.join(folder, "ziglang", "zig")
        if os.path.isfile(path):
            return path
    return None


def _program(name: str) -> str | None:
    """Return the path of a program, as a shell would find it, or None."""
    if os.sep in name:
        return name if os.path.isfile(name) else None
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None

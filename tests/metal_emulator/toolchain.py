"""The compiler and the linker: those of the package ziglang, or another clang.

``METAL_EMULATOR_CLANG`` names another clang, such as ``clang-19``. Parts that many
compilations share are compiled once, to the folder ``METAL_EMULATOR_CACHE``.
"""
# Without pathlib, which takes longer to import than all of this takes.
# ruff: noqa: PTH103, PTH111, PTH113, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import stat
import sys

MISSING = (
    "no compiler for the Metal emulator: install the ziglang package, "
    "or name a clang in METAL_EMULATOR_CLANG"
)


class Toolchain:
    """
    Commands that compile and link.

    Attributes
    ----------
    clang : list of str
        A clang driver, with what it needs to find its own headers.
    linker : list of str
        A linker that takes what GNU ld takes.
    """

    def __init__(self, clang: list[str], linker: list[str]) -> None:
        self.clang = clang
        self.linker = linker

    def identity(self) -> str:
        """Text that changes when the compiler does."""
        status = os.stat(self.clang[0])
        return f"{self.clang} {status.st_size} {status.st_mtime_ns}"


class MissingToolchainError(Exception):
    """There is no compiler."""


def find() -> Toolchain:
    """
    Find the compiler.

    Returns
    -------
    Toolchain
        What ``METAL_EMULATOR_CLANG`` names, or else ziglang's.

    Raises
    ------
    MissingToolchainError
        If there is none.
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
    # Zig's own front end would look into its cache first; the clang inside does not.
    headers = os.path.join(os.path.dirname(zig), "lib", "include")
    return Toolchain([zig, "clang", "-isystem", headers], [zig, "ld.lld"])


def cache_folder() -> str:
    """
    Make the folder of what is compiled once and for all, unless it is there.

    Raises
    ------
    PermissionError
        If others can write to it: what is in it is run (runtime/kept.h).
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
    """Path of zig in the ziglang package, without importing anything."""
    for folder in sys.path:
        path = os.path.join(folder, "ziglang", "zig")
        if os.path.isfile(path):
            return path
    return None


def _program(name: str) -> str | None:
    """Path of a program, as a shell would find it."""
    if os.sep in name:
        return name if os.path.isfile(name) else None
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None

"""Decide whether a file belongs to the program, the standard library or a package."""

from __future__ import annotations

import importlib
import os
import site
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["is_in_folder", "is_in_package", "is_in_program", "is_in_standard_library"]


def _with_real(*paths: str) -> tuple[Path, ...]:
    """Return absolute paths, as they are and with links resolved."""
    folders = [Path(path).absolute() for path in paths]
    return (*folders, *(folder.resolve() for folder in folders))


@cache
def _standard_folders() -> tuple[Path, ...]:
    """Return the folders of the standard library."""
    paths = sysconfig.get_paths()
    return _with_real(
        paths["stdlib"], paths["platstdlib"], str(Path(os.__file__).parent)
    )


@cache
def _package_folders() -> tuple[Path, ...]:
    """Return the folders of installed packages and of mxnp."""
    paths = sysconfig.get_paths()
    own: Iterable[str] = importlib.import_module("mxnp").__path__
    # In some environments the site module lacks these names.
    listed: list[str] = getattr(site, "getsitepackages", list)()
    user = [path for path in [getattr(site, "USER_SITE", None)] if path]
    return _with_real(paths["purelib"], paths["platlib"], *own, *listed, *user)


def _is_within(file: str, folders: Iterable[Path]) -> bool:
    return any(
        path.is_relative_to(folder) for path in _with_real(file) for folder in folders
    )


@cache
def is_in_standard_library(file: str) -> bool:
    """Check whether a file belongs to Python's standard library."""
    return _is_within(file, _standard_folders()) and not is_in_package(file)


@cache
def is_in_package(file: str) -> bool:
    """Check whether a file belongs to an installed package or to mxnp."""
    if {"site-packages", "dist-packages"}.intersection(Path(file).parts):
        return True
    return _is_within(file, _package_folders())


@cache
def is_in_folder(file: str, prefix: str) -> bool:
    """Check whether a file is in a folder. The folder may begin with ``~``."""
    return _is_within(file, _with_real(str(Path(prefix).expanduser())))


def is_in_program(file: str) -> bool:
    """Check whether a file belongs to the program itself."""
    return not is_in_standard_library(file) and not is_in_package(file)

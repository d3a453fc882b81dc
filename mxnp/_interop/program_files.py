"""Whether a file belongs to the program, the standard library or a package."""

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
    """Give folders, and what they are when links are followed."""
    folders = [Path(path).absolute() for path in paths]
    return (*folders, *(folder.resolve() for folder in folders))


@cache
def _standard_places() -> tuple[Path, ...]:
    """Give the folders of the standard library."""
    paths = sysconfig.get_paths()
    return _with_real(
        paths["stdlib"], paths["platstdlib"], str(Path(os.__file__).parent)
    )


@cache
def _package_places() -> tuple[Path, ...]:
    """Give the folders of installed packages, and mxnp's own."""
    paths = sysconfig.get_paths()
    own: Iterable[str] = importlib.import_module("mxnp").__path__
    # Some environments have a site module without these.
    listed: list[str] = getattr(site, "getsitepackages", list)()
    user = [path for path in [getattr(site, "USER_SITE", None)] if path]
    return _with_real(paths["purelib"], paths["platlib"], *own, *listed, *user)


def _is_within(file: str, places: Iterable[Path]) -> bool:
    return any(
        path.is_relative_to(place) for path in _with_real(file) for place in places
    )


@cache
def is_in_standard_library(file: str) -> bool:
    return _is_within(file, _standard_places()) and not is_in_package(file)


@cache
def is_in_package(file: str) -> bool:
    if {"site-packages", "dist-packages"}.intersection(Path(file).parts):
        return True
    return _is_within(file, _package_places())


@cache
def is_in_folder(file: str, prefix: str) -> bool:
    return _is_within(file, _with_real(str(Path(prefix).expanduser())))


def is_in_program(file: str) -> bool:
    """Tell whether a file is neither the standard library's nor a package's."""
    return not is_in_standard_library(file) and not is_in_package(file)

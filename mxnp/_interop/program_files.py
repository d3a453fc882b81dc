"""Decide whether a file belongs to the program, the standard library or a package."""

from __future__ import annotations

import ast
import importlib
import os
import re
import site
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache

__all__ = [
    "editable_places",
    "editable_root",
    "is_in_folder",
    "is_in_package",
    "is_in_program",
    "is_in_standard_library",
    "is_standard",
]

# -- Packages in editable form ---------------------------------------------------------
#
# They stay in a project's folder, which often has other code, such as tests, or the
# program itself. So the metadata of each distribution decides: which names can be
# imported, and which folders a ``.pth`` file or the finder of setuptools names. Modules
# that are not imported yet would be seen while the metadata are read, so this imports
# none.

_SETUPTOOLS = "distutils-precedence.pth"  # which names no folder


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError):
        return ""


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _project_of(info: str) -> str:
    """Return the folder of the project that is installed in editable form, or ''."""
    origin = _read(os.path.join(info, "direct_url.json"))
    url = re.search(r'"url"\s*:\s*"file://([^"]*)"', origin)
    if not url or not re.search(r'"editable"\s*:\s*true\b', origin):
        return ""
    path = re.sub(
        rb"%(..)", lambda code: bytes.fromhex(code[1].decode()), url[1].encode()
    )
    return os.fsdecode(path)


def _mapped(finder: str) -> dict[str, str]:
    """Return where the finder that setuptools wrote looks for names."""
    found = re.search(r"^MAPPING\b[^=]*= (\{.*\})$", finder, re.MULTILINE)
    return dict(ast.literal_eval(found[1])) if found else {}


def _places_of(info: str, project: str) -> Iterator[str]:
    """Yield the folders of packages, and the files of modules without their suffix."""
    folders = {os.path.join(project, "src")}
    site, name = os.path.split(info)
    listed = _read(os.path.join(info, "top_level.txt")).split()
    names = set(listed) or {name.partition("-")[0], name.partition("-")[0].lower()}
    for line in _read(os.path.join(info, "RECORD")).splitlines():
        file = line.rsplit(",", 2)[0]
        text = _read(os.path.join(site, file)) if os.sep not in file else ""
        if file.endswith(".pth"):
            folders.update(filter(os.path.isabs, text.splitlines()))
        elif file.startswith("__editable__"):
            yield from _mapped(text).values()
    for folder in {*folders, project}:
        yield from (os.path.join(folder, each) for each in names)
    for folder in () if listed else folders - {project}:  # of packages only
        for each in _list(folder):
            if os.path.exists(os.path.join(folder, each, "__init__.py")):
                yield os.path.join(folder, each)


@cache
def editable_places() -> tuple[str, ...]:
    """Return the folders and files of such packages. Most environments have none."""
    endings = f"{os.sep}site-packages", f"{os.sep}dist-packages"
    found: set[str] = set()
    for installed in filter(lambda path: path.endswith(endings), sys.path):
        files = _list(installed)
        if not any(name.endswith(".pth") and name != _SETUPTOOLS for name in files):
            continue  # no module outside the folder can be imported
        for name in files:
            info = os.path.join(installed, name)
            project = _project_of(info) if name.endswith(".dist-info") else ""
            for place in _places_of(info, project) if project else ():
                for path in (place, f"{place}.py"):
                    if os.path.exists(path):
                        found |= {os.path.abspath(path), os.path.realpath(path)}
    return tuple(sorted(found))


def editable_root(file: str) -> str:
    """Return the place that has a file, or an empty string if it is in none."""
    for place in editable_places():
        if f"{file}{os.sep}".startswith(f"{place}{os.sep}"):
            return place
    return ""


# -- Whose file it is ------------------------------------------------------------------

_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = (f"site-packages{os.sep}", f"dist-packages{os.sep}")  # in it


def is_standard(path: str) -> bool:
    """Check by its name alone whether a file is in the folder of Python's library."""
    return path.startswith(_STANDARD) and not path.startswith(
        _INSTALLED, len(_STANDARD)
    )


def _with_real(*paths: str) -> tuple[str, ...]:
    """Return absolute paths, as they are and with links resolved."""
    return (*map(os.path.abspath, paths), *map(os.path.realpath, paths))


@cache
def _standard_folders() -> tuple[str, ...]:
    """Return the folders of the standard library."""
    folder = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefixes = sys.base_prefix, sys.base_exec_prefix
    found = [os.path.join(prefix, sys.platlibdir, folder) for prefix in prefixes]
    return _with_real(os.path.dirname(os.__file__), *found)


@cache
def _package_folders() -> tuple[str, ...]:
    """Return the folders of installed packages and of mxnp."""
    own: Iterable[str] = importlib.import_module("mxnp").__path__
    # In some environments the site module lacks these names.
    listed: list[str] = getattr(site, "getsitepackages", list)()
    user = [path for path in [getattr(site, "USER_SITE", None)] if path]
    return _with_real(*own, *listed, *user)


@cache
def _installed_in(folder: str) -> frozenset[str]:
    """Return what installers have put into a folder, as their records list it."""
    found: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(folder):
            if not name.endswith(".dist-info"):
                continue
            with (
                suppress(OSError, UnicodeError),
                open(os.path.join(folder, name, "RECORD"), encoding="utf-8") as record,
            ):
                firsts = (line.split(",")[0].split("/")[0] for line in record)
                found.update(first.strip('"') for first in firsts)
    return frozenset(found - {"", "..", "__pycache__", "bin"})


def _is_installed(file: str) -> bool:
    """Check whether an installer has put a file into a folder of `sys.path`."""
    for folder in map(os.path.abspath, filter(None, sys.path)):
        start = folder.rstrip(os.sep) + os.sep
        if file.startswith(start):
            first, _, _ = file[len(start) :].partition(os.sep)
            if first in _installed_in(folder):
                return True
    return False


def _is_within(file: str, folders: Iterable[str]) -> bool:
    beginnings = tuple(folder.rstrip(os.sep) + os.sep for folder in folders)
    return any((path + os.sep).startswith(beginnings) for path in _with_real(file))


@cache
def _is_where_packages_are(file: str) -> bool:
    """Check whether an installer has put a file to the others, or whether it is mxnp's.

    The name of a folder often answers the question, without reading the disk.
    """
    if not {"site-packages", "dist-packages"}.isdisjoint(file.split(os.sep)):
        return True
    return _is_within(file, _package_folders()) or _is_installed(os.path.abspath(file))


@cache
def is_in_standard_library(file: str) -> bool:
    """Check whether a file belongs to Python's standard library.

    The name of the file often answers the question. To follow links takes 0.4 ms.
    """
    if is_standard(file):
        return True
    return not _is_where_packages_are(file) and _is_within(file, _standard_folders())


@cache
def is_in_package(file: str) -> bool:
    """Check whether a file belongs to an installed package or to mxnp."""
    if _is_where_packages_are(file):
        return True
    # The metadata of each package that is installed says which are in editable form.
    return any(map(editable_root, _with_real(file) if editable_places() else ()))


@cache
def is_in_folder(file: str, prefix: str) -> bool:
    """Check whether a file is in a folder. The folder may begin with ``~``."""
    return _is_within(file, _with_real(os.path.expanduser(prefix)))


def is_in_program(file: str) -> bool:
    """Check whether a file belongs to the program itself."""
    return not is_in_standard_library(file) and not is_in_package(file)

"""Find packages that are installed in editable form: they stay in a project's folder.

The folder often has other code, such as tests, or the program itself. So the metadata
of each distribution decides: which names can be imported, and which folders a ``.pth``
file or the finder of setuptools names. Modules that are not imported yet would be seen
while this one reads the metadata, so it imports none.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from functools import cache

__all__ = ["editable_places", "editable_root"]


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
    for site in filter(lambda path: path.endswith(endings), sys.path):
        files = _list(site)
        if not any(name.endswith(".pth") and name != _SETUPTOOLS for name in files):
            continue  # no module outside the folder can be imported
        for name in files:
            info = os.path.join(site, name)
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

"""
Check the contents of an sdist and a wheel, and print their version.

Usage: ``contents.py SDIST WHEEL``. An sdist contains the files that git tracks and its
metadata. A wheel contains the folders ``mxnp`` and ``metal`` of the sdist, the compiled
modules, the module that Dask loads, and its metadata, but no C sources, tests or
benchmarks.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# These names are explicit, because a file that git lacks would be missing everywhere.
OF_SDIST = {"LICENSE", "README.md", "meson.build", "csrc/mxnp.h", "tests/conftest.py"}
FOR_DASK = "_mxnp_dask.py"  # outside the package
OF_WHEEL = {FOR_DASK, "mxnp/__init__.pyi", "mxnp/metal/scalar.metal", "mxnp/py.typed"}
COMPILED = {f"mxnp/{name}.abi3.so" for name in ("_bridge", "_core")}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def version_of_build() -> str:
    """Return the version in meson.build, from which all others are derived."""
    text = (ROOT / "meson.build").read_text()
    found = re.search(r"version: '([^']+)'", text)
    assert found
    return found[1]


def known_to_git() -> set[str]:
    """Return the files of the last commit, from which an sdist is made."""
    command = ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return set(listed.stdout.decode().rstrip("\0").split("\0"))


def read_sdist(path: Path) -> tuple[set[str], str]:
    """Return an sdist's files relative to its top folder, and its metadata."""
    with tarfile.open(path) as archive:
        members = [member for member in archive if not member.isdir()]
        top = members[0].name.partition("/")[0]
        metadata = archive.extractfile(f"{top}/PKG-INFO")
        assert metadata
        return {
            m.name.removeprefix(f"{top}/") for m in members
        }, metadata.read().decode()


def read_wheel(path: Path) -> tuple[set[str], str]:
    """Return a wheel's files, its metadata folder named ``info``, and its metadata."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        folder = metadata.removesuffix("METADATA")
        return {n.replace(folder, "info/") for n in names}, archive.read(
            metadata
        ).decode()


def differences(name: str, found: set[str], expected: set[str]) -> list[str]:
    """Return descriptions of the unwanted and the missing files."""
    unwanted = [f"{name}: unwanted: {file}" for file in sorted(found - expected)]
    return unwanted + [f"{name}: missing: {file}" for file in sorted(expected - found)]


def find_faults(sdist: Path, wheel: Path) -> list[str]:
    """Return descriptions of all errors in the contents and the metadata."""
    source, about_source = read_sdist(sdist)
    installed, about_wheel = read_wheel(wheel)
    of_package = {file for file in source if re.match("mxnp/(?!bench/)", file)}
    of_package.remove(f"mxnp/_interop/{FOR_DASK}")
    of_metal = {f"mxnp/{file}" for file in source if file.startswith("metal/")}
    of_info = {f"info/{name}" for name in METADATA}
    expected = of_package | of_metal | of_info | COMPILED | OF_WHEEL
    faults = differences(sdist.name, source, known_to_git() | OF_SDIST | {"PKG-INFO"})
    faults += differences(wheel.name, installed, expected)
    line = f"Version: {version_of_build()}"
    for path, about in ((sdist, about_source), (wheel, about_wheel)):
        if line not in about.splitlines():
            faults.append(f"{path.name}: its metadata lacks {line!r}")
    return faults


if __name__ == "__main__":
    found = find_faults(Path(sys.argv[1]), Path(sys.argv[2]))
    if found:
        sys.exit("\n".join(found))
    print(version_of_build())

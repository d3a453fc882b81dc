"""
Check what an sdist and a wheel hold, and print their version.

``contents.py SDIST WHEEL``. An sdist holds what git knows of, and its metadata. A wheel
holds the sdist's ``mxnp`` and ``metal``, the compiled modules and its metadata: no
sources in C, no tests.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Named, as what is missing in git would be missing everywhere.
OF_SDIST = {"LICENSE", "README.md", "meson.build", "csrc/mxnp.h", "tests/conftest.py"}
OF_WHEEL = {"mxnp/__init__.pyi", "mxnp/metal/scalar.metal", "mxnp/py.typed"}
COMPILED = {f"mxnp/{name}.abi3.so" for name in ("_bridge", "_core", "_import")}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def version_of_build() -> str:
    """Return the version of meson.build, from which all others are."""
    text = (ROOT / "meson.build").read_text()
    found = re.search(r"version: '([^']+)'", text)
    assert found
    return found[1]


def known_to_git() -> set[str]:
    """Return the files of the last commit, which is what an sdist is made of."""
    command = ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return set(listed.stdout.decode().rstrip("\0").split("\0"))


def read_sdist(path: Path) -> tuple[set[str], str]:
    """Return an sdist's files, without its folder, and its metadata."""
    with tarfile.open(path) as archive:
        members = [member for member in archive if not member.isdir()]
        top = members[0].name.partition("/")[0]
        metadata = archive.extractfile(f"{top}/PKG-INFO")
        assert metadata
        return {
            m.name.removeprefix(f"{top}/") for m in members
        }, metadata.read().decode()


def read_wheel(path: Path) -> tuple[set[str], str]:
    """Return the files of a wheel, with a short metadata folder, and its metadata."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        folder = metadata.removesuffix("METADATA")
        return {n.replace(folder, "info/") for n in names}, archive.read(
            metadata
        ).decode()


def differences(name: str, found: set[str], expected: set[str]) -> list[str]:
    """Say what is there and should not be, and what is not."""
    unwanted = [f"{name}: unwanted: {file}" for file in sorted(found - expected)]
    return unwanted + [f"{name}: missing: {file}" for file in sorted(expected - found)]


def find_faults(sdist: Path, wheel: Path) -> list[str]:
    """Say what is wrong."""
    source, about_source = read_sdist(sdist)
    installed, about_wheel = read_wheel(wheel)
    of_package = {file for file in source if file.startswith("mxnp/")}
    of_metal = {f"mxnp/{file}" for file in source if file.startswith("metal/")}
    of_info = {f"info/{name}" for name in METADATA}
    expected = of_package | of_metal | of_info | COMPILED | OF_WHEEL
    faults = differences(sdist.name, source, known_to_git() | OF_SDIST | {"PKG-INFO"})
    faults += differences(wheel.name, installed, expected)
    line = f"Version: {version_of_build()}"
    for path, about in ((sdist, about_source), (wheel, about_wheel)):
        if line not in about.splitlines():
            faults.append(f"{path.name}: its metadata has not {line!r}")
    return faults


if __name__ == "__main__":
    found = find_faults(Path(sys.argv[1]), Path(sys.argv[2]))
    if found:
        sys.exit("\n".join(found))
    print(version_of_build())

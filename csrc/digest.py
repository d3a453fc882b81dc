"""Hash the C sources, so that Python can check which sources a core was built from."""

import hashlib
import sys
from pathlib import Path

SUFFIXES = {".c", ".def", ".h", ".m"}


def sources(folder: Path) -> list[Path]:
    """Return the sources in and below a folder, in the same order on every machine."""
    found = (path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def digest(folder: Path) -> str:
    """Hash the names and texts of the sources, ignoring the kind of line ends."""
    total = hashlib.sha256()
    for path in sources(folder):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0")
        total.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return total.hexdigest()[:16]


if __name__ == "__main__":
    header, depfile = sys.argv[1:]
    here = Path(__file__).parent
    Path(header).write_text(f'#define MX_DIGEST "{digest(here)}"\n')
    Path(depfile).write_text(f"{header}: {' '.join(map(str, sources(here)))}\n")

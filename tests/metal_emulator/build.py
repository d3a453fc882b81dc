"""
Build the Metal emulator into a static archive.

    python tests/metal_emulator/build.py OUT.a [--product FILE.m ...] [--include DIR ...]

The archive contains the Objective-C runtime, the subsets of Foundation and Metal, and the
engine. It also contains the product's Objective-C files, compiled with ARC and the
emulator's headers. Any C compiler can link it into a shared library, with -lpthread -ldl
-lm.

The compiler is the one that METAL_EMULATOR_CLANG names, or else the `ziglang` package.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

COMMON = [
    "-fPIC",
    "-g",
    "-fno-omit-frame-pointer",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-D_GNU_SOURCE",
    "-U_FORTIFY_SOURCE",
    "-fno-sanitize=undefined",
]
C = ["-x", "c", "-std=gnu11", "-O2"]
OBJECTIVE_C = [
    "-x",
    "objective-c",
    "-std=gnu11",
    "-O1",
    "-fblocks",
    "-fobjc-runtime=objfw",
    "-fno-exceptions",
    "-fno-objc-exceptions",
    "-fconstant-string-class=NSConstantString",
    "-Wno-deprecated-objc-isa-usage",
    "-Wno-objc-root-class",
]
HOST = ["-Wno-nullability-completeness", "-Wno-nonnull"]  # for the annotated headers
PRODUCT = ["-fobjc-arc", "-Werror"]


def compiler() -> list[str]:
    """Return the command that compiles C; raise FileNotFoundError if there is none."""
    chosen = os.environ.get("METAL_EMULATOR_CLANG")
    if chosen:
        return shlex.split(chosen)
    try:
        import ziglang
    except ImportError:
        raise FileNotFoundError(
            "the Metal emulator needs clang: pip install ziglang, or set METAL_EMULATOR_CLANG"
        ) from None
    return [str(Path(ziglang.__file__).parent / "zig"), "cc"]


def is_zig() -> bool:
    """Return whether the compiler is zig, which includes a linker and an archiver."""
    return Path(compiler()[0]).name.startswith("zig")


def sources() -> list[Path]:
    """Return the source files of the emulator."""
    folders = ("objc", "Foundation", "engine", "runtime")
    return sorted(p for f in folders for p in (FOLDER / f).glob("*.[cm]"))


def flags(source: Path) -> list[str]:
    """Return the compiler flags for a source file of the emulator."""
    paths = [
        f'-DMETAL_EMULATOR_FOLDER="{FOLDER}"',
        f'-DMETAL_EMULATOR_PYTHON="{sys.executable}"',
    ]
    return (C if source.suffix == ".c" else OBJECTIVE_C + HOST) + paths


def run(command: Sequence[str | Path]) -> None:
    """Run a command; raise RuntimeError with its diagnostics if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stderr}")
    sys.stderr.write(done.stderr)


def compile_file(source: Path, target: Path, more: Iterable[str]) -> Path:
    """Compile a file and return the path of the object."""
    headers = ["-I", str(FOLDER)]
    run([*compiler(), *COMMON, *more, *headers, "-c", source, "-o", target])
    return target


def archive_objects(archive: Path, objects: Sequence[Path], folder: Path) -> None:
    """
    Make an archive with one object.

    A linker takes only referenced objects from an archive, but classes are looked up by
    name.
    """
    whole = folder / "metal_emulator.o"
    linker = [compiler()[0], "ld.lld"] if is_zig() else [shutil.which("ld") or "ld"]
    run([*linker, "-r", "-o", whole, *objects])
    if archive.suffix == ".o":
        shutil.copyfile(whole, archive)
        return
    archiver = [compiler()[0], "ar"] if is_zig() else [shutil.which("ar") or "ar"]
    made = folder / "metal_emulator.a"
    run([*archiver, "rcs", made, whole])
    shutil.copyfile(made, archive)


def build(
    archive: str | Path,
    product: Iterable[str | Path] = (),
    include: Iterable[str | Path] = (),
) -> None:
    """Compile the emulator's and the product's files into the archive."""
    includes = [part for folder in include for part in ("-I", str(folder))]
    jobs = [(source, flags(source)) for source in sources()]
    jobs += [(Path(p), OBJECTIVE_C + PRODUCT + includes) for p in product]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        objects = list(
            pool.map(
                lambda job: compile_file(job[1][0], folder / f"{job[0]}.o", job[1][1]),
                enumerate(jobs),
            )
        )
        archive_objects(Path(archive), objects, folder)


def link(archive: str | Path, library: str | Path) -> None:
    """Make a shared library with all objects of the archive."""
    # By default, zig first builds a C++ library or support code of its compiler.
    libraries = "-nostdlib -lc" if is_zig() else "-lpthread -ldl -lm"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    run([*compiler(), "-shared", "-o", library, *whole, *libraries.split()])


def files(*folders: str | Path) -> list[Path]:
    """Return the C and Objective-C files of the emulator and below other folders."""
    return sorted(p for f in (FOLDER, *folders) for p in Path(f).rglob("*.[chm]"))


def write_depfile(path: str, archive: str, include: Iterable[str | Path]) -> None:
    """Write the files that the archive is made of as a rule of make."""
    names = " ".join(str(p).replace(" ", "\\ ") for p in files(*include))
    Path(path).write_text(f"{archive}: {names}\n")


def main() -> None:
    """Build the archive that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("archive")
    parser.add_argument("--product", nargs="*", action="extend", default=[])
    parser.add_argument("--include", nargs="*", action="extend", default=[])
    parser.add_argument("--depfile", help="to be written for ninja")
    arguments = parser.parse_args()
    try:
        build(arguments.archive, arguments.product, arguments.include)
        if arguments.depfile:
            write_depfile(arguments.depfile, arguments.archive, arguments.include)
    except (RuntimeError, FileNotFoundError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

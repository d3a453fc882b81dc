"""
Build the Metal emulator into a static archive.

    python tests/metal_emulator/build.py OUT.a [--product FILE.m ...] [--include DIR ...]

The archive holds the Objective-C runtime, the Foundation and Metal subsets and the engine,
and the product's Objective-C files, compiled with ARC against those headers. It links into
a shared library by any C compiler, with -lpthread -ldl -lm.

The compiler is the one of the `ziglang` package, or what METAL_EMULATOR_CLANG names.
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
HOST = ["-Wno-nullability-completeness", "-Wno-nonnull"]  # it is what is annotated
PRODUCT = ["-fobjc-arc", "-Werror"]


def compiler() -> list[str]:
    """Return the command that compiles C; fails if there is none."""
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
    """Whether the compiler is zig's, which has a linker and an archiver in it."""
    return Path(compiler()[0]).name.startswith("zig")


def sources() -> list[Path]:
    """Return the files of the host itself."""
    folders = ("objc", "Foundation", "engine", "runtime")
    return sorted(p for f in folders for p in (FOLDER / f).glob("*.[cm]"))


def flags(source: Path) -> list[str]:
    """Return what the host's own file is compiled with."""
    paths = [
        f'-DMETAL_EMULATOR_FOLDER="{FOLDER}"',
        f'-DMETAL_EMULATOR_PYTHON="{sys.executable}"',
    ]
    return (C if source.suffix == ".c" else OBJECTIVE_C + HOST) + paths


def run(command: Sequence[str | Path]) -> None:
    """Run a command; its diagnostics are the error's."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stderr}")
    sys.stderr.write(done.stderr)


def compile_file(source: Path, target: Path, more: Iterable[str]) -> Path:
    """Compile one file."""
    headers = ["-I", str(FOLDER)]
    run([*compiler(), *COMMON, *more, *headers, "-c", source, "-o", target])
    return target


def archive_objects(archive: Path, objects: Sequence[Path], folder: Path) -> None:
    """
    Make an archive of one object.

    A linker takes from an archive what is referenced; classes are looked up by name.
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
    """Compile the host and the product's files into the archive."""
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
    """Make a shared library of all that the archive holds."""
    # Left to itself zig builds a C++ library or its compiler's support first.
    libraries = "-nostdlib -lc" if is_zig() else "-lpthread -ldl -lm"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    run([*compiler(), "-shared", "-o", library, *whole, *libraries.split()])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("archive")
    parser.add_argument("--product", nargs="*", action="extend", default=[])
    parser.add_argument("--include", nargs="*", action="extend", default=[])
    arguments = parser.parse_args()
    try:
        build(arguments.archive, arguments.product, arguments.include)
    except (RuntimeError, FileNotFoundError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

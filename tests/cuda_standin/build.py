"""
Build the stand-in for NVIDIA's driver and libraries into a shared library.

    python tests/cuda_standin/build.py OUT.so

With the environment variable MXNP_CUDA_STAND_IN, which names the library, mxnp uses it in
place of a GPU. The compiler is that of the Metal emulator, whose engine runs the kernels.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
METAL = HERE.parent / "metal_emulator"
sys.path[0] = str(HERE.parent)

from metal_emulator import build as metal  # noqa: E402


def build(library: str | Path) -> None:
    """Compile the stand-in with the engine of the Metal emulator."""
    defines = [
        f'-DCUDA_STANDIN_FOLDER="{HERE}"',
        f'-DCUDA_STANDIN_PYTHON="{sys.executable}"',
        "-DENGINE_KEEPS_SUBNORMALS",
        "-DENGINE_THREADGROUP_BYTES=49152",
    ]
    own = [HERE / f"{name}.c" for name in ("standin", "libraries", "solver")]
    sources = [*own, *sorted((METAL / "engine").glob("*.c"))]
    # By default, zig first builds a C++ library or support code of its compiler.
    libraries = "-nostdlib -lc -lm" if metal.is_zig() else "-lpthread -ldl -lm"
    command = [*metal.compiler(), "-shared", *metal.COMMON, *metal.C, *defines]
    metal.run([*command, "-I", METAL, "-o", library, *sources, *libraries.split()])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        build(sys.argv[1])
    except (RuntimeError, FileNotFoundError) as error:
        sys.exit(str(error))

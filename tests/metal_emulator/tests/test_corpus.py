"""Test that the Metal emulator compiles kernel headers of MLX, which Apple's compiler compiles."""

from __future__ import annotations

import re
import zipfile

import pytest
from metal_emulator.msl import compiler
from support.msl import HEAD, needs_compiler
from support.wheels import wheel

pytestmark = [needs_compiler, pytest.mark.slow]

FOLDER = "mlx/include/"
KERNELS = "mlx/backend/metal/kernels/"
INCLUDE = re.compile(r'^\s*#\s*include\s+"(mlx/[^"]+)".*\n', re.MULTILINE)

# The headers that compile alone, or after other headers that do.
HEADERS = [
    "arange.h",
    "bf16.h",
    "erf.h",
    "expm1f.h",
    "hadamard.h",
    "quantized_utils.h",
    "ternary_ops.h",
]


@pytest.fixture(scope="module")
def package() -> zipfile.ZipFile:
    return wheel("mlx-metal")


def inlined(package: zipfile.ZipFile, path: str, seen: set[str]) -> str:
    """Return the text of a header with the headers that it includes, each once."""
    if path in seen:
        return ""
    seen.add(path)
    text = package.read(FOLDER + path).decode().replace("#pragma once", "")
    return INCLUDE.sub(lambda match: inlined(package, match[1], seen), text)


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_mlx(header, package):
    text = HEAD + inlined(package, KERNELS + header, set())
    compiler.Compiler(instrumented=False).check(text)

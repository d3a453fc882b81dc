"""Test what Apple's compiler makes of the constructs that mxnp's kernels use.

The package mlx-metal has kernels that Apple's compiler compiled, as LLVM bitcode in a
``.metallib``. For each construct the table names a kernel of MLX, and what its code must
contain. docs/metal.md shows the table.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest
from support.paths import ROOT
from support.wheels import wheel

DISASSEMBLERS = ["llvm-dis", *(f"llvm-dis-{n}" for n in range(22, 13, -1))]
DISASSEMBLER = next(filter(None, map(shutil.which, DISASSEMBLERS)), "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DISASSEMBLER, reason="no llvm-dis (Debian's package llvm)"),
]

# construct, kernel of MLX, part of its code, what the emulator does
CONSTRUCTS = [
    ("`uchar(float)`", "s_copyfloat32uint8", "air.convert.u.i8.f.f32", "saturates"),
    ("`char(float)`", "s_copyfloat32int8", "air.convert.s.i8.f.f32", "saturates"),
    ("`int(float)`", "s_copyfloat32int32", "air.convert.s.i32.f.f32", "saturates"),
    ("`long(float)`", "s_copyfloat32int64", "air.convert.s.i64.f.f32", "saturates"),
    (
        "`bfloat(long)`",
        "s_copyint64bfloat16",
        "air.convert.f.bf16.s.i64",
        "rounds once",
    ),
    ("`float(ulong)`", "s_copyuint64float32", "air.convert.f.f32.u.i64", "rounds once"),
    ("`a * b - c * d`", "vv_Multiplycomplex64", "llvm.fmuladd.f32", "contracts"),
    ("`precise::sin`", "v_Sinfloat32float32", "air.sin.f32", "the C library's"),
    ("`precise::exp`", "v_Expfloat32float32", "air.exp.f32", "the C library's"),
    ("`fast::exp`", "cross_entropy_vjp_float32", "air.fast_exp.f32", "inexact"),
    ("`pow`", "vv_Powerfloat32", "air.pow.f32", "the C library's"),
    ("`rint`", "v_Roundfloat32float32", "air.rint.f32", "to nearest even"),
    ("`max` of long", "ss_Maximumint64", "air.max.s.i64", "64 bits"),
    ("`min` of ulong", "ss_Minimumuint64", "air.min.u.i64", "64 bits"),
    ("`simd_sum`", "all_reduce_sumfloat32", "air.simd_sum.f32", "in a fixed order"),
    ("`simd_all`", "all_reduce_andbool_", "air.simd_all", "of active lanes"),
    (
        "`simd_shuffle_down(uint2)`",
        "all_reduce_sumint64",
        "air.simd_shuffle_down.u.v2i32",
        "of each component",
    ),
    (
        "prefix sums of a SIMD-group",
        "contig_scan_inclusive_sum_float32_float32",
        "air.simd_prefix_exclusive_sum.f32",
        "in the order of lanes",
    ),
    (
        "`simdgroup_multiply_accumulate`",
        "affine_gather_qmm_rhs_nt_float_gs_128_b_1_bm_16_bn_32_bk_32_wm_1_wn_2",
        "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32",
        "sums in float",
    ),
    ("`threadgroup_barrier`", "all_reduce_sumint64", "air.wg.barrier", "all threads"),
    (
        "`atomic_fetch_add` of device floats",
        "seq_gated_delta_vjp_float_128_128_24_24_1",
        "air.atomic.global.add.f32",
        "one rounding",
    ),
    (
        "`threadgroup bool[]`",
        "all_reduce_andbool_",
        "addrspace(3) global [32 x i8]",
        "a byte each",
    ),
    (
        "`threadgroup bfloat[]`",
        "all_reduce_maxbfloat16",
        "addrspace(3) global [32 x bfloat]",
        "two bytes each",
    ),
    (
        "subnormal numbers",
        "v_Sinfloat32float32",
        "air.compile.denorms_disable",
        "are zero",
    ),
]


def functions(library: bytes) -> dict[str, bytes]:
    """Return the bitcode of each function of a .metallib by name."""
    fields = struct.unpack_from("<9Q", library, 16)
    names, codes = fields[1], fields[7]
    (count,) = struct.unpack_from("<I", library, names)
    at, found = names + 4, {}
    for _ in range(count):
        (size,) = struct.unpack_from("<I", library, at)
        tags = read_tags(library[at + 4 : at + size])
        begin = codes + struct.unpack("<3Q", tags[b"OFFT"])[2]
        (length,) = struct.unpack("<Q", tags[b"MDSZ"])
        found[tags[b"NAME"].rstrip(b"\0").decode()] = library[begin : begin + length]
        at += size
    return found


def read_tags(record: bytes) -> dict[bytes, bytes]:
    """Return the values of a record by their tags."""
    tags, at = {}, 0
    while record[at : at + 4] != b"ENDT":
        (length,) = struct.unpack_from("<H", record, at + 4)
        tags[record[at : at + 4]] = record[at + 6 : at + 6 + length]
        at += 6 + length
    return tags


@pytest.fixture(scope="module")
def kernels() -> dict[str, bytes]:
    return functions(wheel("mlx-metal").read("mlx/lib/mlx.metallib"))


def disassemble(code: bytes) -> str:
    done = subprocess.run(
        [DISASSEMBLER, "-o", "-", "-"], input=code, capture_output=True, check=True
    )
    return done.stdout.decode()


@pytest.mark.parametrize(("construct", "kernel", "part", "here"), CONSTRUCTS)
def test_code_of_apple(construct, kernel, part, here, kernels):
    if kernel not in kernels:
        pytest.skip(f"this version of mlx-metal has no kernel {kernel}")
    assert part in disassemble(kernels[kernel])


def test_products_are_contracted_without_fast_math(kernels):
    text = disassemble(kernels["vv_Multiplycomplex64"])
    assert "air.compile.fast_math_disable" in text
    assert "llvm.fmuladd.f32" in text


def test_the_documentation_has_the_table():
    page = (ROOT / "docs" / "metal.md").read_text()
    table = page.partition("<!-- air -->")[2].partition("<!-- end of air -->")[0]
    rows = re.findall(r"^\| (.*) \| `(.*)` \| `(.*)` \| (.*) \|$", table, re.MULTILINE)
    assert rows == CONSTRUCTS

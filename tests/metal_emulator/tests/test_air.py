"""Test what Apple's compiler makes of the constructs that mxnp's kernels use.

The packages mlx-metal and torch have kernels that Apple's compiler compiled, as LLVM
bitcode in a ``.metallib``. For each construct the table names such a kernel, and what its
code must contain. docs/metal.md shows the table.
"""

from __future__ import annotations

import re

import pytest
from support import metallib
from support.paths import ROOT
from support.wheels import wheel

pytestmark = pytest.mark.slow
needs_llvm = pytest.mark.needs("llvmlite")

# construct, package, its kernel, part of the kernel's code, what the emulator does
CONSTRUCTS = [
    (
        "`uchar(float)`",
        "MLX",
        "s_copyfloat32uint8",
        "air.convert.u.i8.f.f32",
        "saturates",
    ),
    (
        "`char(float)`",
        "MLX",
        "s_copyfloat32int8",
        "air.convert.s.i8.f.f32",
        "saturates",
    ),
    (
        "`ushort(float)`",
        "MLX",
        "s_copyfloat32uint16",
        "air.convert.u.i16.f.f32",
        "saturates",
    ),
    (
        "`short(float)`",
        "MLX",
        "s_copyfloat32int16",
        "air.convert.s.i16.f.f32",
        "saturates",
    ),
    (
        "`uint(float)`",
        "MLX",
        "s_copyfloat32uint32",
        "air.convert.u.i32.f.f32",
        "saturates",
    ),
    (
        "`int(float)`",
        "MLX",
        "s_copyfloat32int32",
        "air.convert.s.i32.f.f32",
        "saturates",
    ),
    (
        "`ulong(float)`",
        "MLX",
        "s_copyfloat32uint64",
        "air.convert.u.i64.f.f32",
        "saturates",
    ),
    (
        "`long(float)`",
        "MLX",
        "s_copyfloat32int64",
        "air.convert.s.i64.f.f32",
        "saturates",
    ),
    (
        "`uchar(half)`",
        "MLX",
        "s_copyfloat16uint8",
        "air.convert.u.i8.f.f16",
        "saturates",
    ),
    (
        "`char(bfloat)`",
        "MLX",
        "s_copybfloat16int8",
        "air.convert.s.i8.f.bf16",
        "saturates",
    ),
    ("`float(char)`", "MLX", "s_copyint8float32", "air.convert.f.f32.s.i8", "exact"),
    ("`float(uchar)`", "MLX", "s_copyuint8float32", "air.convert.f.f32.u.i8", "exact"),
    ("`float(short)`", "MLX", "s_copyint16float32", "air.convert.f.f32.s.i16", "exact"),
    (
        "`float(ushort)`",
        "MLX",
        "s_copyuint16float32",
        "air.convert.f.f32.u.i16",
        "exact",
    ),
    ("`float(bool)`", "MLX", "s_copybool_float32", "air.convert.f.f32.u.i1", "0 or 1"),
    (
        "`float(long)`",
        "MLX",
        "s_copyint64float32",
        "air.convert.f.f32.s.i64",
        "rounds once",
    ),
    (
        "`float(ulong)`",
        "MLX",
        "s_copyuint64float32",
        "air.convert.f.f32.u.i64",
        "rounds once",
    ),
    (
        "`half(ushort)`",
        "MLX",
        "s_copyuint16float16",
        "air.convert.f.f16.u.i16",
        "rounds once",
    ),
    (
        "`half(long)`",
        "MLX",
        "s_copyint64float16",
        "air.convert.f.f16.s.i64",
        "rounds once",
    ),
    (
        "`bfloat(long)`",
        "MLX",
        "s_copyint64bfloat16",
        "air.convert.f.bf16.s.i64",
        "rounds once",
    ),
    (
        "`half(float)`",
        "MLX",
        "s_copyfloat32float16",
        "fptrunc float %5 to half",
        "rounds once",
    ),
    (
        "`bfloat(float)`",
        "MLX",
        "s_copyfloat32bfloat16",
        "fptrunc float %5 to bfloat",
        "rounds once",
    ),
    (
        "`float(bfloat)`",
        "MLX",
        "s_copybfloat16float32",
        "fpext bfloat %5 to float",
        "exact",
    ),
    ("`a * b - c * d`", "MLX", "vv_Multiplycomplex64", "llvm.fmuladd.f32", "contracts"),
    ("`fma`", "MLX", "v_ErfInvfloat32float32", "air.fma.f32", "rounds once"),
    ("`precise::sin`", "MLX", "v_Sinfloat32float32", "air.sin.f32", "the C library's"),
    ("`precise::cos`", "MLX", "v_Cosfloat32float32", "air.cos.f32", "the C library's"),
    ("`precise::tan`", "MLX", "v_Tanfloat32float32", "air.tan.f32", "the C library's"),
    (
        "`precise::asin`",
        "MLX",
        "v_ArcSinfloat32float32",
        "air.asin.f32",
        "the C library's",
    ),
    (
        "`precise::acos`",
        "MLX",
        "v_ArcCosfloat32float32",
        "air.acos.f32",
        "the C library's",
    ),
    (
        "`precise::atan`",
        "MLX",
        "v_ArcTanfloat32float32",
        "air.atan.f32",
        "the C library's",
    ),
    (
        "`precise::sinh`",
        "MLX",
        "v_Sinhfloat32float32",
        "air.sinh.f32",
        "the C library's",
    ),
    (
        "`precise::cosh`",
        "MLX",
        "v_Coshfloat32float32",
        "air.cosh.f32",
        "the C library's",
    ),
    (
        "`precise::tanh`",
        "MLX",
        "v_Tanhfloat32float32",
        "air.tanh.f32",
        "the C library's",
    ),
    (
        "`precise::asinh`",
        "MLX",
        "v_ArcSinhfloat32float32",
        "air.asinh.f32",
        "the C library's",
    ),
    (
        "`precise::acosh`",
        "MLX",
        "v_ArcCoshfloat32float32",
        "air.acosh.f32",
        "the C library's",
    ),
    (
        "`precise::atanh`",
        "MLX",
        "v_ArcTanhfloat32float32",
        "air.atanh.f32",
        "the C library's",
    ),
    ("`precise::exp`", "MLX", "v_Expfloat32float32", "air.exp.f32", "the C library's"),
    ("`precise::log`", "MLX", "v_Logfloat32float32", "air.log.f32", "the C library's"),
    (
        "`precise::log2`",
        "MLX",
        "v_Log2float32float32",
        "air.log2.f32",
        "the C library's",
    ),
    (
        "`precise::log10`",
        "MLX",
        "v_Log10float32float32",
        "air.log10.f32",
        "the C library's",
    ),
    (
        "`precise::sqrt`",
        "MLX",
        "v_Sqrtfloat32float32",
        "air.sqrt.f32",
        "rounded correctly",
    ),
    (
        "`precise::exp2`",
        "MLX",
        "rope_single_float32",
        "air.exp2.f32",
        "the C library's",
    ),
    (
        "`precise::atan2`",
        "MLX",
        "ss_ArcTan2float32",
        "air.atan2.f32",
        "the C library's",
    ),
    ("`precise::pow`", "MLX", "ss_Powerfloat32", "air.pow.f32", "the C library's"),
    ("`precise::fmod`", "MLX", "ss_Remainderfloat32", "air.fmod.f32", "exact"),
    ("`fast::exp`", "MLX", "cross_entropy_vjp_float32", "air.fast_exp.f32", "inexact"),
    ("`rint`", "MLX", "v_Roundfloat32float32", "air.rint.f32", "to nearest even"),
    ("`floor`", "MLX", "v_Floorfloat32float32", "air.floor.f32", "exact"),
    ("`ceil`", "MLX", "v_Ceilfloat32float32", "air.ceil.f32", "exact"),
    ("`trunc`", "PyTorch", "trunc_dense_scalar_float_float", "air.trunc.f32", "exact"),
    ("`fabs`", "MLX", "v_Absfloat32float32", "air.fabs.f32", "exact"),
    ("`ldexp`", "MLX", "v_Expm1float32float32", "air.ldexp.f32", "the C library's"),
    ("`abs` of int", "MLX", "v_Absint32int32", "air.abs.s.i32", "wraps"),
    ("`max` of long", "MLX", "ss_Maximumint64", "air.max.s.i64", "64 bits"),
    ("`min` of ulong", "MLX", "ss_Minimumuint64", "air.min.u.i64", "64 bits"),
    ("`clz(uint)`", "PyTorch", "frexp_dense_float", "air.clz.i32", "32 for 0"),
    (
        "loads of `float4`",
        "MLX",
        "dot_product_float32_it32_tg512_sg16",
        "load <4 x float>",
        "one load of 16 bytes",
    ),
    (
        "`simd_sum`",
        "MLX",
        "all_reduce_sumfloat32",
        "air.simd_sum.f32",
        "in a fixed order",
    ),
    ("`simd_all`", "MLX", "all_reduce_andbool_", "air.simd_all", "of active lanes"),
    ("`simd_any`", "MLX", "all_reduce_orint64", "air.simd_any", "of active lanes"),
    (
        "`simd_shuffle(uint)`",
        "MLX",
        "strided_scan_inclusive_sum_uint32_uint32",
        "air.simd_shuffle.u.i32",
        "of active lanes",
    ),
    (
        "`simd_shuffle_down(uint)`",
        "MLX",
        "argmin_bool_",
        "air.simd_shuffle_down.u.i32",
        "of active lanes",
    ),
    (
        "`simd_shuffle_down(uint2)`",
        "MLX",
        "all_reduce_sumint64",
        "air.simd_shuffle_down.u.v2i32",
        "of each component",
    ),
    (
        "`simd_prefix_exclusive_sum`",
        "MLX",
        "contig_scan_inclusive_sum_float32_float32",
        "air.simd_prefix_exclusive_sum.f32",
        "in the order of lanes",
    ),
    (
        "`simd_prefix_inclusive_sum`",
        "MLX",
        "strided_scan_inclusive_sum_float32_float32",
        "air.simd_prefix_inclusive_sum.f32",
        "in the order of lanes",
    ),
    (
        "`make_filled_simdgroup_matrix`",
        "MLX",
        "gated_delta_fused_chunk_float_128_128_24_24_8",
        "air.simdgroup_matrix_8x8_init_filled.v64f32.f32",
        "8 by 8 elements",
    ),
    (
        "`simdgroup_load` of threadgroup floats",
        "PyTorch",
        "gemmSimdLU",
        "air.simdgroup_matrix_8x8_load.v64f32.p3f32",
        "8 by 8 elements",
    ),
    (
        "`simdgroup_load` of threadgroup halves",
        "PyTorch",
        "large_m_int8pack_mm_float",
        "air.simdgroup_matrix_8x8_load.v64f16.p3f16",
        "8 by 8 elements",
    ),
    (
        "`simdgroup_store` to threadgroup memory",
        "PyTorch",
        "gemmSimdLU",
        "air.simdgroup_matrix_8x8_store.v64f32.p3f32",
        "8 by 8 elements",
    ),
    (
        "`simdgroup_multiply_accumulate`",
        "MLX",
        "affine_gather_qmm_rhs_nt_float_gs_128_b_1_bm_16_bn_32_bk_32_wm_1_wn_2",
        "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32",
        "sums in float",
    ),
    (
        "`simdgroup_multiply_accumulate` of halves",
        "MLX",
        "steel_attention_float16_bq32_bk32_bd256_bv256_wm4_wn2_maskfloat16",
        "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f16.v64f32",
        "sums in float",
    ),
    (
        "`threadgroup_barrier`",
        "MLX",
        "all_reduce_sumint64",
        "air.wg.barrier",
        "all threads",
    ),
    (
        "`simdgroup_barrier`",
        "MLX",
        "strided_scan_inclusive_sum_int8_int8",
        "air.simdgroup.barrier",
        "threads of a SIMD-group",
    ),
    (
        "`atomic_load_explicit`",
        "PyTorch",
        "index_reduce_mean_int_int",
        "air.atomic.global.load.i32",
        "relaxed",
    ),
    (
        "`atomic_store_explicit`",
        "PyTorch",
        "cumsum_contig_decoupled_float",
        "air.atomic.global.store.i32",
        "relaxed",
    ),
    (
        "`atomic_compare_exchange_weak_explicit`",
        "PyTorch",
        "index_reduce_mean_int_int",
        "air.atomic.global.cmpxchg.weak.i32",
        "relaxed",
    ),
    (
        "`atomic_fetch_add` of device uints",
        "PyTorch",
        "embedding_dense_backward_count_int_32",
        "air.atomic.global.add.u.i32",
        "relaxed",
    ),
    (
        "`atomic_fetch_add` of device ints",
        "PyTorch",
        "mark_unique_positions_and_count_kernel",
        "air.atomic.global.add.s.i32",
        "relaxed",
    ),
    (
        "`atomic_fetch_add` of device floats",
        "MLX",
        "seq_gated_delta_vjp_float_128_128_24_24_1",
        "air.atomic.global.add.f32",
        "one rounding",
    ),
    (
        "`atomic_fetch_add` of threadgroup uints",
        "PyTorch",
        "radix_count_uint_8bit",
        "air.atomic.local.add.u.i32",
        "relaxed",
    ),
    (
        "`threadgroup bool[]`",
        "MLX",
        "all_reduce_andbool_",
        "addrspace(3) global [32 x i8]",
        "a byte each",
    ),
    (
        "`threadgroup bfloat[]`",
        "MLX",
        "all_reduce_maxbfloat16",
        "addrspace(3) global [32 x bfloat]",
        "two bytes each",
    ),
    (
        "subnormal numbers",
        "MLX",
        "v_Sinfloat32float32",
        "air.compile.denorms_disable",
        "are zero",
    ),
]


@pytest.fixture(scope="module")
def mlx() -> dict[str, bytes]:
    return metallib.functions(wheel("mlx-metal").read("mlx/lib/mlx.metallib"))


@pytest.fixture(scope="module")
def torch() -> dict[str, bytes]:
    library = metallib.embedded(wheel("torch"), "torch/lib/libtorch_cpu.dylib")
    return metallib.functions(library)


def disassemble(code: bytes) -> str:
    """Return bitcode as text, which LLVM first brings to its own version."""
    import llvmlite.binding

    return str(llvmlite.binding.parse_bitcode(code))


@needs_llvm
@pytest.mark.parametrize(("construct", "package", "kernel", "part", "here"), CONSTRUCTS)
def test_code_of_apple(construct, package, kernel, part, here, request):
    kernels = request.getfixturevalue({"MLX": "mlx", "PyTorch": "torch"}[package])
    assert part in disassemble(kernels[kernel])


@needs_llvm
def test_products_are_contracted_without_fast_math(mlx):
    text = disassemble(mlx["vv_Multiplycomplex64"])
    assert "air.compile.fast_math_disable" in text
    assert "llvm.fmuladd.f32" in text


@needs_llvm
def test_the_packages_are_compiled_for_the_version_of_the_driver(mlx, torch):
    """The driver sets languageVersion 3.1, so the table shows what it will get."""
    for code in (mlx["v_Sinfloat32float32"], torch["trunc_dense_scalar_float_float"]):
        assert '!{!"Metal", i32 3, i32 1, i32 0}' in disassemble(code)


def test_the_documentation_has_the_table():
    page = (ROOT / "docs" / "metal.md").read_text(encoding="utf-8")
    table = page.partition("<!-- air -->")[2].partition("<!-- end of air -->")[0]
    rows = re.findall(
        r"^\| (.*) \| (.*) \| `(.*)` \| `(.*)` \| (.*) \|$", table, re.MULTILINE
    )
    assert rows == CONSTRUCTS

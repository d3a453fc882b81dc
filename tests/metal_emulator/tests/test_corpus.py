"""Test that the Metal emulator compiles headers of MLX and PyTorch, as Apple's compiler does."""

from __future__ import annotations

import pytest
from metal_emulator.msl import compiler
from support.kernel_headers import MLX, TORCH
from support.msl import HEAD, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]

# The headers of MLX's kernels that are not for the matrix units of the newest GPUs. A header
# that does not include all that it needs follows the headers that MLX includes before it.
HEADERS_OF_MLX = {
    "arange.h": [],
    "atomic.h": [],
    "bf16.h": [],
    "bf16_math.h": ["bf16.h"],
    "binary.h": ["utils.h", "binary_ops.h"],
    "binary_ops.h": ["utils.h"],
    "binary_two.h": ["utils.h", "binary_ops.h"],
    "cexpf.h": ["utils.h"],
    "complex.h": [],
    "copy.h": ["utils.h"],
    "cross_entropy.h": ["utils.h"],
    "defines.h": [],
    "dot.h": [],
    "erf.h": [],
    "expm1f.h": [],
    "fft.h": [],
    "fp4.h": ["utils.h"],
    "fp8.h": ["utils.h"],
    "fp_quantized.h": ["utils.h", "steel/gemm/gemm.h", "quantized_utils.h"],
    "gated_delta_update.h": [],
    "gated_delta_update_vjp.h": [],
    "gemv.h": [],
    "gemv_masked.h": ["utils.h"],
    "hadamard.h": [],
    "logging.h": [],
    "logsumexp.h": ["utils.h"],
    "quantized.h": ["utils.h", "steel/gemm/gemm.h", "quantized_utils.h"],
    "quantized_utils.h": [],
    "reduce.h": ["utils.h", "reduce_utils.h"],
    "reduce_utils.h": ["utils.h"],
    "scan.h": ["utils.h", "binary_ops.h"],
    "sdpa_blocked.h": ["utils.h"],
    "sdpa_vector.h": ["utils.h"],
    "searchsorted.h": ["utils.h", "sort.h"],
    "softmax.h": ["utils.h"],
    "sort.h": ["utils.h"],
    "ternary.h": ["utils.h", "ternary_ops.h"],
    "ternary_ops.h": [],
    "unary.h": ["utils.h", "unary_ops.h"],
    "unary_ops.h": ["utils.h"],
    "utils.h": [],
}
MATRIX_HEADERS_OF_MLX = {
    "steel/gemm/kernels/steel_gemm_fused.h": ["utils.h", "steel/gemm/gemm.h"],
    "steel/gemm/kernels/steel_gemm_gather.h": ["utils.h", "steel/gemm/gemm.h"],
    "steel/gemm/kernels/steel_gemm_masked.h": ["utils.h", "steel/gemm/gemm.h"],
    "steel/gemm/kernels/steel_gemm_segmented.h": ["utils.h", "steel/gemm/gemm.h"],
    "steel/gemm/kernels/steel_gemm_splitk.h": ["utils.h", "steel/gemm/gemm.h"],
    "steel/conv/kernels/steel_conv.h": ["utils.h", "steel/conv/conv.h"],
    "steel/conv/kernels/steel_conv_3d.h": ["utils.h", "steel/conv/conv.h"],
    "steel/conv/kernels/steel_conv_general.h": ["utils.h", "steel/conv/conv.h"],
    "steel/attn/kernels/steel_attention.h": ["utils.h"],
}
HEADERS_OF_TORCH = [
    "atomic.h",
    "common.h",
    "error.h",
    "expm1f.h",
    "float8.h",
    "igamma.h",
    "indexing.h",
    "random.h",
    "reduction_utils.h",
    "special_math.h",
    "utils.h",
]


def test_lists_are_complete():
    every = {name for name in MLX.names() if "_nax" not in name}
    assert {name for name in every if "/" not in name} == HEADERS_OF_MLX.keys()
    matrix = {
        name for name in every if name.startswith("steel/") and "kernels/" in name
    }
    assert matrix == MATRIX_HEADERS_OF_MLX.keys()
    assert TORCH.names() == set(HEADERS_OF_TORCH)


@pytest.mark.parametrize("header", HEADERS_OF_MLX | MATRIX_HEADERS_OF_MLX)
def test_headers_of_mlx(header):
    before = (HEADERS_OF_MLX | MATRIX_HEADERS_OF_MLX)[header]
    text = HEAD + MLX.text(*before, header)
    compiler.Compiler(instrumented=False).check(text)


@pytest.mark.parametrize("header", HEADERS_OF_TORCH)
def test_headers_of_pytorch(header):
    compiler.Compiler(instrumented=False).check(HEAD + TORCH.text(header))

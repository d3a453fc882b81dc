"""Compare the complete text of generated kernels, so that changes are visible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.lanes import ON_CUDA
from support.metal import needs_gpu
from support.tolerances import has_dtype

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp._engine.devices import GPU

pytestmark = [needs_gpu, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def on_metal() -> Any:
    before = _bridge.set_threshold(0)
    with mxnp.device(GPU), mxnp.mode("fast"):
        yield
    _bridge.set_threshold(before)


def owned(x: numpy.ndarray) -> Any:
    out = mxnp.empty(x.shape, x.dtype)
    out[...] = x
    mxnp.synchronize()
    return out


def matrix() -> Any:
    return owned(numpy.arange(12, dtype="f4").reshape(3, 4))


def packed(result: str) -> str:
    """Return how a kernel begins that computes four elements of a dtype in each thread."""
    return f"""\
[[max_total_threads_per_threadgroup(256)]] kernel void mx_group(\
device const uchar *m0 [[buffer(0)]], device uchar *m1 [[buffer(1)]], \
constant long *args [[buffer(2)]],
    uint3 at [[thread_position_in_grid]])
{{
    int i0 = at.x;
    i0 *= 4;
    const int start = i0;
    const uint count = uint(mx_lesser(int(args[0]) - start, int(4)));
    mx_pack<float, 4u> p0 = mx_load_pack<float, 4u>(m0 + (int(args[1]) + i0 * 4), count);
    mx_pack<{result}, 4u> p3;
    MX_UNROLL
    for (uint w = 0; w < 4u; w++) {{
    if (w >= count)
        break;
    const int i0 = start + int(w);
    float v0 = p0.item[w];
"""


TEXTS: dict[str, tuple[Callable[[], Any], str]] = {
    "chain": (
        lambda: mxnp.sqrt(matrix() * 2 + 1),
        packed("float")
        + """\
    float v1;
    float v2;
    float v3;
    { /* multiply */
        float a = v0;
        float b = mx_value<float>(args[5]);
        float r = mx_multiply(a, b);
        v1 = r;
    }
    { /* add */
        float a = v1;
        float b = mx_value<float>(args[6]);
        float r = mx_add(a, b);
        v2 = r;
    }
    { /* sqrt */
        float a = v2;
        float r = mx_sqrt(a);
        v3 = r;
    }
    p3.item[w] = v3;
    }
    mx_store_pack(m1 + (int(args[3]) + i0 * 4), p3, count);
}
""",
    ),
    "bfloat16": (
        lambda: mxnp.exp(matrix().astype("bfloat16")) + 2,
        packed("bfloat")
        + """\
    bfloat v1;
    bfloat v2;
    bfloat v3;
    { /* cast */
        float a = v0;
        bfloat r = mx_cast<bfloat>(a);
        v1 = r;
    }
    { /* exp */
        bfloat a = v1;
        bfloat r = mx_exp(a);
        v2 = r;
    }
    { /* add */
        bfloat a = v2;
        bfloat b = mx_value<bfloat>(args[5]);
        bfloat r = mx_add(a, b);
        v3 = r;
    }
    p3.item[w] = v3;
    }
    mx_store_pack(m1 + (int(args[3]) + i0 * 2), p3, count);
}
""",
    ),
    "strides": (
        lambda: matrix()[::2, ::-1].T.astype("i2"),
        """\
[[max_total_threads_per_threadgroup(256)]] kernel void mx_group(\
device const uchar *m0 [[buffer(0)]], device uchar *m1 [[buffer(1)]], \
constant long *args [[buffer(2)]],
    uint3 at [[thread_position_in_grid]])
{
    int i1 = at.x;
    int i0 = at.y;
    float v0 = mx_load<float>(m0 + (int(args[2]) + i0 * int(args[3]) + i1 * int(args[4])));
    short v1;
    { /* cast */
        float a = v0;
        short r = mx_cast<short>(a);
        v1 = r;
    }
    mx_store(m1 + (int(args[5]) + i0 * int(args[6]) + i1 * 2), v1);
}
""",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    make, text = TEXTS[name]
    if name == "bfloat16" and not has_dtype(name):
        pytest.skip("there is no ml_dtypes")
    result = make()
    mxnp.synchronize()
    del result
    assert core.gpu_text() == text


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: mxnp.add.at(matrix()[0], mxnp.arange(3), 1.0),
            ["mx_update_by_add<float>" if ON_CUDA else "mx_update<op0, float, true>"],
        ),
        (
            lambda: matrix().sum(axis=0),
            [
                "struct op0 {\n    static MX_INLINE float",
                "mx_join_columns<op0>(shared0",
                "mx_add(mx_cast",
            ],
        ),
        (
            lambda: mxnp.cumsum(matrix(), axis=1),
            ["mx_scan_lanes<op0, 1u>(sums[3]", "op0::apply(before, sums[k + w])"],
        ),
        (
            lambda: matrix().argmax(axis=1),
            ["mx_is_above(b, a)", "mx_fold_index<true, "],
        ),
        (lambda: matrix()[mxnp.arange(2) + 0], ["mx_index<2>", "r = mx_load<float>"]),
        (
            lambda: mxnp.searchsorted(matrix().ravel(), matrix()),
            ["mx_search<float, false>"],
        ),
    ],
)
def test_parts(make: Callable[[], Any], parts: list[str]) -> None:
    result = make()
    mxnp.synchronize()
    del result
    assert all(part in core.gpu_text() for part in parts), core.gpu_text()


def test_kernels_do_not_depend_on_shapes() -> None:
    texts = set()
    for shape in [(3, 4), (5, 8), (100, 20), (3, 5), (5, 7), (100, 2)]:
        x = owned(numpy.ones(shape, "f4"))
        y = x[::2] * 2
        mxnp.synchronize()
        del y
        texts.add(core.gpu_text())
    assert len(texts) == 2  # rows are loaded in packs of four elements, or not

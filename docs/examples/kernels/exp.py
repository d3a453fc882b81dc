"""A kernel of one's own: e to the power of each element.

python docs/examples/kernels/exp.py
"""

import argparse
import sys

import mxnp as np

if np.devices() == ("cpu",):
    print("this example needs a GPU, and there is none")
    sys.exit()

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("-n", type=int, default=100_000, help="elements")
n = parser.parse_args().n

kernel = np.gpu_kernel(
    name="my_exp",
    input_names=["x"],
    output_names=["out"],
    source="""
        uint i = thread_position_in_grid.x;
        out[i] = T(metal::exp(float(x[i])));
    """,
)


def exp(x):
    (out,) = kernel(
        inputs=[x],
        template=[("T", x.dtype)],
        grid=(x.size, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
    return out


is_right = True
for dtype in np.float32, np.float16:
    x = np.linspace(-5, 5, n, dtype=np.float32).astype(dtype)
    expected = np.exp(x.astype(np.float64))
    far = np.abs(exp(x) - expected) > 8 * np.finfo(dtype).eps * expected
    print(f"{np.dtype(dtype)}: {n} elements, {far.sum()} far from exp(x)")
    is_right &= not far.any()

if not is_right:
    sys.exit("the kernel is wrong")

"""A kernel of one's own: a histogram with weights, by atomic additions of floats.

python docs/examples/kernels/histogram.py
"""

import argparse
import sys

import mxnp as np

if np.devices() == ("cpu",):
    print("this example needs a GPU, and there is none")
    sys.exit()

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("-n", type=int, default=200_000, help="numbers")
n = parser.parse_args().n

kernel = np.gpu_kernel(
    name="histogram",
    input_names=["x", "weights", "limits"],
    output_names=["sums"],
    source="""
        const uint i = thread_position_in_grid.x;
        const float low = limits[0], high = limits[1];
        const float value = x[i];
        if (!(value >= low && value <= high))
            return; /* outside, or NaN: there is no bin for it */
        const int bin = min(int((value - low) / (high - low) * BINS), BINS - 1);
        atomic_fetch_add_explicit(&sums[bin], weights[i], memory_order_relaxed);
    """,
    atomic_outputs=True,
)


def histogram(x, weights, bins, low, high):
    (sums,) = kernel(
        inputs=[x, weights, np.array([low, high], dtype=np.float32)],
        template=[("BINS", bins)],
        grid=(x.size, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[(bins,)],
        output_dtypes=[np.float32],
        init_value=0,
    )
    return sums


rng = np.random.default_rng(1)
x = rng.standard_normal(n, dtype=np.float32)
weights = rng.random(n, dtype=np.float32)
x[::1000] = np.nan

found = histogram(x, weights, 8, -2, 2)
inside = np.abs(x) <= 2
expected, _ = np.histogram(x[inside], bins=8, range=(-2, 2), weights=weights[inside])
# The order of the additions differs from run to run, and so do the last bits.
near = np.allclose(found, expected, rtol=1e-3)
for start, total in zip(np.linspace(-2, 1.5, 8), found):
    print(f"{start:5.1f}  " + "#" * round(float(50 * total / found.max())))
print("agrees with np.histogram" if near else f"{found}, not {expected}")

if not near:
    sys.exit("the kernel is wrong")

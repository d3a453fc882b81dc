"""A kernel of one's own: a picture turned, its points sampled between four pixels each.

python docs/examples/kernels/grid_sample.py
"""

import argparse
import sys

import mxnp as np

if np.devices() == ("cpu",):
    print("this example needs a GPU, and there is none")
    sys.exit()

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=96, help="pixels of a side")
size = parser.parse_args().size

kernel = np.gpu_kernel(
    name="grid_sample",
    input_names=["x", "points"],
    output_names=["out"],
    header="""
        /* A channel of a pixel; zero outside the picture. */
        template <typename T>
        float pixel(device const T *picture, int row, int column, int rows, int columns,
                    int channels, int channel)
        {
            if (row < 0 || row >= rows || column < 0 || column >= columns)
                return 0.0f;
            return float(picture[(row * columns + column) * channels + channel]);
        }
    """,
    source="""
        const uint3 at = thread_position_in_grid; /* channel, point, picture */
        const int rows = x_shape[1], columns = x_shape[2], channels = x_shape[3];
        const int n_points = points_shape[1];

        const uint point = at.z * n_points + at.y;
        const float across = ((points[2 * point] + 1) * columns - 1) / 2;
        const float down = ((points[2 * point + 1] + 1) * rows - 1) / 2;
        const int column = int(floor(across)), row = int(floor(down));
        const float right = across - column, below = down - row;

        device const T *picture = x + at.z * rows * columns * channels;
        const float top =
            pixel(picture, row, column, rows, columns, channels, at.x) * (1 - right) +
            pixel(picture, row, column + 1, rows, columns, channels, at.x) * right;
        const float bottom =
            pixel(picture, row + 1, column, rows, columns, channels, at.x) * (1 - right) +
            pixel(picture, row + 1, column + 1, rows, columns, channels, at.x) * right;
        out[point * channels + at.x] = T(top * (1 - below) + bottom * below);
    """,
)


def grid_sample(x, points):
    """x: (pictures, rows, columns, channels); points: (pictures, n, 2), from -1 to 1."""
    pictures, _, _, channels = x.shape
    n = points.shape[1]
    (out,) = kernel(
        inputs=[x, points],
        template=[("T", x.dtype)],
        grid=(channels, n, pictures),
        threadgroup=(channels, max(256 // channels, 1), 1),
        output_shapes=[(pictures, n, channels)],
        output_dtypes=[x.dtype],
    )
    return out


def with_arrays(x, points):
    """The same without a kernel."""
    pictures, rows, columns, _ = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    across = ((points[..., 0] + 1) * columns - 1) / 2
    down = ((points[..., 1] + 1) * rows - 1) / 2
    column, row = np.floor(across).astype(int), np.floor(down).astype(int)
    right, below = (across - column)[..., None], (down - row)[..., None]
    picture = np.arange(pictures)[:, None]

    def pixel(row, column):
        return padded[picture, np.clip(row + 1, 0, rows + 1), np.clip(column + 1, 0, columns + 1)]

    top = pixel(row, column) * (1 - right) + pixel(row, column + 1) * right
    bottom = pixel(row + 1, column) * (1 - right) + pixel(row + 1, column + 1) * right
    return top * (1 - below) + bottom * below


rng = np.random.default_rng(1)
pictures = rng.random((2, size, size, 3), dtype=np.float32)
y, x = np.meshgrid(*2 * [np.linspace(-1, 1, size, dtype=np.float32)], indexing="ij")
c, s = np.float32(0.8), np.float32(0.6)
turned = np.stack([c * x - s * y, s * x + c * y], axis=-1).reshape(1, -1, 2)
points = np.concatenate([turned, turned[:, ::-1]])

found = grid_sample(pictures, points)
error = np.abs(found - with_arrays(pictures, points)).max()
print(f"{points.shape[0]} pictures, {points.shape[1]} points each")
print(f"a corner, which lies outside: {found[0, 0].tolist()}")
print("agrees with index arrays" if error < 1e-3 else f"differs by {error}")

if error >= 1e-3:
    sys.exit("the kernel is wrong")

"""Colour quantisation: a photograph repainted with a few colours, found by k-means.

Every pixel is a point in the cube of red, green and blue; Lloyd's algorithm moves k
centres to the means of the pixels nearest to them until they rest.

Input: the portrait of Grace Hopper that matplotlib ships, or any picture file.
Source: S. P. Lloyd, "Least squares quantization in PCM", 1982.
"""

import argparse

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("the picture needs matplotlib: pip install matplotlib") from None

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data


def nearest(pixels, centres):
    """Index of the centre nearest to each pixel: (n, 3), (k, 3) -> (n,)."""
    # |p - c|^2 = |p|^2 - 2 p.c + |c|^2, and |p|^2 is the same for every centre.
    distance = -2 * pixels @ centres.T + (centres**2).sum(axis=1)
    return distance.argmin(axis=1)


def k_means(pixels, k, rng, steps=50, tolerance=0.5 / 255):
    """Centres (k, 3), the centre of each pixel (n,), and the steps it took."""
    centres = pixels[rng.choice(len(pixels), size=k, replace=False)]
    for step in range(1, steps + 1):
        labels = nearest(pixels, centres)
        counts = np.bincount(labels, minlength=k)
        sums = np.stack(
            [np.bincount(labels, weights=part, minlength=k) for part in pixels.T], axis=1
        )
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        shift = np.abs(moved - centres).max()
        centres = moved
        if shift < tolerance:
            break
    return centres, nearest(pixels, centres), step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photograph", nargs="?", help="default: matplotlib's sample")
    parser.add_argument("-k", "--colours", type=int, default=12)
    parser.add_argument("--every", type=int, default=1, help="use every n-th pixel")
    parser.add_argument("--output", default="colour_quantisation.png")
    options = parser.parse_args()

    source = options.photograph or get_sample_data("grace_hopper.jpg")
    photograph = plt.imread(source)[:: options.every, :: options.every, :3] / 255.0
    height, width, _ = photograph.shape
    pixels = photograph.reshape(-1, 3)

    rng = np.random.default_rng(1982)
    centres, labels, steps = k_means(pixels, options.colours, rng)
    painted = centres[labels].reshape(photograph.shape)
    error = np.sqrt(np.mean((painted - photograph) ** 2))

    order = np.argsort(centres @ [0.299, 0.587, 0.114])  # dark to light
    share = np.bincount(labels, minlength=len(centres)) / len(labels)
    print(f"{width} x {height} pixels, {options.colours} colours, {steps} steps")
    for red, green, blue, part in np.column_stack([centres, share])[order]:
        name = "#" + "".join(f"{round(255 * c):02x}" for c in (red, green, blue))
        print(f"  {name}  {part:6.1%} of the pixels")
    print(f"root mean square error {error:.4f}")

    figure, (before, after, bar) = plt.subplots(
        1,
        3,
        figsize=(10, 4.6 * height / width + 0.4),
        width_ratios=[8, 8, 1],
        layout="constrained",
    )
    before.imshow(photograph)
    before.set_title("photograph")
    after.imshow(painted.clip(0, 1))
    after.set_title(f"{options.colours} colours")
    bar.imshow(centres[order][:, None].clip(0, 1), aspect="auto")
    bar.set_title("palette")
    for axes in (before, after, bar):
        axes.set_axis_off()
    figure.savefig(options.output, dpi=100)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()

"""The Mandelbrot set, coloured by smooth escape time.

z <- z^2 + c for every point c of a grid at once; points that have escaped are taken out
of the arrays, so that later steps work on what is left.

Source: the normalised iteration count, n + 1 - log2(log|z|), as in H.-O. Peitgen and
P. H. Richter, "The Beauty of Fractals", 1986.
"""

import argparse

try:
    import matplotlib
except ModuleNotFoundError:
    raise SystemExit("the picture needs matplotlib: pip install matplotlib") from None

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def escape_times(c, limit, radius=64.0):
    """Smooth escape time of each point of c, and NaN for those that stay."""
    times = np.full(c.shape, np.nan)
    where = np.arange(c.size)
    c, z = c.ravel(), np.zeros(c.size, complex)
    for n in range(limit):
        z = z * z + c
        size = z.real**2 + z.imag**2
        out = size > radius * radius
        if out.any():
            times.flat[where[out]] = n + 1 - np.log2(np.log(size[out]) / 2)
            where, c, z = where[~out], c[~out], z[~out]
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=720, help="pixels")
    parser.add_argument("--limit", type=int, default=150, help="steps")
    parser.add_argument("--centre", type=complex, default=-0.7436447860 + 0.1318252536j)
    parser.add_argument("--zoom", type=float, default=6e-4, help="width of the picture")
    parser.add_argument("--output", default="mandelbrot.png")
    options = parser.parse_args()

    height = options.width * 3 // 4
    views = [(-0.6 + 0j, 3.2), (options.centre, options.zoom)]
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for ax, (centre, wide) in zip(axes, views):
        x = centre.real + wide * np.linspace(-0.5, 0.5, options.width)
        y = centre.imag + wide * 0.75 * np.linspace(-0.5, 0.5, height)
        limit = options.limit if wide > 1 else 4 * options.limit
        times = escape_times(x + 1j * y[:, None], limit)
        inside = np.isnan(times)
        print(
            f"width {wide:g}: {inside.mean():.4%} inside, "
            f"median escape {np.nanmedian(times):.4f}, latest {np.nanmax(times):.3f}"
        )
        shade = np.log1p(np.clip(times, 0, None))
        ax.imshow(
            np.ma.masked_array(shade, inside), cmap="twilight_shifted", origin="lower",
            extent=(x[0], x[-1], y[0], y[-1]), interpolation="bilinear",
        )
        ax.set_facecolor("black")
        ax.set(xlabel="real part", ylabel="imaginary part")
        ax.set_title(f"centre {centre:.4f}, width {wide:g}")
        ax.ticklabel_format(useOffset=False)
        ax.locator_params(nbins=4)
    figure.savefig(options.output, dpi=110)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()

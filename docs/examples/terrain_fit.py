"""Least squares on a real landscape: the trend surface of an elevation model.

The heights around the Jacksboro fault (Tennessee), as matplotlib ships them, are fitted
by a polynomial in longitude and latitude; what is left over shows the fault and the
ridges. Coefficients come with standard errors, the fit with its R squared and with the
F test of each added degree.

Source: the normal theory of linear regression, for example T. Hastie, R. Tibshirani and
J. Friedman, "The Elements of Statistical Learning", section 3.2.
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


def design(x, y, degree):
    """Columns x^i y^j with i + j <= degree: (n,) -> (n, terms), and their names."""
    powers = [(i, d - i) for d in range(degree + 1) for i in range(d, -1, -1)]
    columns = np.stack([x**i * y**j for i, j in powers], axis=1)
    return columns, [f"x^{i} y^{j}" for i, j in powers]


def fit(columns, z):
    """Coefficients, standard errors and residual sum of squares."""
    coefficients, residual, rank, _ = np.linalg.lstsq(columns, z, rcond=None)
    variance = residual[0] / (len(z) - rank)
    covariance = variance * np.linalg.inv(columns.T @ columns)
    return coefficients, np.sqrt(np.diag(covariance)), residual[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--degree", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="use every n-th point")
    parser.add_argument("--output", default="terrain_fit.png")
    options = parser.parse_args()

    with get_sample_data("jacksboro_fault_dem.npz") as model:
        heights = model["elevation"][:: options.every, :: options.every].astype(float)
        west, east, *latitudes = (
            float(model[name]) for name in ("xmin", "xmax", "ymin", "ymax")
        )
    rows, columns = heights.shape
    y, x = np.meshgrid(np.linspace(1, -1, rows), np.linspace(-1, 1, columns), indexing="ij")
    x, y, z = x.ravel(), y.ravel(), heights.ravel()
    total = ((z - z.mean()) ** 2).sum()
    print(f"{rows} x {columns} heights, {z.min():.0f} to {z.max():.0f} m, mean {z.mean():.2f} m")

    before, terms = total, 1
    for degree in range(1, options.degree + 1):
        matrix, names = design(x, y, degree)
        coefficients, errors, residual = fit(matrix, z)
        free = len(z) - len(names)
        f = (before - residual) / (len(names) - terms) / (residual / free)
        print(f"degree {degree}: R2 {1 - residual / total:.4f}  F {f:9.1f}")
        before, terms = residual, len(names)
    for name, value, error in list(zip(names, coefficients, errors))[:6]:
        print(f"  {name:8} {value:9.3f} +- {error:.3f} m")

    trend = (matrix @ coefficients).reshape(heights.shape)
    rest = heights - trend
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained", sharey=True)
    limit = np.percentile(np.abs(rest), 98)
    pictures = (
        ("elevation (m)", heights, {"cmap": "terrain"}),
        (f"trend of degree {options.degree} (m)", trend, {"cmap": "terrain"}),
        ("what is left (m)", rest, {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}),
    )
    for ax, (title, values, style) in zip(axes, pictures):
        image = ax.imshow(values, extent=(west, east, *sorted(latitudes)), **style)
        ax.set(title=title, xlabel="longitude (degrees)")
        ax.locator_params(axis="x", nbins=3)
        figure.colorbar(image, ax=ax, shrink=0.8)
    axes[0].set_ylabel("latitude (degrees)")
    figure.savefig(options.output, dpi=100)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()

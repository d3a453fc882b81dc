"""matplotlib: plots."""

import io

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt


def _pixels(figure):
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba()).copy()
    plt.close(figure)
    return pixels


def lines(x):
    figure, axes = plt.subplots(figsize=(3, 2))
    (line,) = axes.plot(x[:200], label="x")
    axes.fill_between(np.arange(200)[: x.size], x[:200], x[:200] + 1, alpha=0.3)
    axes.legend()
    return _pixels(figure), line.get_ydata(), axes.get_xlim()


def scatter_and_bars(x):
    figure, (a, b) = plt.subplots(1, 2, figsize=(4, 2))
    a.scatter(x[:100], x[:100] ** 2, c=x[:100], s=x[:100] * 9)
    b.bar(np.arange(5), x[:5], yerr=x[:5] / 9)
    return _pixels(figure)


def histogram(x):
    figure, axes = plt.subplots(figsize=(3, 2))
    counts, edges, _ = axes.hist(x, bins=np.linspace(0, 1, 9))
    return counts, edges, _pixels(figure)


def images(x):
    figure, axes = plt.subplots(figsize=(3, 2))
    axes.imshow(x.reshape(-1, 20)[:100], cmap="viridis")
    axes.contour(x.reshape(-1, 20)[:100], levels=[0.3, 0.6])
    axes.quiver(x[:4], x[:4], x[4:8], x[4:8])
    return _pixels(figure)


def save_and_read(x):
    file = io.BytesIO()
    plt.imsave(file, x.reshape(-1, 20), cmap="gray")
    return plt.imread(io.BytesIO(file.getvalue()))


def colours(x):
    return matplotlib.colormaps["jet"](x), matplotlib.colors.to_rgba_array(
        np.array([[0.1, 0.2, 0.3]])
    )


def three_dimensions(small):
    figure = plt.figure(figsize=(3, 2))
    axes = figure.add_subplot(projection="3d")
    axes.plot_surface(
        *np.meshgrid(np.arange(6), np.arange(5)), small[:30].reshape(5, 6)
    )
    return _pixels(figure)

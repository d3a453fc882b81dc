"""seaborn: statistical plots."""

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns


def _pixels(axes):
    axes.figure.canvas.draw()
    pixels = np.asarray(axes.figure.canvas.buffer_rgba()).copy()
    plt.close(axes.figure)
    return pixels


def histogram(x):
    return _pixels(sns.histplot(x[:300], bins=8, kde=True))


def lines(x):
    return _pixels(sns.lineplot(x=np.arange(50), y=x[:50])), _pixels(
        sns.scatterplot(x=x[:50], y=x[1:51], hue=x[:50] > 0.5)
    )


def heat_map(x):
    return _pixels(sns.heatmap(x[:60].reshape(10, 6), annot=True)), _pixels(
        sns.boxplot(x=x[:50])
    )

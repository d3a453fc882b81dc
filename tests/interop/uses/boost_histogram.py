"""boost-histogram: histograms."""

import boost_histogram as bh
import numpy as np


def filled(x):
    made = bh.Histogram(bh.axis.Regular(10, 0, 2))
    made.fill(x * 1.0 + 0.5)
    made.fill([0.1, x[1]])
    return made.values(), made.sum(), made.axes[0].edges * 2, made.view(flow=True)


def weights(x):
    made = bh.Histogram(bh.axis.Regular(5, 0, 1), storage=bh.storage.Weight())
    made.fill(x, weight=x * 2 + 1)
    return made.values(), made.variances(), made.view().value + 1


def several_axes(x):
    made = bh.Histogram(
        bh.axis.Regular(4, 0, 1),
        bh.axis.Variable(np.array([0, 0.3, 0.7, 2])),
        bh.axis.Integer(0, 5),
    )
    made.fill(x, x * 2, (x * 5).astype(int), threads=2)
    return made.values(), made.project(1).values(), made[bh.loc(0.5), :, sum].values()


def operators(x):
    made = bh.Histogram(bh.axis.Regular(4, 0, 1)).fill(x + 0)
    scale = np.arange(4) * 1.0 + 1
    return (
        (made * 2).values(),
        (made + made).values(),
        (made * scale).values(),
        np.asarray(made),
    )


def assigned(x):
    made = bh.Histogram(bh.axis.Regular(6, 0, 1))
    made[...] = x[:6] * 2
    made[1] = x[3]
    made[2:4] = x[:2] + 1
    return made.values(), made[3]


def shared_view(x):
    made = bh.Histogram(bh.axis.Regular(6, 0, 1)).fill(x * 1.0)
    view = made.view()
    before = view + 1
    view[0] = 100
    made.fill(np.array([0.3] * 9))
    return before, view, made.values(), np.asarray(view) * 2


def like_numpy(x):
    return bh.numpy.histogram(x * 2, bins=5, range=(0, 2)), bh.numpy.histogram2d(
        x, x + 1, bins=3, range=((0, 1), (1, 2))
    )


def error_lengths(x):
    bh.Histogram(bh.axis.Regular(4, 0, 1), bh.axis.Regular(4, 0, 1)).fill(x, x[:7] * 2)

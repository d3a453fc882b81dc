"""hist: histograms with names."""

import hist
import numpy as np


def named(x):
    made = hist.Hist.new.Reg(6, 0, 2, name="a").StrCat(["p", "q"], name="k").Double()
    made.fill(a=x * 1.0 + 0.5, k=np.array(["p", "q"])[(x > 0.5).astype(int)])
    return made.values(), made[{"k": "p"}].values(), made.project("a").values()


def profiles(x):
    made = hist.Hist.new.Reg(5, 0, 1, name="a").Weight().fill(x, weight=x + 1)
    return made.values(), made.variances(), made.density(), made.axes[0].centers * 2


def from_arrays(x):
    axis = hist.axis.Regular(4, 0, 1)
    made = hist.Hist(axis, data=x[:4] * 2)
    return made.values(), (made / made.sum()).values(), (made * np.arange(4)).values()


def quick(x):
    made = hist.Hist.new.Variable(np.arange(4) / 3.0).Int64().fill(x * 0.9)
    return made.values(), made.sum(), made.view() + 1


def stacks(x):
    made = hist.Hist.new.Reg(4, 0, 1, name="a").IntCat([1, 2], name="k").Double()
    made.fill(x * 1.0, (x * 2).astype(int) + 1)
    return [h.values() for h in made.stack("k")]

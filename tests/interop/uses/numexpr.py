"""numexpr: compiled expressions."""

import numexpr as ne
import numpy as np


def evaluate(x):
    y = x * 2
    return (
        ne.evaluate("sqrt(x) + y * 3"),
        ne.evaluate("sum(x * y)"),
        ne.evaluate("where(x > 0.5, x, 0)"),
    )


def dictionaries(x):
    return ne.evaluate("a + b", local_dict={"a": x, "b": x[0]}), ne.evaluate(
        "a > 0.5", {"a": x.astype(np.float32)}
    )


def shared_out(x):
    before = x + 1
    ne.evaluate("x * 3", out=x)
    after = x + 1
    ne.evaluate("x + 1", out=x)
    return before, after, x

"""toolz: tools for functions and iterators."""

import numpy as np
import toolz
from toolz import curried


def pipelines(x):
    found = toolz.pipe(x + 1, np.sqrt, lambda v: v * 2, np.cumsum)
    return (
        found,
        toolz.compose(np.sum, np.abs)(x - 0.5),
        toolz.thread_last(x, (map, np.sqrt), list)[:4],
    )


def sequences(x):
    y = x * 2.0
    return (
        toolz.first(y),
        toolz.last(y),
        list(toolz.take(3, y)),
        list(toolz.partition(4, y[:9])),
        list(toolz.sliding_window(2, y[:4])),
        toolz.get([1, 3], y),
        list(toolz.concat([y[:2], x[:2]])),
        toolz.isiterable(y),
        list(toolz.interleave([y[:2], x[:2]])),
    )


def groups(x):
    keys = (x * 4).astype(int)
    return (
        {
            int(k): len(v)
            for k, v in toolz.groupby(lambda v: int(v * 4), x * 1.0).items()
        },
        toolz.frequencies(keys.tolist()),
        toolz.reduceby(lambda v: int(v * 4), lambda a, b: a + b, x * 1.0, 0.0),
        list(toolz.unique(keys)),
        list(toolz.topk(3, x + 1)),
    )


def dictionaries(x):
    made = {"a": x + 1, "b": x * 2}
    doubled = toolz.valmap(lambda v: v * 2, made)
    merged = toolz.merge(made, {"c": x})
    return (
        doubled,
        toolz.merge_with(sum, made, made)["a"],
        merged["c"] is x,
        toolz.update_in(made, ["a"], np.sum)["a"],
        toolz.assoc(made, "d", x[:2])["d"],
        toolz.keyfilter(lambda k: k == "b", made),
    )


def curried_functions(x):
    add = toolz.curry(np.add)
    scaled = toolz.curry(lambda a, b: a * b)(x + 1)
    return add(x)(1), scaled(2.0), curried.map(np.sqrt)(x[:3]).__next__()


def memoized(x):
    calls = []

    @toolz.memoize(key=lambda args, kwargs: args[0].tobytes())
    def total(v):
        calls.append(1)
        return v.sum()

    return total(x + 1), total(x + 1), len(calls)


def shared_rows(x):
    y = x.reshape(-1, 4)
    before = y + 1
    for row in toolz.take_nth(2, y):
        row *= 2
    toolz.do(lambda v: v.fill(3), y[0])
    return before, y


def error_first(x):
    return toolz.nth(10**6, x[:3] * 2)

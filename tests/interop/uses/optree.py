"""optree: trees of containers."""

import collections

import numpy as np
import optree

Point = collections.namedtuple("Point", "a b")


def _tree(x):
    return {"w": x * 1.0 + 1, "b": [x[:3], (x[3:5] * 2, None)], "p": Point(x + 1, 3.0)}


def leaves(x):
    found, shape = optree.tree_flatten(_tree(x))
    return found, shape.num_leaves, optree.tree_unflatten(shape, found)


def maps(x):
    tree = _tree(x)
    return (
        optree.tree_map(lambda v: v * 2, tree),
        optree.tree_map(lambda a, b: a + b, tree, tree),
        optree.tree_reduce(lambda a, b: a + np.sum(b), tree, 0.0),
        optree.tree_all(optree.tree_map(lambda v: np.all(v >= 0), tree)),
    )


def keeps_identity(x):
    tree = _tree(x)
    same = optree.tree_map(lambda v: v, tree)
    return same["w"] is tree["w"], same["p"].a is tree["p"].a, type(same["p"]).__name__


def raveled(x):
    from optree.integrations.numpy import tree_ravel

    flat, unravel = tree_ravel({"a": x + 1, "b": [x[:4].reshape(2, 2)]})
    back = unravel(flat * 2)
    return flat, back


def paths(small):
    tree = {"a": small[:2] * 2, "b": [small[:1]]}
    return optree.tree_paths(tree), [str(p) for p in optree.tree_accessors(tree)]


def shared_updates(x):
    tree = {"a": x, "b": [x[:4]]}
    before = x + 1
    optree.tree_map_(lambda v: v.__imul__(2), tree)
    return before, tree["a"], tree["b"][0]


def error_structures(x):
    return optree.tree_map(lambda a, b: a + b, {"a": x + 1}, {"b": x})

"""dm-tree: trees of containers."""

import numpy as np
import tree


def _nest(x):
    return {"w": x * 1.0 + 1, "b": [x[:3], (x[3:5] * 2, 5)]}


def flattened(x):
    nest = _nest(x)
    found = tree.flatten(nest)
    return found, tree.unflatten_as(nest, [v * 2 for v in found]), tree.is_nested(x + 1)


def maps(x):
    nest = _nest(x)
    return (
        tree.map_structure(lambda v: v * 2, nest),
        tree.map_structure(lambda a, b: a + b, nest, nest),
        tree.map_structure_with_path(lambda p, v: (len(p), np.sum(v)), nest),
    )


def keeps_identity(x):
    nest = _nest(x)
    same = tree.map_structure(lambda v: v, nest)
    return same["w"] is nest["w"], same["b"][0] is nest["b"][0]


def paths(small):
    return [(p, v) for p, v in tree.flatten_with_path({"a": [small[:2] * 2], "b": 1})]


def traversed(x):
    found = tree.traverse(
        lambda v: v * 2 if isinstance(v, np.ndarray) else None, _nest(x)
    )
    return found


def shared_leaves(x):
    nest = {"a": x, "b": [x[:4]]}
    before = x + 1
    for leaf in tree.flatten(nest):
        leaf *= 2
    return before, nest


def error_structures(x):
    tree.assert_same_structure({"a": x + 1}, {"a": [x, x]})

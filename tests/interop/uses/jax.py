"""jax: compiled functions and gradients."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def into_jax(x):
    return (
        np.asarray(jnp.asarray(x)),
        np.asarray(jnp.array(x)),
        np.asarray(jax.device_put(x)),
        jnp.asarray(x).dtype.name,
    )


def functions(x):
    return (
        np.asarray(jnp.sum(x)),
        np.asarray(jnp.dot(x, x)),
        np.asarray(jnp.where(x > 0.5, x, 0)),
        np.asarray(jnp.sort(x)),
    )


def compiled(x):
    f = jax.jit(lambda a, b: a * b + 1)
    return (
        np.asarray(f(x, 2.0)),
        np.asarray(f(x, x)),
        np.asarray(jax.vmap(lambda v: v * 2)(x.reshape(-1, 4))),
    )


def gradients(x):
    return np.asarray(jax.grad(lambda a: (a**2).sum())(x)), np.asarray(
        jax.jacobian(lambda a: a * 2)(x[:3])
    )


def trees(x):
    tree = {"a": x, "b": [x[:2], 1.0]}
    return jax.tree_util.tree_map(lambda v: np.asarray(jnp.asarray(v) * 2), tree), len(
        jax.tree_util.tree_leaves(tree)
    )


def operators(x):
    j = jnp.arange(float(x.size))
    return (
        np.asarray(j + x),
        np.asarray(x + j),
        np.asarray(x * j),
        np.asarray(j.at[np.array([1, 2])].set(x[:2])),
        np.asarray(j[x > 0.9]),
        np.asarray(j[(x * 9).astype(int)]),
    )


def out_of_jax(x):
    j = jnp.asarray(x)
    return np.array(j) + 1, np.sqrt(np.asarray(j)), np.concatenate([np.asarray(j), x])

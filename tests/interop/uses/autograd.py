"""autograd: gradients of NumPy code."""

import autograd.numpy as anp
from autograd import elementwise_grad, grad, jacobian

# The sine of mxnp differs from NumPy's in the last bit.
TOLERANCES = {"gradient": 1e-14}


def gradient(x):
    return grad(lambda v: anp.sum(anp.sin(v) ** 2))(x), elementwise_grad(anp.tanh)(x)


def matrices(x):
    weights = x[:8].reshape(4, 2)
    data = x.reshape(-1, 4)
    return grad(lambda w: anp.mean(anp.dot(data, w) ** 2))(weights), jacobian(
        lambda v: v**3
    )(x[:3])


def functions(x):
    return anp.exp(x), anp.concatenate([x, x]), anp.array([x[0], x[1]])

"""tensorly: tensor decompositions."""

import numpy as np
import tensorly as tl
from tensorly.decomposition import parafac, tucker

TOLERANCES = {"decompose": 1e-9}


def unfold(x):
    t = tl.tensor(x.reshape(-1, 5, 4))
    return (
        tl.unfold(t, 1),
        tl.fold(tl.unfold(t, 1), 1, t.shape),
        tl.norm(t),
        tl.tenalg.mode_dot(t, x[:8].reshape(2, 4), 2),
    )


def decompose(small):
    t = small.reshape(3, 5, 4)
    weights, factors = parafac(t, 2, init="svd", n_iter_max=5)
    core, _ = tucker(t, rank=[2, 2, 2], n_iter_max=5)
    return np.abs(factors[0]), np.abs(core), tl.cp_to_tensor((weights, factors))

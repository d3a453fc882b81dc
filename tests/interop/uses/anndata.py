"""anndata: annotated matrices."""

import anndata
import numpy as np
import pandas as pd


def _annotated(x):
    made = anndata.AnnData(x.reshape(-1, 4) * 1.0 + 1)
    made.obs["sum"] = made.X.sum(axis=1)
    made.obsm["pair"] = np.stack([made.X[:, 0], made.X[:, 1]], axis=1) * 2
    made.layers["log"] = np.log(made.X)
    made.uns["levels"] = {"a": x[:3] * 2}
    return made


def parts(x):
    made = _annotated(x)
    return made.X, made.obs["sum"].to_numpy(), made.obsm["pair"], made.layers["log"]


def subsets(x):
    made = _annotated(x)
    rows = made[x.reshape(-1, 4)[:, 0] > 0.5, [0, 2]]
    copied = rows.copy()
    copied.X[0, 0] = 9
    return rows.X, copied.X, made[np.array([2, 0])].obsm["pair"], made.shape


def files_h5ad(x):
    made = _annotated(x)
    made.write_h5ad("a.h5ad")
    read = anndata.read_h5ad("a.h5ad")
    return read.X, read.uns["levels"]["a"], read.obsm["pair"], read.layers["log"]


def files_zarr(x):
    made = _annotated(x)
    made.write_zarr("a.zarr")
    read = anndata.read_zarr("a.zarr")
    return read.X, read.obsm["pair"]


def concatenated(x):
    a, b = _annotated(x), _annotated(x[::-1])
    b.obs_names = [f"b{i}" for i in range(b.n_obs)]
    both = anndata.concat([a, b])
    return both.X, both.obsm["pair"], both.n_obs


def frames(x):
    made = _annotated(x)
    return made.to_df().to_numpy(), pd.DataFrame(made.obsm["pair"]).sum().to_numpy()


def shared_matrix(x):
    y = x.reshape(-1, 4)
    made = anndata.AnnData(y)
    before = y * 2
    made.X[0, 0] = 5
    y[1, 1] = 7
    return before, made.X, y, x[:6]


def error_shape(x):
    made = anndata.AnnData(x.reshape(-1, 4))
    made.obsm["wrong"] = x + 1

"""scanpy: single cells."""

import anndata
import numpy as np
import scanpy as sc

sc.settings.verbosity = 0
TOLERANCES = {"components": 0.0001, "neighbours": 0.0001, "normalized": 1e-06}


def _cells(x):
    counts = np.floor(x[:600].reshape(-1, 6) * 9.0)
    return anndata.AnnData(counts + (counts.sum(axis=1, keepdims=True) == 0))


def normalized(x):
    cells = _cells(x)
    sc.pp.normalize_total(cells, target_sum=100)
    sc.pp.log1p(cells)
    return cells.X, sc.pp.log1p(x * 2)


def filtered(x):
    cells = _cells(x)
    sc.pp.calculate_qc_metrics(cells, percent_top=None, inplace=True)
    sc.pp.filter_cells(cells, min_counts=20)
    sc.pp.filter_genes(cells, min_cells=2)
    return (
        cells.X,
        cells.obs["total_counts"].to_numpy(),
        cells.var["n_cells"].to_numpy(),
    )


def scaled(x):
    cells = _cells(x)
    sc.pp.scale(cells, max_value=2)
    table = x[:60].reshape(-1, 6) * 2
    return cells.X, sc.pp.scale(table, copy=True), table


def components(x):
    cells = _cells(x)
    sc.pp.pca(cells, n_comps=2, svd_solver="full")
    return np.abs(cells.obsm["X_pca"]), cells.uns["pca"]["variance"] * 2


def neighbours(x):
    cells = _cells(x)
    sc.pp.neighbors(cells, n_neighbors=4, use_rep="X", random_state=0)
    return cells.obsp["distances"].toarray()


def scores(x):
    cells = _cells(x)
    cells.obs["k"] = np.where(np.arange(cells.n_obs) % 2, "a", "b")
    cells.obs["k"] = cells.obs["k"].astype("category")
    sc.tl.rank_genes_groups(cells, "k", method="t-test")
    found = sc.get.aggregate(cells, "k", ["mean", "sum"])
    return (
        cells.uns["rank_genes_groups"]["scores"]["a"],
        found.layers["mean"],
        found.layers["sum"],
    )

"""hdbscan: clusters of points."""

import hdbscan
import numpy as np


def clusters(x):
    data = np.concatenate([x[:600].reshape(-1, 2), x[:600].reshape(-1, 2) + 5])
    found = hdbscan.HDBSCAN(min_cluster_size=5, core_dist_n_jobs=1).fit(data)
    return found.labels_, found.probabilities_


def distances(small):
    data = small.reshape(-1, 3)
    matrix = np.sqrt(((data[:, None] - data) ** 2).sum(-1))
    return hdbscan.HDBSCAN(min_cluster_size=3, metric="precomputed").fit_predict(matrix)

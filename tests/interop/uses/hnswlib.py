"""hnswlib: nearest neighbours of vectors."""

import hnswlib
import numpy as np


def search(x):
    data = x[:2000].reshape(-1, 4).astype(np.float32)
    index = hnswlib.Index("l2", 4)
    index.init_index(len(data), random_seed=1)
    index.add_items(data, np.arange(len(data)) * 2, num_threads=1)
    return index.knn_query(data[:3], k=2, num_threads=1), index.get_items(
        np.array([2, 4])
    )

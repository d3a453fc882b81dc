"""faiss-cpu: nearest neighbours of vectors."""

import faiss
import numpy as np

faiss.omp_set_num_threads(1)


def search(x):
    data = x.reshape(-1, 4).astype(np.float32)
    index = faiss.IndexFlatL2(4)
    index.add(data)
    return index.search(data[:5] + 0.01, 3), index.reconstruct(1), index.ntotal


def clusters(x):
    data = x.reshape(-1, 4).astype(np.float32)
    kmeans = faiss.Kmeans(4, 2, niter=3, seed=1, min_points_per_centroid=1)
    kmeans.train(data)
    return kmeans.centroids, kmeans.index.search(data[:3], 1)[1]


def identifiers(x):
    data = x.reshape(-1, 4).astype(np.float32)
    index = faiss.IndexIDMap(faiss.IndexFlatIP(4))
    index.add_with_ids(data, np.arange(len(data)) * 10)
    return index.search(data[:2], 2)[1], faiss.vector_to_array(
        faiss.array_to_vector(x)
        if hasattr(faiss, "array_to_vector")
        else faiss.Float64Vector()
    )


def shared_normalize(x):
    data = x.reshape(-1, 4).astype(np.float32)
    before = data + 1
    faiss.normalize_L2(data)
    return before, data, data * 2

"""umap-learn: embedding of points in a plane."""

import umap


def embed(x):
    data = x[:800].reshape(-1, 4)
    reducer = umap.UMAP(
        n_neighbors=4, n_epochs=20, random_state=1, init="random", n_jobs=1
    )
    return reducer.fit_transform(data), reducer.transform(data[:2])

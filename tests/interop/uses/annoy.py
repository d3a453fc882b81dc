"""annoy: nearest neighbours of vectors."""

import annoy


def search(x):
    index = annoy.AnnoyIndex(4, "euclidean")
    index.set_seed(1)
    for i, row in enumerate(x[:800].reshape(-1, 4)):
        index.add_item(i, row)
    index.build(3)
    return index.get_nns_by_vector(x[:4], 3), index.get_item_vector(2)

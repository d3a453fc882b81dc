"""networkx: graphs."""

import networkx as nx
import numpy as np


def from_matrix(small):
    m = np.triu(small[:36].reshape(6, 6) > 0.6).astype(float)
    g = nx.from_numpy_array(m)
    return (
        nx.to_numpy_array(g),
        g.number_of_edges(),
        nx.adjacency_matrix(g).toarray(),
        sorted(nx.connected_components(g), key=len)[0].__len__(),
    )


def weights(small):
    g = nx.Graph()
    g.add_weighted_edges_from((i, (i + 1) % 20, w) for i, w in enumerate(small[:20]))
    return (
        nx.pagerank(g),
        nx.shortest_path_length(g, 0, 7, weight="weight"),
        nx.laplacian_matrix(g).toarray(),
    )


def layouts(small):
    g = nx.path_graph(5)
    start = dict(enumerate(small[:10].reshape(5, 2)))
    return (
        nx.spring_layout(g, pos=start, seed=1),
        nx.circular_layout(g),
        nx.spectral_layout(g, center=small[:2]).__len__(),
        nx.relabel_nodes(g, dict(zip(range(5), np.arange(5) * 2))).number_of_nodes(),
    )

"""igraph: graphs."""

import random

import igraph
import numpy as np


def _edges(x):
    return (x[:40] * 12).astype(int).reshape(-1, 2)


def from_edges(x):
    made = igraph.Graph(n=12, edges=_edges(x) + 0)
    return made.degree(), made.get_edgelist(), np.array(made.get_adjacency().data)


def adjacency(x):
    matrix = (x[:36].reshape(6, 6) * 1.0 > 0.5).astype(int)
    made = igraph.Graph.Adjacency(matrix)
    weighted = igraph.Graph.Weighted_Adjacency(x[:36].reshape(6, 6) * 2)
    return made.get_edgelist(), weighted.es["weight"], np.array(made.distances())


def attributes(x):
    made = igraph.Graph.Ring(9)
    made.es["weight"] = x[:9] + 1
    made.vs["value"] = (x[:9] * 9).astype(int)
    made["all"] = x[:4] * 2
    return (
        made.es["weight"],
        made.distances(weights="weight"),
        made.distances(weights=x[:9] * 3),
        made.vs.select(value_gt=3).indices,
        made["all"],
    )


def measures(x):
    made = igraph.Graph(n=12, edges=_edges(x).tolist())
    weights = x[: made.ecount()] + 1
    return (
        made.pagerank(weights=list(weights)),
        made.betweenness(vertices=np.arange(3)),
        made.community_multilevel(weights=weights.tolist()).modularity,
        made.subgraph(np.array([1, 2, 3, 5])).ecount(),
    )


def layouts(x):
    made = igraph.Graph.Full(4)
    layout = igraph.Layout(x[:8].reshape(4, 2) * 2)
    layout.scale(2.0)
    random.seed(1)
    seeded = made.layout_fruchterman_reingold(seed=x[:8].reshape(4, 2) + 0, niter=1)
    return np.array(layout.coords), np.array(seeded.coords)


def error_edges(x):
    igraph.Graph(n=3, edges=x.reshape(-1, 4) * 2)

"""Random graphs, as Arrow tables of int64 columns x and y without repeated edges, and reachability over them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

REACHABILITY = """
.decl edge(x: number, y: number)
.decl reaches(x: number, y: number)
.input edge
.output reaches
reaches(x, y) :- edge(x, y).
reaches(x, z) :- reaches(x, y), edge(y, z).
"""


def sparse(edges: int, per_node: float = 0.9, acyclic: bool = False) -> pa.Table:
    """A random graph with so many edges to a node: below 1, reachability stays local."""
    random = np.random.default_rng(edges)
    pairs = random.integers(0, int(edges / per_node), (edges, 2))
    if acyclic:
        pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return _edges(pairs[:, 0], pairs[:, 1])


def tree(nodes: int, per_node: int) -> pa.Table:
    """The edges from each node but the root to its parent, in a tree where each has so many children."""
    children = np.arange(1, nodes)
    return _edges(children, (children - 1) // per_node)


def _edges(x: np.ndarray, y: np.ndarray) -> pa.Table:
    keys = np.unique(x << 32 | y)
    return pa.table({"x": keys >> 32, "y": keys & 0xFFFFFFFF})

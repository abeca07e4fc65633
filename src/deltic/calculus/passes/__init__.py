"""Rewrites of circuits that cost less when they are incrementalized, in their order.

Each keeps the values of all sinks for all values of the tables. `incrementalize` applies them before it takes
derivatives, and so does every engine that runs what it makes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import cycle

from deltic.calculus.passes.cancel_negations import cancel_negations
from deltic.calculus.passes.delay_distinct import delay_distinct
from deltic.calculus.passes.drop_distinct import drop_distinct
from deltic.calculus.passes.drop_unread import drop_unread
from deltic.calculus.passes.flatten_fixpoints import flatten_fixpoints
from deltic.calculus.passes.flatten_sums import flatten_sums
from deltic.calculus.passes.fuse_filters import fuse_filters
from deltic.calculus.passes.fuse_maps import fuse_maps
from deltic.calculus.passes.limit_ranks import limit_ranks
from deltic.calculus.passes.project_early import project_early
from deltic.calculus.passes.push_filters import push_filters
from deltic.calculus.passes.share_sums import share_sums
from deltic.circuit.graph import Circuit

Pass = Callable[[Circuit], Circuit]

OPTIMIZATIONS: tuple[Pass, ...] = (
    drop_unread,
    flatten_fixpoints,
    cancel_negations,
    flatten_sums,
    share_sums,
    drop_distinct,
    delay_distinct,
    push_filters,
    fuse_filters,
    limit_ranks,
    project_early,
    fuse_maps,
)


@lru_cache(maxsize=4)
def optimize(circuit: Circuit) -> Circuit:
    """All passes, over and over until none changes the circuit; its sinks have the same values as before.

    The last few results are remembered: a catalog's circuit is optimized for its demand, and to be incrementalized.
    """
    rewrites, unchanged = cycle(OPTIMIZATIONS), 0
    while unchanged < len(OPTIMIZATIONS):
        found = next(rewrites)(circuit)
        circuit, unchanged = found, unchanged + 1 if found == circuit else 0
    return circuit

"""Several delta queries in one call, one after the other: for small changes, calls from Python cost the most."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels import join
from deltic.engine.kernels.declaring import kernel, numbered
from deltic.engine.kernels.memory import array_i64
from deltic.engine.kernels.query import begin, visited_by
from deltic.engine.kernels.search import TIMES
from deltic.engine.kernels.types import Int, Table, Weights, Words2

# Columns of `queries`: the packed query, see `query`, by address and length; the sign of its derivations; the first of
# its atoms, and how many; and what its search did: the derivations and the rows visited.
S = numbered("PACKED LENGTH SIGN ATOMS ATOM_COUNT DERIVED VISITED")


@kernel
def search_all(
    queries: Table, atoms: Table, runs: Table, at: Int, continues: bool, words: Int, room: Int, patience: Int
) -> tuple[Int, Int, Words2, Weights]:
    """Search queries from number `at` on, until all are DONE, `room` derivations are FULL, or one PAUSED or OVERFLOWs.

    If it `continues`, the first goes on where it stopped. Return the reason, the number of the last query, and the
    derivations with their weights. `atoms` and `runs` are those of `join.search`; no times count.
    """
    out = np.empty((words, room), np.uint64)
    weights = np.empty(room, np.int64)
    no_times = np.empty(0, np.int32)
    fingers = np.zeros(runs.shape[0] + 1, np.int64)
    runs[:, TIMES] = 0
    status, n = join.DONE, 0
    while status == join.DONE and at < queries.shape[0]:
        query = queries[at]
        packed = array_i64(query[S.PACKED], query[S.LENGTH])
        if not continues:
            begin(packed, 0, query[S.SIGN], patience)
        own = atoms[query[S.ATOMS] : query[S.ATOMS] + query[S.ATOM_COUNT]]
        before = n
        status, n = join.search(packed, own, runs, fingers, out, no_times, weights, n)
        query[S.DERIVED] += n - before
        query[S.VISITED] = visited_by(packed)
        continues = False
        at += status == join.DONE
    return status, at, out[:, :n].copy(), weights[:n].copy()

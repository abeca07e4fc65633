"""Queries in compiled iterations: the runs that their atoms read, and the search; see `iterate`.

* `queries` int64[Q, .]: the relation of the head, the sign, the query's rows of `atoms`, what it did so far, and the
  addresses and sizes of the tables of `bind.Tables`.
* `atoms` int64[., 3]: for each atom after the change its arrangement, which version of it is read, and whether its
  times count.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels import join
from deltic.engine.local.kernels.memory import array_i64, table_i64
from deltic.engine.local.kernels.overlay import (
    A_BASE_TIME,
    A_START,
    A_START_COUNT,
    FAR,
    MAX_TIME,
    NEAR,
    Levels,
    gather,
)
from deltic.engine.local.kernels.search import TIMES
from deltic.engine.local.kernels.types import Int, Ints, Table, Times, Weights, Words2

# Columns of `queries`.
Q_HEAD, Q_SIGN, Q_ATOMS, Q_ATOM_COUNT, Q_CHANGED, Q_DERIVED, Q_VISITED, Q_TABLES = range(8)
# Columns of `atoms`.
T_ARRANGEMENT, T_VERSION, T_TIMED = range(3)
# Versions of an arrangement: without the change of the present iteration, with it, and as it was before the epoch.
WITHOUT, WITH, START = range(3)


@njit(cache=True)
def prepare(
    query: Ints,
    atoms: Table,
    arrangements: Table,
    base: Table,
    levels: Levels,
    change: Ints,
    now: Int,
    runs: Table,
    ranges: Table,
) -> tuple[Int, bool]:
    """The runs of each atom of a query that follows the rows of a descriptor, and where it begins.

    How many runs there are in all, and whether times count: where all are at most `now`, they do not.
    """
    for k in range(4):
        runs[0, k] = change[k]
    ranges[0, 0] = 0
    ranges[0, 1] = 1
    n = 1
    timed = False
    for t in range(query[Q_ATOM_COUNT]):
        atom = atoms[query[Q_ATOMS] + t]
        a = atom[T_ARRANGEMENT]
        start = n
        if atom[T_VERSION] == START:
            for r in range(arrangements[a, A_START], arrangements[a, A_START] + arrangements[a, A_START_COUNT]):
                for k in range(4):
                    runs[n, k] = base[r, k]
                n += 1
            timed = timed or atom[T_TIMED] != 0
        else:
            n = gather(runs, n, arrangements, base, levels, a, atom[T_VERSION] == WITH)
            latest = max(arrangements[a, A_BASE_TIME], levels[a, NEAR, MAX_TIME], levels[a, FAR, MAX_TIME])
            timed = timed or (atom[T_TIMED] != 0 and latest > now)
        ranges[t + 1, 0] = start
        ranges[t + 1, 1] = n
        if not atom[T_TIMED]:
            runs[start:n, TIMES] = 0
    tables = query[Q_TABLES:]
    path = table_i64(tables[22], 5, tables[1] + 1)
    path[:, 0] = 0
    path[3, 0] = now
    path[4, 0] = query[Q_SIGN]
    array_i64(tables[23], 4)[:] = 0
    return n, timed


@njit(cache=True)
def resume(
    query: Ints, ranges: Table, runs: Table, out: Words2, out_times: Times, out_weights: Weights
) -> tuple[Int, Int]:
    """Go on with a search that was prepared, until it ends or the output is full: its status, the rows written."""
    tables = query[Q_TABLES:]
    state = array_i64(tables[23], 4)
    state[join.WRITTEN] = 0
    status = join.search(
        table_i64(tables[0], tables[1], 6),
        table_i64(tables[2], tables[3], 5),
        table_i64(tables[4], tables[5], 3),
        table_i64(tables[6], tables[7], 4),
        table_i64(tables[8], tables[9], 4),
        table_i64(tables[10], tables[11], 5),
        table_i64(tables[24], tables[25], 6),
        table_i64(tables[26], tables[27], 9),
        table_i64(tables[12], tables[13], 4),
        table_i64(tables[14], tables[15], 5),
        ranges[: query[Q_ATOM_COUNT] + 1],
        runs,
        array_i64(tables[16], tables[17]).view(np.uint64),
        array_i64(tables[18], tables[19]),
        table_i64(tables[20], 3, query[Q_ATOM_COUNT] + 1),
        table_i64(tables[21], 3, tables[9]),
        table_i64(tables[22], 5, tables[1] + 1),
        state,
        out,
        out_times,
        out_weights,
    )
    query[Q_DERIVED] += state[join.WRITTEN]
    return status, state[join.WRITTEN]


@njit(cache=True)
def finish(query: Ints, changed: Int) -> Int:
    """Note that a search for so many changed rows is over: the rows that it visited."""
    visited = array_i64(query[Q_TABLES + 23], 4)[join.VISITED]
    query[Q_VISITED] += visited
    query[Q_CHANGED] += changed
    return visited

"""Queries in compiled iterations: the runs that their atoms read, and the search; see `iterate`.

* `queries` int64[Q, .]: the relation of the head, the sign, the query's rows of `atoms`, what it did so far, and the
  address and length of each of `TABLES`: those of `bind.Tables`, and the fingers, one for each run and one more.
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
    copy_runs,
    gather,
)
from deltic.engine.local.kernels.search import TIMES
from deltic.engine.local.kernels.types import Int, Ints, Table, Times, Weights, Words2

# Columns of `queries`.
Q_HEAD, Q_SIGN, Q_ATOMS, Q_ATOM_COUNT, Q_CHANGED, Q_DERIVED, Q_VISITED, Q_TABLES = range(8)
TABLES = (
    *("steps", "groups", "keys", "binds", "parts", "tests", "code", "lets", "head", "moves", "slots"),
    *("fingers", "ranges", "cursors", "path", "state"),
)
Q_SIZE = Q_TABLES + 2 * len(TABLES)
(
    Q_STEPS,
    Q_GROUPS,
    Q_KEYS,
    Q_BINDS,
    Q_PARTS,
    Q_TESTS,
    Q_CODE,
    Q_LETS,
    Q_HEADS,
    Q_MOVES,
    Q_SLOTS,
    Q_FINGERS,
    Q_RANGES,
    Q_CURSORS,
    Q_PATH,
    Q_STATE,
) = range(Q_TABLES, Q_SIZE, 2)
# Columns of `atoms`.
T_ARRANGEMENT, T_VERSION, T_TIMED = range(3)
# Versions of an arrangement: without the change of the present iteration, with it, and as it was before the epoch.
WITHOUT, WITH, START = range(3)


@njit(cache=True)
def _table(query: Ints, which: Int, columns: Int) -> Table:
    """One of the tables of a query."""
    table: Table = table_i64(query[which], query[which + 1], columns)
    return table


@njit(cache=True)
def _state(query: Ints) -> Ints:
    """Where the search of a query stands."""
    state: Ints = array_i64(query[Q_STATE], query[Q_STATE + 1])
    return state


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
            n = copy_runs(runs, n, base, arrangements[a, A_START], arrangements[a, A_START_COUNT])
            timed = timed or atom[T_TIMED] != 0
        else:
            n = gather(runs, n, arrangements, base, levels, a, atom[T_VERSION] == WITH)
            latest = max(arrangements[a, A_BASE_TIME], levels[a, NEAR, MAX_TIME], levels[a, FAR, MAX_TIME])
            timed = timed or (atom[T_TIMED] != 0 and latest > now)
        ranges[t + 1, 0] = start
        ranges[t + 1, 1] = n
        if not atom[T_TIMED]:
            runs[start:n, TIMES] = 0
    path = _table(query, Q_PATH, query[Q_STEPS + 1] + 1)
    path[:, 0] = 0
    path[3, 0] = now
    path[4, 0] = query[Q_SIGN]
    _state(query)[:] = 0
    return n, timed


@njit(cache=True)
def resume(
    query: Ints, ranges: Table, runs: Table, out: Words2, out_times: Times, out_weights: Weights
) -> tuple[Int, Int]:
    """Go on with a search that was prepared, until it ends or the output is full: its status, the rows written."""
    state = _state(query)
    state[join.WRITTEN] = 0
    status = join.search(
        _table(query, Q_STEPS, 6),
        _table(query, Q_GROUPS, 5),
        _table(query, Q_KEYS, 3),
        _table(query, Q_BINDS, 4),
        _table(query, Q_PARTS, 4),
        _table(query, Q_TESTS, 5),
        _table(query, Q_CODE, 6),
        _table(query, Q_LETS, 9),
        _table(query, Q_HEADS, 4),
        _table(query, Q_MOVES, 5),
        ranges[: query[Q_ATOM_COUNT] + 1],
        runs,
        array_i64(query[Q_SLOTS], query[Q_SLOTS + 1]).view(np.uint64),
        array_i64(query[Q_FINGERS], query[Q_FINGERS + 1]),
        _table(query, Q_RANGES, query[Q_ATOM_COUNT] + 1),
        _table(query, Q_CURSORS, query[Q_PARTS + 1]),
        _table(query, Q_PATH, query[Q_STEPS + 1] + 1),
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
    visited = _state(query)[join.VISITED]
    query[Q_VISITED] += visited
    query[Q_CHANGED] += changed
    return visited

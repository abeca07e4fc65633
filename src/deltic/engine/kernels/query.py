"""A query in the form for kernels: one vector of int64 with all of its tables.

The vector begins with a header of three fields for each table: the start of its elements, its rows and its columns.
Only this file defines which tables there are, in which order, and how wide they are; `join` defines the meaning of
their columns, and `arithmetic` that of `code` and `lets`.

The tables of `COLUMNS` say what to search. The others are the position of the search, so that a copy of the vector is
another search. `slots` are the values of variables and literals, as uint64. `ranges` has, for each atom, the start, end
and run of its range. `cursors` has, for each part of a MEET, its position and the initial range. `path` has, for each
step, its position, the range that it narrowed, and its initial time and weight. `state` is the step, how it is entered,
the rows visited, and how many more to visit before the search pauses. `saved`, in queries that ask for values, has room
for all of these, to return to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import array_i64, table_i64
from deltic.engine.kernels.types import Int, Ints, Table, Words1

# The tables that say what to search, and how many columns each has.
COLUMNS = {
    "steps": 7,
    "groups": 5,
    "keys": 3,
    "binds": 4,
    "parts": 4,
    "tests": 5,
    "code": 6,
    "lets": 11,
    "head": 4,
    "moves": 5,
}
STEPS, GROUPS, KEYS, BINDS, PARTS, TESTS, CODE, LETS, HEAD, MOVES = range(10)
# Those that say where the search stands: one row for each field, and a column for each atom, part and step.
SLOTS, RANGES, CURSORS, PATH, STATE, SAVED = range(10, 16)
LOW, HIGH, CURRENT = range(3)
CURSOR, PART_LOW, PART_HIGH = range(3)
POSITION, SAVED_LOW, SAVED_HIGH, TIME, WEIGHT = range(5)
STEP, MODE, VISITED, PATIENCE = range(4)


def pack(rows: Mapping[str, Sequence[Sequence[int]]], slots: Sequence[int], atoms: int, asks: bool = False) -> Ints:
    """Return the query with these rows in its tables and these values in its slots, over this number of atoms."""
    tables = [np.array(rows[name], np.int64).reshape(-1, columns) for name, columns in COLUMNS.items()]
    tables.append(np.array(slots, np.uint64).view(np.int64).reshape(1, -1))
    sizes = (3, atoms), (3, len(rows["parts"])), (5, len(rows["steps"]) + 1), (1, 4)
    tables += [np.zeros(size, np.int64) for size in sizes]
    tables.append(np.zeros((1, sum(table.size for table in tables[SLOTS:]) if asks else 0), np.int64))
    header = np.zeros((len(tables), 3), np.int64)
    end = header.size
    for field, array in zip(header, tables, strict=True):
        field[:] = end, *array.shape
        end += array.size
    return np.concatenate([header, *tables], axis=None)


def view(query: Ints, which: int) -> Table:
    """Return one of the tables of a query, for reading and writing."""
    start, rows, columns = query[3 * which : 3 * which + 3].tolist()
    return query[start : start + rows * columns].reshape(rows, columns)


@compiled
def table(query: Ints, which: Int) -> Table:
    """Return the same as `view`, in compiled code."""
    result: Table = table_i64(query.ctypes.data + 8 * query[3 * which], query[3 * which + 1], query[3 * which + 2])
    return result


@compiled
def slots_of(query: Ints) -> Words1:
    """Return the values of variables and literals."""
    result: Words1 = array_i64(query.ctypes.data + 8 * query[3 * SLOTS], query[3 * SLOTS + 2]).view(np.uint64)
    return result


@kernel
def begin(query: Ints, now: Int, sign: Int, patience: Int) -> None:
    """Start a search at the first step and at time `now`, which pauses after every `patience` visited rows."""
    state, path = table(query, STATE)[0], table(query, PATH)
    state[STEP] = state[MODE] = state[VISITED] = 0
    state[PATIENCE] = patience
    path[TIME, 0] = now
    path[WEIGHT, 0] = sign


@compiled
def visited_by(query: Ints) -> Int:
    """Return the number of rows that the last search visited."""
    return query[query[3 * STATE] + VISITED]


@compiled
def save(query: Ints) -> None:
    """Save the position of the search for `restore`."""
    start, saved = query[3 * SLOTS], query[3 * SAVED]
    for i in range(saved - start):
        query[saved + i] = query[start + i]


@compiled
def restore(query: Ints) -> None:
    """Return to the saved position of the search."""
    start, saved = query[3 * SLOTS], query[3 * SAVED]
    for i in range(saved - start):
        query[start + i] = query[saved + i]

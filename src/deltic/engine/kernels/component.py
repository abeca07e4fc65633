"""The tables of a recursive component whose iterations run in compiled code, and what these columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.declaring import FieldArrays, compiled
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.types import Ints, Table, Times, Weights, Words1, Words2

Levels = npt.NDArray[np.int64]

# Columns of `relations`: the words of a row; the first arrangement, and how many there are beside the last, which holds
# the counts; the queries that follow the relation; those that search for its lost rows; and the arrangement of what
# they found. Where relations have histories, the last arrangement holds the drift, and that of what was found tells how
# rows are made from canonical ones for the relation that examines this one, or has the totals of its groups. Its number
# follows, NOBODY if there is none; how many iterations after it is derived a row is there; and the row of `aggregates`
# that says how its groups are examined, NOBODY where its rows are. Rows may be admitted by a value: NOBODY if not,
# or in what order, see `admission`; the place of its column, three of them; the base of its values,
# and whether one may be NULL.
R_WIDTH, R_FIRST, R_STORES, R_QUERIES, R_QUERY_COUNT, R_SEARCHES, R_SEARCH_COUNT, R_FOUND = range(8)
R_EXAMINED, R_DELAY, R_AGGREGATE, R_ADMISSION, R_VALUE, R_BASE, R_NULLABLE, R_COLUMNS = 8, 9, 10, 11, 12, 15, 16, 17
NOBODY = -1
# Columns of `arrangements`: the words of a row; its immutable runs in `base`, and their greatest time; how its rows are
# made from canonical ones, in `moves`; its runs at the start of the epoch; and, where its rows have their iteration as
# a column, in which word it is, NOBODY for none, and above which bits.
A_WIDTH, A_BASE, A_BASE_COUNT, A_BASE_TIME, A_MOVES, A_MOVE_COUNT, A_START, A_START_COUNT = range(8)
A_TIME_WORD, A_TIME_SHIFT, A_COLUMNS = range(8, 11)
# Columns of `moves`: word, shift and mask of a column in the canonical row, word and shift in the arrangement's.
M_WORD, M_SHIFT, M_MASK, M_TO_WORD, M_TO_SHIFT, M_COLUMNS = range(6)
# Columns of `queries`: the relation of the head; the sign; the atoms after the change; the packed query, see `query`,
# and its fingers, by address and length; and what it did so far.
Q_HEAD, Q_SIGN, Q_ATOMS, Q_ATOM_COUNT, Q_PACKED, Q_LENGTH, Q_FINGERS, Q_FINGER_COUNT = range(8)
Q_CHANGED, Q_DERIVED, Q_VISITED, Q_COLUMNS = range(8, 12)
# Columns of `atoms`: the arrangement, which version of it is read, and whether its times count.
T_ARRANGEMENT, T_VERSION, T_TIMED, T_COLUMNS = range(4)
# Columns of `aggregates`, see the kernels of that name: the slots of a group's totals; the first of its probes; its
# readings, extremes and results, and how the target's rows come from those by iteration.
G_SLOTS, G_PROBES, G_READINGS, G_READING_COUNT, G_EXTREMES, G_EXTREME_COUNT = range(6)
G_RESULTS, G_RESULT_COUNT, G_BACK, G_BACK_COUNT, G_COLUMNS = range(6, 11)
# Columns of `probes`: the arrangement; the words of its rows; how a key comes into them from canonical rows; and the
# places, three columns each, of the iteration and of the value or slot that follows.
P_ARRANGEMENT, P_WIDTH, P_MOVES, P_MOVE_COUNT, P_TIME, P_VALUE, P_COLUMNS = 0, 1, 2, 3, 4, 7, 10
# Columns of `readings` and `results`: the slot; what is read; the place of the column, the base of its values, and
# whether it may be NULL; of results the slot that has to be above zero for one, NOBODY for none, and the bits of the
# offsets that have a place, NOBODY where none has.
V_SLOT, V_KIND, V_PLACE, V_BASE, V_NULLABLE, V_COUNT, V_LIMIT, V_COLUMNS = 0, 1, 2, 5, 6, 7, 8, 9
# Columns of `extremes`: the probe of the arrangement that has the values in order; the place of the column by
# iteration; the slots of how many values there are, and of the least and the greatest, NOBODY for none; the base of the
# values, and whether one may be NULL.
X_PROBE, X_PLACE, X_PRESENT, X_LEAST, X_GREATEST, X_BASE, X_NULLABLE, X_COLUMNS = 0, 1, 4, 5, 6, 7, 8, 9
# Versions of an arrangement: without the change of the present iteration, with it, and as it was before the epoch.
WITHOUT, WITH, START = range(3)


class Component(NamedTuple):
    """Relations, arrangements, those of lower relations too, descriptors of their runs in `base`, queries and atoms.

    What changes of each arrangement is in `levels` and `spares`, see `overlay`; the others are about groups.
    """

    relations: Table
    arrangements: Table
    base: Table
    moves: Table
    queries: Table
    atoms: Table
    levels: Levels
    spares: Levels
    aggregates: Table
    probes: Table
    readings: Table
    extremes: Table
    results: Table


class Log(NamedTuple):
    """Every row that was asserted or retracted: its relation, its words, uint64[n, widest], and the sign."""

    relations: Ints
    rows: Words2
    signs: Ints


class Scratch(NamedTuple):
    """Memory to work in; nothing in it outlasts a call.

    `runs` and `ranges` take the runs of a query's atoms, and which belong to each; `words`, `times` and `weights` the
    derivations that a search hands over; `taken`, uint64[n, widest], and `changes` what waited for an iteration, and
    `starts` int64[R + 1] where the entries of each relation begin.
    """

    runs: Table
    ranges: Table
    words: Words1
    times: Times
    weights: Weights
    taken: Words2
    changes: Ints
    starts: Ints


def addresses(*groups: Sequence[npt.NDArray[Any]]) -> Table:
    """Where the arrays of a Component, a Log and a Scratch are, int64[., 4]: the address and up to three dimensions.

    Kernels take this one table instead of all arrays: looking at the types of so many would cost more than small
    iterations do, and so would counting the references to arrays that the caller keeps alive in any case.
    """
    arrays = [array for group in groups for array in group]
    return np.array([(address_of(a), *a.shape, *[1] * (3 - a.ndim)) for a in arrays], np.int64)


_component: Any = FieldArrays(Component)
_log: Any = FieldArrays(Log)
_scratch: Any = FieldArrays(Scratch)
_LOG = len(Component._fields)
_SCRATCH = _LOG + len(Log._fields)


@compiled
def unpack(found: Table) -> tuple[Component, Log, Scratch]:
    """The arrays at these addresses."""
    return _component(found, 0), _log(found, _LOG), _scratch(found, _SCRATCH)

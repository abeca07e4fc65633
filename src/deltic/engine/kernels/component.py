"""The tables of a recursive component whose iterations run in compiled code, and the meaning of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.declaring import FieldArrays, compiled, numbered
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
R = numbered(
    "WIDTH FIRST STORES QUERIES QUERY_COUNT SEARCHES SEARCH_COUNT FOUND EXAMINED DELAY AGGREGATE ADMISSION VALUE* BASE "
    "NULLABLE"
)
NOBODY = -1
# Columns of `arrangements`: the words of a row; its immutable runs in `base`, and their greatest time; how its rows are
# made from canonical ones, in `moves`; its runs at the start of the epoch; and, where its rows have their iteration as
# a column, in which word it is, NOBODY for none, and above which bits.
A = numbered("WIDTH BASE BASE_COUNT BASE_TIME MOVES MOVE_COUNT START START_COUNT TIME_WORD TIME_SHIFT")
# Columns of `moves`: word, shift and mask of a column in the canonical row, word and shift in the arrangement's.
M = numbered("WORD SHIFT MASK TO_WORD TO_SHIFT")
# Columns of `queries`: the relation of the head; the sign; the atoms after the change; the packed query, see `query`,
# and its fingers, by address and length; and what it did so far.
Q = numbered("HEAD SIGN ATOMS ATOM_COUNT PACKED LENGTH FINGERS FINGER_COUNT CHANGED DERIVED VISITED")
# Columns of `atoms`: the arrangement, which version of it is read, and whether its times count.
T = numbered("ARRANGEMENT VERSION TIMED")
# Columns of `aggregates`, see the kernels of that name: the slots of a group's totals; the first of its probes; its
# readings, extremes and results, and how the target's rows come from those by iteration.
G = numbered("SLOTS PROBES READINGS READING_COUNT EXTREMES EXTREME_COUNT RESULTS RESULT_COUNT BACK BACK_COUNT")
# Columns of `probes`: the arrangement; the words of its rows; how a key comes into them from canonical rows; and the
# places, three columns each, of the iteration and of the value or slot that follows.
P = numbered("ARRANGEMENT WIDTH MOVES MOVE_COUNT TIME* VALUE*")
# Columns of `readings` and `results`: the slot; what is read; the place of the column, the base of its values, and
# whether it may be NULL; of results the slot that has to be above zero for one, NOBODY for none, and the bits of the
# offsets that have a place, NOBODY where none has.
V = numbered("SLOT KIND PLACE* BASE NULLABLE COUNT LIMIT")
# Columns of `extremes`: the probe of the arrangement that has the values in order; the place of the column by
# iteration; the slots of how many values there are, and of the least and the greatest, NOBODY for none; the base of the
# values, and whether one may be NULL.
X = numbered("PROBE PLACE* PRESENT LEAST GREATEST BASE NULLABLE")
# Versions of an arrangement: without the change of the present iteration, with it, and as it was before the epoch.
WITHOUT, WITH, START = range(3)


class Component(NamedTuple):
    """Relations, arrangements (also of lower relations), descriptors of their runs in `base`, queries and atoms.

    `levels` and `spares` have the changing part of each arrangement, see `overlay`; the other tables are about groups.
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
    """All asserted and retracted rows: the relation, the words uint64[n, widest], and the sign."""

    relations: Ints
    rows: Words2
    signs: Ints


class Scratch(NamedTuple):
    """Working memory; its contents do not outlast a call.

    `runs` and `ranges` get the runs of a query's atoms, and the range of each atom; `words`, `times` and `weights` the
    derivations that a search returns; `taken`, uint64[n, widest], and `changes` the rows that waited for an iteration;
    and `starts`, int64[relations + 1], the first entry of each relation.
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
    """Return the addresses of the arrays of a Component, a Log and a Scratch, int64[., 4]: address and up to three
    dimensions.

    Kernels get this one table instead of all arrays: checking the types of so many arrays would cost more than a small
    iteration, and so would counting references to arrays that the caller keeps alive anyway.
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
    """Return the arrays at these addresses."""
    return _component(found, 0), _log(found, _LOG), _scratch(found, _SCRATCH)

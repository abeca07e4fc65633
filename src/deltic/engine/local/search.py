"""Running one bound segment of a plan: the driver of the join kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deltic.engine.local.bind import Table, Tables
from deltic.engine.local.kernels import join as kernel
from deltic.engine.local.kernels.search import TIMES
from deltic.engine.local.run import NO_TIMES, NO_WEIGHTS, Run, Times, Weights, Words
from deltic.engine.local.store import descriptors

_FIRST_CAPACITY = 1 << 10
_LAST_CAPACITY = 1 << 22


@dataclass
class Visits:
    """Counts the rows and index entries that searches look at."""

    rows: int = 0


@dataclass(frozen=True)
class Derived:
    """Derivations, in no order: packed heads, times (empty: all at the time agreed) and weights (empty: all one)."""

    words: Words
    times: Times
    weights: Weights

    def __len__(self) -> int:
        return int(self.words.shape[1])


def search(
    tables: Tables,
    words: int,
    runs: Sequence[Sequence[Run]],
    sign: int,
    timed: Sequence[bool],
    now: int,
    visits: Visits,
) -> Iterator[Derived]:
    """The derivations of a segment, in chunks, for the runs of each of its atoms.

    `words` is the width of the output. `timed` says of which atoms the times count; if of any, each
    derivation has a time, one more than the greatest of its rows' and of `now`. The runs must stay alive until the
    iterator is exhausted.
    """
    table, atoms = _descriptors(runs, timed)
    with_times = any(timed)
    weighted = sign < 0 or any(run.weights.size for atom in runs for run in atom)
    fingers = np.zeros(len(table) + 1, np.int64)
    state, path = tables.state, tables.path
    state[:] = 0
    path[:, 0] = 0
    path[3, 0] = now
    path[4, 0] = sign
    capacity = _FIRST_CAPACITY
    status = kernel.FULL
    while status == kernel.FULL:
        out = np.empty((words, capacity), np.uint64)
        times = np.empty(capacity, np.int32) if with_times else NO_TIMES
        weights = np.empty(capacity, np.int64) if weighted else NO_WEIGHTS
        state[kernel.WRITTEN] = 0
        status = kernel.search(
            tables.steps,
            tables.groups,
            tables.keys,
            tables.binds,
            tables.parts,
            tables.tests,
            tables.head,
            tables.moves,
            atoms,
            table,
            tables.slots,
            fingers,
            tables.ranges,
            tables.cursors,
            path,
            state,
            out,
            times,
            weights,
        )
        n = int(state[kernel.WRITTEN])
        if n:
            yield Derived(out[:, :n], times[:n], weights[:n])
        capacity = min(4 * capacity, _LAST_CAPACITY)
    visits.rows += int(state[kernel.VISITED])


def _descriptors(runs: Sequence[Sequence[Run]], timed: Sequence[bool]) -> tuple[Table, Table]:
    """The kernel's table of all runs, and the range of it that belongs to each atom."""
    table = descriptors([run for atom in runs for run in atom])
    ranges = []
    end = 0
    for atom, keeps_times in zip(runs, timed, strict=True):
        start, end = end, end + len(atom)
        ranges.append((start, end))
        if not keeps_times:
            table[start:end, TIMES] = 0
    return table, np.array(ranges, np.int64)

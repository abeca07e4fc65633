"""Running one bound segment of a plan: the driver of the join kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from deltic.engine.local.kernels import join as kernel
from deltic.engine.local.kernels.search import TIMES
from deltic.engine.local.parallel import stream
from deltic.engine.local.plan.bind import Table, Tables
from deltic.engine.local.storage.arrangement import descriptors
from deltic.engine.local.storage.run import NO_TIMES, NO_WEIGHTS, Run, Times, Weights, Words, consolidate

_FIRST_CAPACITY = 1 << 10
# A chunk of this many rows is sorted within the second-level cache, or not far from it.
_LAST_CAPACITY = 1 << 20
# Rows of a change that are searched in one piece; more pieces are shared among threads.
_PIECE = 1 << 16
# Derivations from which on a chunk is consolidated where it was made.
_LARGE = 1 << 16


@dataclass
class Visits:
    """Counts the rows and index entries that searches look at."""

    rows: int = 0


@dataclass(frozen=True)
class Derived:
    """Derivations: packed heads, times (empty: all at the time agreed) and weights (empty: all one).

    In no order, unless `consolidated`: then sorted, each once, none of weight zero.
    """

    words: Words
    times: Times
    weights: Weights
    consolidated: bool = False

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
    iterator is exhausted. Large chunks without times are consolidated. Raises DomainOverflow when a computed value
    has no place.

    A large first atom is searched in pieces, which threads share; what is visited does not depend on the threads.
    """
    weighted = sign < 0 or any(run.weights.size for atom in runs for run in atom)
    cut = _pieces(runs[0])
    own = [tables] if len(cut) == 1 else [tables.with_own_position() for _ in cut]
    pieces = [
        _Piece(mine, words, [piece, *runs[1:]], sign, timed, now, weighted)
        for mine, piece in zip(own, cut, strict=True)
    ]
    yield from stream(pieces, _Piece.run)
    visits.rows += sum(piece.visited for piece in pieces)


def _pieces(runs: Sequence[Run]) -> list[Sequence[Run]]:
    """The runs of an atom in pieces of similar size."""
    if sum(map(len, runs)) <= _PIECE:
        return [runs]
    return [[run.part(start, start + _PIECE)] for run in runs for start in range(0, len(run), _PIECE)]


@dataclass
class _Piece:
    """The search for one piece of the first atom, with its own position."""

    tables: Tables
    words: int
    runs: Sequence[Sequence[Run]]
    sign: int
    timed: Sequence[bool]
    now: int
    weighted: bool
    visited: int = 0

    def run(self) -> Iterator[Derived]:
        """The derivations, in chunks."""
        tables = self.tables
        table, atoms = _descriptors(self.runs, self.timed)
        fingers = np.zeros(len(table) + 1, np.int64)
        state, path = tables.state, tables.path
        state[:] = 0
        path[:, 0] = 0
        path[3, 0] = self.now
        path[4, 0] = self.sign
        capacity = _FIRST_CAPACITY
        status = kernel.FULL
        while status == kernel.FULL:
            out = np.empty((self.words, capacity), np.uint64)
            times = np.empty(capacity, np.int32) if any(self.timed) else NO_TIMES
            weights = np.empty(capacity, np.int64) if self.weighted else NO_WEIGHTS
            state[kernel.WRITTEN] = 0
            status = kernel.search(
                tables.steps,
                tables.groups,
                tables.keys,
                tables.binds,
                tables.parts,
                tables.tests,
                tables.code,
                tables.lets,
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
            if status == kernel.OVERFLOW:
                raise next(tables.overflows())
            n = int(state[kernel.WRITTEN])
            if n:
                yield _chunk(out[:, :n], times[:n], weights[:n])
            capacity = min(4 * capacity, _LAST_CAPACITY)
        self.visited = int(state[kernel.VISITED])


def _chunk(words: Words, times: Times, weights: Weights) -> Derived:
    if times.size or words.shape[1] < _LARGE:
        return Derived(words, times, weights)
    rows, sums = consolidate(words, weights)
    return Derived(rows, times, sums, consolidated=True)


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

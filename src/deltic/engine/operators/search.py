"""Runs one bound segment of a plan by the join kernel."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise

import numpy as np

from deltic.engine.kernels import join as kernel
from deltic.engine.kernels.join import MOST
from deltic.engine.kernels.query import begin
from deltic.engine.kernels.search import TIMES
from deltic.engine.kernels.settle import known
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Table
from deltic.engine.parallel import stream
from deltic.engine.plan.bind import Tables
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.columns import DomainOverflow
from deltic.engine.storage.run import (
    NO_TIMES,
    NO_WEIGHTS,
    Run,
    Times,
    Weights,
    Words,
    are_new,
    consolidate,
    count_in_place,
)


@dataclass
class Visits:
    """The number of rows and index entries that searches have visited."""

    rows: int = 0
    building: float = 0.0
    """The processor seconds in which orders were built for searches."""


@dataclass
class QueryStatistics:
    """The work of a query since its engine was created: changed rows that it read, derivations, and visited rows.

    Large batches of derivations are counted after equal ones were summed and known rows removed.
    """

    changed: int = 0
    derived: int = 0
    visited: int = 0

    def add(self, changed: int, derived: int, visited: int) -> None:
        """Add the work of a search."""
        self.changed += changed
        self.derived += derived
        self.visited += visited


# Fewer derivations are not searched for equal neighbours.
_SEVERAL = 32


@dataclass(frozen=True)
class Derivations:
    """Derivations: packed heads, times (empty: all at the agreed time) and weights (empty: all one).

    Unordered, unless `consolidated`: then sorted and distinct, without zero weights and excluded rows.
    """

    words: Words
    times: Times
    weights: Weights
    consolidated: bool = False

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def merged(self) -> Derivations:
        """Return the same derivations with equal neighbours as one, if most are equal to a neighbour.

        A search emits equal rows one after the other where its last atoms only have to match.
        """
        if len(self) < _SEVERAL:
            return self
        new = are_new((*self.words, self.times) if self.times.size else self.words)
        if 2 * np.count_nonzero(new[1:]) > len(self) or np.abs(self.weights).max(initial=1) >= MOST:
            return self
        starts = np.flatnonzero(new)
        weights = np.add.reduceat(self.weights if self.weights.size else np.ones(len(self), np.int64), starts)
        starts, weights = starts[weights != 0], weights[weights != 0]
        return Derivations(self.words[:, starts], self.times[starts] if self.times.size else NO_TIMES, weights)


@dataclass(frozen=True)
class ExcludedRows:
    """Rows to exclude from derivations: those of a relation with these `runs`, up to iteration `now`."""

    runs: Sequence[Run]
    now: int


def search(
    tables: Tables,
    words: int,
    runs: Sequence[Sequence[Run]],
    sign: int,
    timed: Sequence[bool],
    now: int,
    visits: Visits,
    thresholds: Thresholds,
    past: ExcludedRows | None = None,
) -> Generator[Derivations]:
    """Yield the derivations of a segment in chunks, for the runs of each of its atoms.

    `words` is the width of the output. `timed` says for which atoms times count. If any do, each derivation has a time,
    one more than the greatest of its rows' and of `now`. The runs must stay alive until the iterator is exhausted.
    Large chunks without times are consolidated, and exclude rows that are `past`. While a search finds nothing for
    long, chunks are empty. Raises DomainOverflow if a computed value has no place.

    A large first atom is searched in pieces by several threads. The visited rows do not depend on the threads.
    """
    weighted = sign < 0 or tables.counts or _have_weights(runs)
    cut = _pieces(runs[0], thresholds.piece)
    own = [tables] if len(cut) == 1 else [tables.with_own_position() for _ in cut]
    rooms: list[_Room] = []
    pieces = [
        _Piece(mine, words, piece, runs[1:], sign, timed, now, weighted, thresholds, past, rooms)
        for mine, piece in zip(own, cut, strict=True)
    ]
    try:
        yield from stream(pieces, _Piece.run) if len(pieces) > 1 else pieces[0].run()
    except DomainOverflow:
        pieces.clear()  # how far the others came by then is chance
        raise
    finally:
        visits.rows += sum(piece.visited for piece in pieces)


def _have_weights(runs: Sequence[Sequence[Run]]) -> bool:
    """Return whether some weight is not one."""
    for atom in runs:
        for run in atom:
            if run.weights.size:
                return True
    return False


def _pieces(runs: Sequence[Run], size: int) -> list[Callable[[], Sequence[Run]]]:
    """Return functions that return the runs of an atom in pieces of similar size, possibly copied."""
    if sum(map(len, runs)) <= size:
        return [lambda: runs]
    return [partial(_part, run, start, start + size) for run in runs for start in range(0, len(run), size)]


def _part(run: Run, start: int, end: int) -> Sequence[Run]:
    return [run.part(start, end)]


# The output arrays of a search, words, times and weights, for one chunk of derivations.
_Room = tuple[Words, Times, Weights]


@dataclass
class _Piece:
    """The search for one piece of the first atom, with its own position; `rooms` are the output arrays not in use."""

    tables: Tables
    words: int
    first: Callable[[], Sequence[Run]]
    others: Sequence[Sequence[Run]]
    sign: int
    timed: Sequence[bool]
    now: int
    weighted: bool
    thresholds: Thresholds
    past: ExcludedRows | None
    rooms: list[_Room]
    visited: int = 0

    def run(self) -> Iterator[Derivations]:
        """Yield the derivations in chunks."""
        query = self.tables.query
        runs = [self.first(), *self.others]
        table, atoms = _descriptors(runs, self.timed)
        fingers = np.zeros(len(table) + 1, np.int64)
        begin(query, self.now, self.sign, self.thresholds.patience)
        size = max(self.thresholds.first_chunk, min(sum(map(len, runs[0])), self.thresholds.last_chunk))
        room = self.rooms.pop() if self.rooms else self._room(size)
        status = kernel.FULL
        while status != kernel.DONE:
            out, times, weights = room
            status, n = kernel.search(query, atoms, table, fingers, out, times, weights, 0)
            self.visited = self.tables.visited
            if status == kernel.OVERFLOW:
                raise next(self.tables.overflows())
            if n or status == kernel.PAUSED:
                yield self._chunk(out[:, :n], times[:n], weights[:n])
            if status == kernel.FULL and out.shape[1] < self.thresholds.last_chunk:
                room = self._room(min(4 * out.shape[1], self.thresholds.last_chunk))
        self.rooms.append(room)

    def _room(self, count: int) -> _Room:
        return (
            np.empty((self.words, count), np.uint64),
            np.empty(count, np.int32) if True in self.timed else NO_TIMES,
            np.empty(count, np.int64) if self.weighted else NO_WEIGHTS,
        )

    def _chunk(self, words: Words, times: Times, weights: Weights) -> Derivations:
        """Return the contents of output arrays as a chunk; the arrays can be reused then."""
        if times.size or words.shape[1] < self.thresholds.large:
            return Derivations(words.copy(), times.copy(), weights.copy())
        rows, sums = count_in_place(words) if len(words) == 1 and not weights.size else consolidate(words, weights)
        if self.past is None:
            return Derivations(rows.copy(), times, sums.copy(), consolidated=True)
        new = ~known(rows, descriptors(self.past.runs), self.past.now)
        return Derivations(rows[:, new], times, sums[new], consolidated=True)


def _descriptors(runs: Sequence[Sequence[Run]], timed: Sequence[bool]) -> tuple[Table, Table]:
    """Return the kernel's table of all runs, and the range in it of each atom."""
    table, ranges = descriptors([run for atom in runs for run in atom]), _ranges(tuple(map(len, runs)))
    if True not in timed:
        table[:, TIMES] = 0
    else:
        for (start, end), keeps_times in zip(ranges.tolist(), timed, strict=True):
            table[start:end, TIMES] *= keeps_times
    return table, ranges


@lru_cache(1 << 10)
def _ranges(lengths: tuple[int, ...]) -> Table:
    """Return the ranges of these lengths, one after the other: int64[n, 2]."""
    return np.array([*pairwise([0, *accumulate(lengths)])], np.int64)

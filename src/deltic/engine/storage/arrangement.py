"""Arrangements: relations in one column order, as sorted runs, with the version before the current change.

What must hold:

* The weight of a row is the sum of its weights in all `runs`; runs may hold changes that cancel.
* All runs, those of `before` too, are packed by `layout`. `relayout` repacks them together.
* Within a change `runs` are those of `before` and then the change, if it has rows. `compact` ends the change.
* Outside a change `before` is `runs`, and each run is at least twice as large as the next, unless they are `frozen`.
* An arrangement that is not built has no runs, and no change is added to it.
* `current` has the same rows as `runs`, in one run while they are few.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.merge import repeats, split, sum_ordered
from deltic.engine.kernels.packing import move_offsets
from deltic.engine.kernels.settle import totals, totals_alike
from deltic.engine.kernels.types import Table
from deltic.engine.storage.columns import Domain, Raw
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import (
    Run,
    Times,
    Weights,
    Words,
    Words1,
    add_runs,
    merge_all,
    merge_runs,
    near,
    sort_order,
)
from deltic.engine.storage.spilling import pieces

Some = TypeVar("Some")
Descriptors = npt.NDArray[np.int64]

# A relation of at most this many rows is merged within a change, so that a search visits each row once.
_FEW = 1 << 10

_NO_RUNS: Descriptors = np.empty((0, 4), np.int64)


def replica(value: Some) -> Some:
    """Return another object with the same attributes; `copy.copy` takes several times as long."""
    result = object.__new__(type(value))
    result.__dict__.update(value.__dict__)
    return result


def descriptors(runs: Sequence[Run]) -> Descriptors:
    """Return the table of runs that kernels take, int64[runs, 4]. The caller keeps the runs alive."""
    return np.concatenate([run.descriptor for run in runs]).reshape(-1, 4) if runs else _NO_RUNS


@dataclass(frozen=True)
class SortedRows:
    """The rows of a relation in one column order, at one moment."""

    order: tuple[int, ...]
    layout: Layout
    runs: tuple[Run, ...]

    def prefix(self, columns: Container[int]) -> int:
        """Return the length of the longest prefix of the order, within the first word, whose columns are all among
        these.
        """
        length = 0
        for column, place in zip(self.order, self.layout.places, strict=True):
            if column not in columns or place.word > 0:
                break
            length += 1
        return length

    def led_by(self, column: int) -> SortedRows:
        """Return the same rows in an order that begins with a column."""
        places = [self.order.index(column), *(i for i, c in enumerate(self.order) if c != column)]
        layout = self.layout.reordered(places)

        def arranged(run: Run) -> Run:
            offsets = self.layout.unpack(run.words)
            words = layout.pack([offsets[i] for i in places], len(run))
            order = np.lexsort((run.times, *words[::-1])) if run.times.size else sort_order(words)
            return run.taken(order, words[:, order])

        return SortedRows(tuple(self.order[i] for i in places), layout, tuple(map(arranged, self.runs)))

    def columns(self, words: Words) -> list[Raw]:
        """Return the offsets of packed rows by column, in the relation's declared order."""
        result = dict(zip(self.order, self.layout.unpack(words), strict=True))
        return [result[c] for c in range(len(self.order))]


@dataclass
class Arrangement:
    """A relation in the column order `order`: `runs` are its present, `before` its state before the change.

    The last run of `runs` is the change itself until `compact` merges it. Runs are immutable, so keeping a version
    costs nothing. An arrangement that is not built has no rows yet, because no query has probed it.
    """

    order: tuple[int, ...]
    domains: tuple[Domain, ...]
    layout: Layout = field(init=False)
    runs: tuple[Run, ...] = ()
    before: tuple[Run, ...] = ()
    is_built: bool = True
    frozen: int | None = None
    """Runs of at least this many rows are left to `tighten`: changes do not merge them, unless there are many."""
    _merged: tuple[tuple[Run, ...], tuple[Run, ...]] = ((), ())
    """Runs, and the one run into which they were merged."""
    _taken: tuple[Layout | None, Table] = (None, _NO_RUNS)
    """A canonical layout, and its places in this order."""

    def __post_init__(self) -> None:
        self.layout = Layout.of([self.domains[c] for c in self.order])

    def __copy__(self) -> Arrangement:
        return replica(self)

    def __len__(self) -> int:
        """Return the number of entries. Entries that cancel out count too."""
        return sum([run.count for run in self.runs])

    @property
    def nbytes(self) -> int:
        """The memory of the runs, in bytes."""
        return sum(run.nbytes for run in self.runs)

    def append(self, run: Run) -> None:
        """Add a change, sorted in this order, as the newest run."""
        self.before = self.runs
        if run.count:
            self.runs = (*self.runs, run)

    def current(self, most: float = _FEW) -> tuple[Run, ...]:
        """Return the present version for searches. At `most` this many rows are merged into one run, once for each
        change.

        A search tries all combinations of the runs of its atoms. So it would meet a row that a change replaces three
        times, and in n such atoms 3^n times: before the change, as removed, and as added.
        """
        runs, (merged, result) = self.runs, self._merged
        if len(runs) < 2 or merged is runs:
            return result if merged is runs else runs
        if runs[0].count > most or len(self) > most:
            return runs
        self._merged = runs, (merge_all(runs),)
        return self._merged[1]

    def compact(self) -> None:
        """End the change: merge its run into the others, so that each is at least twice as large as the next."""
        if len(self.runs) > 1:
            if self._merged[0] is self.runs:
                self.runs = self._merged[1]
            elif 2 * self.runs[-1].count > self.runs[-2].count:
                self.runs = add_runs(self.runs[:-1], self.runs[-1], self.frozen)
        self.before, self._merged = self.runs, ((), ())

    def add(self, run: Run) -> None:
        """Add a run and merge it into the others. Call it only outside a change."""
        self.runs = add_runs(self.runs, run, self.frozen)

    def apart(self, frozen: int) -> int:
        """Return how many of the first runs, each of at least `frozen` rows, `tighten` must merge; 0 if their sizes are
        fine.
        """
        sizes = list(takewhile(lambda size: size >= frozen, map(len, self.runs)))
        return len(sizes) if any(2 * new > old for old, new in pairwise(sizes)) else 0

    def tighten(self, count: int) -> None:
        """Merge the first runs so that each is at least twice as large as the next. Call it only outside a change."""
        merged: tuple[Run, ...] = ()
        for run in self.runs[:count]:
            merged = add_runs(merged, run)
        self.runs = self.before = (*merged, *self.runs[count:])

    def merge(self) -> None:
        """Merge all runs into one. Call it only outside a change."""
        if len(self.runs) > 1:
            self.runs = self.before = (merge_all(self.runs),)

    def arrange(self, source: Layout, run: Run) -> Run:
        """Return a run in canonical order and layout `source`, sorted in this order. Works in pieces if memory is
        short.
        """
        cut = pieces(len(run))
        if len(cut) == 1:
            return self._arranged(source, run)
        runs: tuple[Run, ...] = ()
        for piece in cut:
            runs = add_runs(runs, self._arranged(source, run.part(piece.start, piece.stop)))
        return merge_all(runs)

    def placed(self, source: Layout, words: Words) -> Words:
        """Return rows in canonical order and layout `source` in this layout, but not sorted."""
        moved = np.zeros((self.layout.words, words.shape[1]), np.uint64)
        move_offsets(words, self._origins(source), self.layout.table, moved)
        return moved

    def _arranged(self, source: Layout, run: Run) -> Run:
        words = self.placed(source, run.words)
        if len(words) == 1 and not run.weights.size and (not run.times.size or (run.times == run.max_time).all()):
            words.sort()
            return Run(words, run.times)
        order = sort_order(words)
        return run.taken(order, words[:, order])

    def _origins(self, source: Layout) -> Table:
        """Return the places of this order's columns in a canonical run of this layout, as kernels take them."""
        if self._taken[0] is not source:
            self._taken = source, np.ascontiguousarray(source.table[list(self.order)])
        return self._taken[1]

    def sorted(self) -> SortedRows:
        """Return the present rows."""
        return SortedRows(self.order, self.layout, self.runs)

    def weights_of(self, words: Words) -> Weights:
        """Return the weight of each row, summed over all times. The rows must be sorted and distinct."""
        runs = near(self.runs, words[0], words[0])
        sums: Weights = totals(words, descriptors(runs))
        return sums

    def weights_alike(self, words: Words, mask: Words1) -> tuple[Weights, Weights]:
        """Return the weight of each row, and that of all rows with the same bits of a mask of the first columns.

        The rows must be sorted and distinct.
        """
        low = words & mask[:, None]
        runs = near(self.runs, low[0], low[0] | ~mask[0])
        return totals_alike(words, low, mask, descriptors(runs))

    def between(self, run: Run, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of a run's positions that hold the rows whose first column is in [low, high).

        The ranges may contain NULLs. A turned domain has its own order, so there may be two ranges.
        """
        first, last = self._position(run, low), self._position(run, high)
        return [(first, last)] if first <= last else [(first, len(run)), (0, last)]

    def _position(self, run: Run, value: int) -> int:
        """Return the position of the first row whose first column is not less than the value."""
        place = self.layout.places[0]
        offset = value - place.base
        if self.domains[self.order[0]].is_turned:
            offset %= 1 << 64
        if offset <= 0:
            return 0
        if offset >= 1 << place.bits:
            return len(run)
        return int(np.searchsorted(run.words[0], np.uint64(offset << place.shift)))

    def is_stale(self) -> bool:
        """Return whether a domain has outgrown the layout."""
        return not self.layout.holds([self.domains[c] for c in self.order])

    def relayout(self, beside: Run | None = None) -> Run | None:
        """Repack all runs for the present domains. The order of rows only changes if a domain has turned.

        The run `beside` is packed in the same way, and returned.
        """
        new = Layout.of([self.domains[c] for c in self.order])
        every = {*self.runs, *self.before, *([] if beside is None else [beside])}
        made = {run: self.repacked(run, self.layout, new) for run in every}
        self.layout, self.runs = new, tuple(made[run] for run in self.runs)
        self.before = tuple(made[run] for run in self.before)
        return None if beside is None else made[beside]

    def adapted(self, run: Run, layout: Layout) -> Run:
        """Return a run that was packed by `layout` in the present layout; the same run if the layouts are equal."""
        return run if layout == self.layout else self.repacked(run, layout, self.layout)

    def repacked(self, run: Run, old: Layout, new: Layout) -> Run:
        """Repack a run of an old layout of these columns in a new one, which fits the present domains."""
        columns = zip(self.order, old.unpack(run.words), old.places, strict=True)
        moved = [self.domains[c].moved(raw, place) for c, raw, place in columns]
        words = new.pack(moved, len(run))
        if not any(domain.is_turned for domain in self.domains):
            return Run(words, run.times, run.weights)
        order = np.lexsort((*([run.times] if run.times.size else []), *words[::-1]))
        return run.taken(order, words[:, order])


def present(runs: Sequence[Run]) -> tuple[Words, Weights]:
    """Return the distinct rows of the runs with their weights, summed over all times, of any width, without zeros."""
    waiting = sorted(runs, key=len)
    while len(waiting) > 1:
        waiting.append(merge_runs(waiting.pop(0), waiting.pop(0)))
        waiting.sort(key=len)
    (run,) = waiting
    if run.times.size and repeats(run.words):
        words, sums, n = sum_ordered(run.words, run.all_weights(), np.arange(len(run)), False)
        return words[:, :n], sums[:n]
    return run.words, run.weights if run.weights.size else np.ones(len(run), np.int8)


# The number of rows in a part of a relation that is read in parts.
_PART = 1 << 18


def parts(runs: Sequence[Run], rows: int = _PART) -> Iterator[Sequence[Run]]:
    """Cut the runs into parts of about `rows` rows in total. A row is never cut, and the parts ascend."""
    count, largest = sum(map(len, runs)), max(runs, key=len)
    if count <= rows:
        yield runs
        return
    step, starts = max(1, rows * len(largest) // count), [0] * len(runs)
    for i in range(step, len(largest), step):
        ends = [int(split(largest.descriptor, i, run.descriptor, len(run.words), False)) for run in runs]
        yield _between(runs, starts, ends)
        starts = ends
    yield _between(runs, starts, list(map(len, runs)))


def _between(runs: Sequence[Run], starts: Sequence[int], ends: Sequence[int]) -> list[Run]:
    cut = zip(runs, starts, ends, strict=True)
    return [run.part(start, end) for run, start, end in cut if start < end]


def time_array(count: int, time: int) -> Times:
    """Return an array of `count` equal times."""
    return np.full(count, time, np.int32)

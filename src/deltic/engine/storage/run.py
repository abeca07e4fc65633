"""Runs: sorted immutable batches of packed rows, with times and weights where they are not trivial.

What must hold:

* Rows ascend strictly by (row, time), compared as unsigned words. So no (row, time) occurs twice.
* No weight is zero. Empty `weights` stand for weights of one, empty `times` for rows without iterations.
* The arrays never change: versions, snapshots and writers share them, and `descriptor` has their addresses.
* Runs that are merged have one layout, and all have times or none. A weight that leaves 64 bits is an error.
* `add_runs` keeps each run at least twice as large as the next, so n rows are in O(log n) runs, unless runs are frozen.
* A KeptRun has the rows that were written. It reads them at first use, and knows its length, size and time without.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.engine.image import Arrays, StoredArrays
from deltic.engine.kernels import merge as kernels
from deltic.engine.kernels.memory import address_of
from deltic.engine.kernels.narrow import TIME_CODES, WEIGHT_CODES
from deltic.engine.kernels.search import describe
from deltic.engine.kernels.weights import OVERFLOWED
from deltic.engine.parallel import run_all, threads
from deltic.engine.storage import spilling as space
from deltic.errors import CountOverflowError

# Held while a stored run is read: several threads may use one run, and its descriptor has the arrays' addresses.
_reading = threading.RLock()
# Positions in two runs.
Cut = tuple[int, int]
Words = npt.NDArray[np.uint64]
Words1 = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.signedinteger[Any]]
Times = Integers
Weights = Integers

NO_TIMES: Times = np.empty(0, np.int32)
NO_WEIGHTS: Weights = np.empty(0, np.int64)


# A merge of at least this many rows is shared among threads.
_SHARED = 1 << 20
# From this many rows on, times and weights take as few bytes as they need.
_MANY = 1 << 12
# The first rows to check for order: most unsorted batches fail here already. So many are sorted in one call.
_FEW = 64
# Sums of smaller weights, one from each run, always fit into 64 bits.
_HEAVY = 1 << 56
# A stored run has a fence for each part of this many rows: the part's first word.
_FENCE = 1 << 13
# A run is read in parts only if it has at least this many.
_FAR = 4
# The bytes of the widest weight.
_WIDEST = 8
# The types of narrow arrays and their ranges, the narrowest first.
_NARROW = tuple((np.dtype(t), np.iinfo(t).min, np.iinfo(t).max) for t in (np.int8, np.int16, np.int32))


class Run:
    """Rows in ascending order of (row, time), without duplicate keys and zero weights. Immutable.

    `words` uint64[W, n], contiguous; `times` int[n], empty if the rows have none; `weights` int[n], empty if all are
    one, even if some were given; both of any width. `max_time` is the greatest time, 0 without times. The run
    `is_heavy` if sums of its weights with those of other runs may exceed 64 bits. `descriptor` is the form for kernels,
    see `kernels.search`.
    """

    __slots__ = ("count", "descriptor", "is_heavy", "kept", "max_time", "times", "weights", "words")

    is_far = False
    """Whether it is in remote storage, so that reading parts is faster than reading all."""
    count: int
    kept: object | None
    """The place where it is stored; None before it is."""

    def __init__(self, words: Words, times: Times = NO_TIMES, weights: Weights = NO_WEIGHTS) -> None:
        words = np.ascontiguousarray(words)
        if words.shape[1] < _MANY:
            times, weights = times.astype(np.int32, copy=False), weights.astype(np.int64, copy=False)
            self._become(words, times, weights, describe(words, times, weights))
        else:
            self.kept, self.words, self.count = None, words, words.shape[1]
            self.times, self.weights = narrow(times), NO_WEIGHTS if (weights == 1).all() else narrow(weights)
            self.max_time = int(self.times.max(initial=0))
            self.is_heavy = _are_heavy(self.weights)
            self.descriptor = describe_output(self.words, self.times, self.weights)

    def _become(self, words: Words, times: Times, weights: Weights, described: npt.NDArray[np.int64]) -> None:
        """Take arrays of full width, and what `describe` says of them."""
        self.kept, self.words, self.count, self.times = None, words, words.shape[1], times
        self.descriptor, (self.max_time, most) = described[:4], described[4:].tolist()
        self.weights, self.is_heavy = weights if most else NO_WEIGHTS, most >= _HEAVY

    @classmethod
    def sum(cls, runs: Sequence[Run]) -> Run:
        """Return the sum of two runs or more with few rows, in one call of compiled code: calls are what that costs."""
        descriptors = np.concatenate([run.descriptor for run in runs]).reshape(-1, 4)
        result = object.__new__(cls)
        result._become(*kernels.merge_small(descriptors, len(runs[0].words), bool(runs[0].times.size)))
        return result

    def __len__(self) -> int:
        return self.count

    def part(self, start: int, end: int) -> Run:
        """Return the rows from `start` to `end`, as far as they exist."""
        return Run(self.words[:, start:end], self.times[start:end], self.weights[start:end])

    def taken(self, at: Any, words: Words | None = None) -> Run:
        """Return the entries at these positions, with their rows or with other ones."""
        words = self.words[:, at] if words is None else words
        return Run(words, *(part[at] if part.size else part for part in (self.times, self.weights)))

    def negated(self) -> Run:
        """Return the same rows with opposite weights."""
        weights = -self.all_weights() if self.weights.size else np.full(len(self), -1, np.int8)
        return Run(self.words, self.times, weights)

    def all_weights(self) -> Weights:
        """Return the weights as int64[n], also if all are one."""
        return self.weights.astype(np.int64, copy=False) if self.weights.size else np.ones(len(self), np.int64)

    @property
    def net(self) -> int:
        """Return the sum of the weights."""
        if self.is_heavy:
            return sum(self.weights.tolist())
        return int(self.weights.sum()) if self.weights.size else len(self)

    def arrays(self) -> Arrays:
        """Return the arrays to write, with the fences of a large run, which locate its parts."""
        fences = {"fences": self.words[0, ::_FENCE]} if len(self) > _FENCE else {}
        return {**fences, "words": self.words, "times": self.times, "weights": self.weights}

    @property
    def nbytes(self) -> int:
        """Return the memory of the run, in bytes."""
        return self.words.nbytes + self.times.nbytes + self.weights.nbytes


class KeptRun(Run):
    """A stored run, which is read at first use; without its weights if it `is_bare`."""

    __slots__ = ("_is_read", "is_bare", "source")

    def __init__(self, source: StoredArrays, is_bare: bool = False) -> None:
        self.source, self.is_bare, self._is_read = source, is_bare, False
        self.kept, self.max_time = source, int(source.about["max_time"])
        self.count = int(source.about["rows"])
        self.is_heavy = not is_bare and "heavy" in source.about

    def __getattr__(self, name: str) -> Any:
        if name not in ("descriptor", "times", "weights", "words"):
            raise AttributeError(name)
        with _reading:
            if not self._is_read:
                arrays = self.source.arrays()
                self.words, self.times = arrays["words"], arrays["times"]
                self.weights = NO_WEIGHTS if self.is_bare else arrays["weights"]
                self.descriptor = describe_output(self.words, self.times, self.weights)
                self._is_read = True
        return getattr(self, name)

    @property
    def is_far(self) -> bool:  # type: ignore[override]
        return not self._is_read and len(self) >= _FAR * _FENCE and self.source.is_far

    def near(self, low: Words1, high: Words1) -> Run:
        """Return a run with all rows whose first word is in one of the ranges [low, high]; it may have other rows.

        Of a run in a far file, only the parts between fences that may have such rows are read; the whole run if that
        would be half of it.
        """
        fences = self.source.some({"fences": [(0, len(self))]}).get("fences")
        if fences is None:  # it was written before there were any
            return self
        first = np.maximum(np.searchsorted(fences, low, side="left") - 1, 0)
        last = np.searchsorted(fences, high, side="right")
        changes = np.bincount(first, minlength=len(fences) + 1) - np.bincount(last, minlength=len(fences) + 1)
        wanted = np.flatnonzero(np.cumsum(changes)[:-1] > 0)
        if 2 * len(wanted) > len(fences):
            return self
        stretches = np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1) if len(wanted) else []
        ranges = [(int(parts[0]) * _FENCE, int(parts[-1] + 1) * _FENCE) for parts in stretches]
        result = self.source.some(dict.fromkeys(("words", "times", "weights"), ranges))
        return Run(result["words"], result["times"], NO_WEIGHTS if self.is_bare else result["weights"])

    @property
    def net(self) -> int:
        return len(self) if self.is_bare else int(self.source.about["net"])

    @property
    def nbytes(self) -> int:
        return int(self.source.about["bytes"])


def near(runs: Sequence[Run], low: Words1, high: Words1) -> tuple[Run, ...]:
    """Return runs with all rows whose first word is in one of the ranges [low, high]. Far runs are read in parts.

    Runs in memory are returned as they are.
    """
    for run in runs:
        if run.is_far:
            return tuple(run.near(low, high) if isinstance(run, KeptRun) and run.is_far else run for run in runs)
    return tuple(runs)


def _are_heavy(weights: Weights) -> bool:
    if weights.itemsize < _WIDEST or not weights.size:
        return False
    return bool(weights.max() >= _HEAVY or weights.min() <= -_HEAVY)


def narrow(values: Integers) -> Integers:
    """Return the integers in as few bytes as they need."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    kind = next((t for t, least, most in _NARROW if least <= low and high <= most), values.dtype)
    if kind.itemsize < values.itemsize:
        return values.astype(kind)
    return values.copy() if values.ctypes.data % 4 else values


def describe_output(words: Words, times: Integers, weights: Integers) -> npt.NDArray[np.int64]:
    """Return the descriptor of arrays of any width, see `kernels.search`."""
    coded_times = address_of(times) + TIME_CODES[times.itemsize] if times.size else 0
    coded_weights = address_of(weights) + WEIGHT_CODES[weights.itemsize] if weights.size else 0
    return np.array([words.shape[1], address_of(words), coded_times, coded_weights], np.int64)


def merge_all(runs: Sequence[Run]) -> Run:
    """Return the sum of one run or more, the last of which are the smallest. All have times or none has."""
    if len(runs) > 1 and sum([run.count for run in runs]) < _MANY and all(run.count for run in runs):
        return Run.sum(runs)
    return reduce(merge_runs, reversed(runs))


def merge_runs(a: Run, b: Run) -> Run:
    """Return the sum of two runs. Both have times or neither has, but an empty run fits both."""
    if not a.count or not b.count:
        return a if a.count else b
    if a.count + b.count < _MANY:
        return Run.sum((a, b))
    merged = _merge(a, b, bool(a.weights.size or b.weights.size)) or _merge(a, b, True)
    assert merged is not None
    return merged


def _merge(a: Run, b: Run, weighted: bool) -> Run | None:
    """Return the sum of two runs; None if not `weighted` but some sum is not one."""
    size = len(a) + len(b)
    words = space.empty((len(a.words), size), np.dtype(np.uint64))
    times = space.empty((size if a.times.size else 0,), np.result_type(a.times, b.times))
    weights = space.empty((size if weighted else 0,), _sum_type(a, b))
    out = describe_output(words, times, weights)

    def part(start: Cut, end: Cut) -> int:
        i, j = start
        return int(kernels.merge(a.descriptor, i, end[0], b.descriptor, j, end[1], out, i + j, len(words)))

    cuts = _cuts(a, b) if size >= _SHARED else [(0, 0), (len(a), len(b))]
    ends = run_all([partial(part, start, end) for start, end in itertools.pairwise(cuts)])
    if min(ends) < 0:
        return None
    kept = [slice(i + j, end) for (i, j), end in zip(cuts, ends, strict=False)]
    if sum(s.stop - s.start for s in kept) < size:
        words = space.concatenate([words[:, s] for s in kept], axis=1)
        times = space.concatenate([times[s] for s in kept])
        weights = space.concatenate([weights[s] for s in kept])
    return Run(words, times, weights)


def _cuts(a: Run, b: Run) -> list[Cut]:
    """Return positions that cut two runs into parts which can be merged separately."""
    count = threads()
    starts = [len(a) * k // count for k in range(count)]
    width, timed = len(a.words), bool(a.times.size)
    result = [(i, int(kernels.split(a.descriptor, i, b.descriptor, width, timed)) if i else 0) for i in starts]
    return [*result, (len(a), len(b))]


def _sum_type(a: Run, b: Run) -> np.dtype[np.signedinteger[Any]]:
    """Return an integer type that can hold the sums of two runs' weights."""
    width = max(run.weights.itemsize if run.weights.size else 1 for run in (a, b))
    return np.dtype(f"i{min(2 * width, 8)}")


def are_new(columns: Iterable[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows that differ in these columns from the row before."""
    first, *others = columns
    new = np.ones(len(first), bool)
    np.not_equal(first[1:], first[:-1], out=new[1:])
    for column in others:
        new[1:] |= column[1:] != column[:-1]
    return new


def ranges_of(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the positions in ranges of these starts and sizes, one range after the other."""
    result: npt.NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
    return result


def sort_order(words: Words) -> npt.NDArray[np.int64]:
    """Return the permutation that sorts rows by all their words."""
    order = np.argsort(words[0])
    if len(words) > 1:
        kernels.order_ties(words, order)
    return order


def consolidate(words: Words, weights: Weights = NO_WEIGHTS, keep_zeros: bool = False) -> tuple[Words, Weights]:
    """Return the distinct rows, sorted, with their summed weights (never empty). Drops zeros unless `keep_zeros`."""
    if words.shape[1] <= _FEW:
        out, sums, overflows = kernels.consolidate_few(words, np.ascontiguousarray(weights, np.int64), keep_zeros)
        if overflows:
            raise CountOverflowError
        return out, sums
    if words.shape[1] >= _MANY and _ascend(words[0, :_FEW]) and _ascend(words[0]):
        all_weights = weights.astype(np.int64) if weights.size else np.ones(words.shape[1], np.int64)
        there = slice(None) if keep_zeros or all_weights.all() else all_weights != 0
        return words[:, there].copy(), counted(all_weights[there])
    if len(words) == 1 and (weights == 1).all():
        rows, sums = count_in_place(words.copy())
        return (rows, sums) if rows.shape == words.shape else (rows.copy(), sums.copy())
    out, sums, n = kernels.sum_ordered(words, weights.astype(np.int64, copy=False), sort_order(words), keep_zeros)
    counted(sums[:n])
    return (out, sums) if n == sums.size else (out[:, :n].copy(), sums[:n].copy())


def counted(sums: Weights) -> Weights:
    """Return these sums of weights. CountOverflowError if one did not fit."""
    if sums.itemsize == _WIDEST and sums.min(initial=0) == OVERFLOWED:
        raise CountOverflowError
    return sums


def _ascend(values: Words1) -> bool:
    """Return whether the values ascend strictly."""
    return bool((values[1:] > values[:-1]).all())


def count_in_place(words: Words) -> tuple[Words, Weights]:
    """Return the distinct rows of one word, sorted, with their counts. Overwrites `words`, and returns a part of it."""
    words[0].sort()
    counts = np.empty(words.shape[1], np.int64)
    n = kernels.count_equal(words[0], counts)
    return words[:, :n], counts[:n]


# The most runs of an arrangement that are not merged yet: each search visits all of them.
_MANY_RUNS = 32


def add_runs(runs: tuple[Run, ...], run: Run, frozen: int | None = None) -> tuple[Run, ...]:
    """Add a run, and merge so that each run is at least twice as large as the next.

    Runs of at least `frozen` rows stay as they are, unless there are too many runs.
    """
    first, size = len(runs), run.count
    while first and 2 * size > runs[first - 1].count:
        if frozen is not None and runs[first - 1].count >= frozen and first < _MANY_RUNS:
            break
        first -= 1
        size += runs[first].count
    if first < len(runs):
        run = merge_all((*runs[first:], run))
    return (*runs[:first], run) if run.count else runs[:first]

"""Runs: sorted immutable batches of packed rows, with times and weights where they are not trivial."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltic.engine.local.kernels import merge as kernels
from deltic.engine.local.kernels.search import describe

Words = npt.NDArray[np.uint64]
Words1 = npt.NDArray[np.uint64]
Times = npt.NDArray[np.int32]
Weights = npt.NDArray[np.int64]

NO_TIMES: Times = np.empty(0, np.int32)
NO_WEIGHTS: Weights = np.empty(0, np.int64)


class Run:
    """Rows in ascending order of (row, time), no key twice, no weight zero; never changed once made.

    `words` uint64[W, n], contiguous; `times` int32[n], empty when the rows carry none; `weights` int64[n],
    empty when all are one. `max_time` is the greatest time, 0 without times; `descriptor` is what kernels
    take, see `kernels.search`.
    """

    __slots__ = ("descriptor", "max_time", "times", "weights", "words")

    def __init__(self, words: Words, times: Times = NO_TIMES, weights: Weights = NO_WEIGHTS) -> None:
        self.words, self.times, self.weights = np.ascontiguousarray(words), times, weights
        described = describe(self.words, times, weights)
        self.descriptor = described[:4]
        self.max_time = int(described[4])

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def all_weights(self) -> Weights:
        """The weights, spelt out: int64[n]."""
        return self.weights if self.weights.size else np.ones(len(self), np.int64)

    @property
    def nbytes(self) -> int:
        """The memory that the run holds, in bytes."""
        return self.words.nbytes + self.times.nbytes + self.weights.nbytes


def plain(weights: Weights) -> Weights:
    """The weights as a run keeps them: empty when all are one."""
    return NO_WEIGHTS if kernels.all_one(weights) else weights


def merge_runs(a: Run, b: Run) -> Run:
    """The sum of two runs."""
    if len(a.words) == 1:
        one = kernels.merge_one_word(a.words[0], a.times, a.weights, b.words[0], b.times, b.weights)
        words, (times, weights, n) = one[0].reshape(1, -1), one[1:]
    else:
        words, times, weights, n = kernels.merge(a.words, a.times, a.weights, b.words, b.times, b.weights)
    if n < words.shape[1]:
        words, times, weights = words[:, :n].copy(), times[:n].copy(), weights[:n].copy()
    return Run(words, times, plain(weights))


def sort_order(words: Words) -> npt.NDArray[np.int64]:
    """The order that sorts rows by all their words."""
    order = np.argsort(words[0])
    if len(words) > 1:
        kernels.order_ties(words, order)
    return order


def consolidate(words: Words, weights: Weights = NO_WEIGHTS, keep_zeros: bool = False) -> tuple[Words, Weights]:
    """Rows sorted, each once, with its summed weight (never empty weights); zeros vanish unless kept."""
    if len(words) == 1 and not weights.size:
        values, counts = kernels.run_lengths(np.sort(words[0]))
        return values.reshape(1, -1), counts
    out, sums, n = kernels.sum_ordered(words, weights, sort_order(words), keep_zeros)
    return (out, sums) if n == sums.size else (out[:, :n].copy(), sums[:n].copy())


def add_runs(runs: tuple[Run, ...], run: Run) -> tuple[Run, ...]:
    """The runs with one more, merged so that each is at least twice as large as the next."""
    merged = list(runs)
    while merged and 2 * len(run) > len(merged[-1]):
        run = merge_runs(merged.pop(), run)
    if len(run):
        merged.append(run)
    return tuple(merged)

"""Rows with iterations: split into parts of one iteration each, and merged into runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np

from deltic.engine.operators.search import Derivations
from deltic.engine.storage.arrangement import time_array
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import Run, Times, Weights, Words, add_runs, merge_runs


def by_time(run: Run) -> Iterator[tuple[int, Words, Weights]]:
    """Yield the rows of each iteration with their weights. Rows without times belong to iteration 0."""
    weights = run.all_weights()
    if not run.times.size or (run.times == run.max_time).all():
        yield run.max_time, run.words, weights
        return
    yield from _apart(run.words, weights, run.times)


def _apart(words: Words, weights: Weights, times: Times) -> Iterator[tuple[int, Words, Weights]]:
    """Yield the rows of each iteration. Weights may be empty if all are 1."""
    for time in np.unique(times).tolist():
        chosen = times == time
        yield int(time), words[:, chosen], weights[chosen] if weights.size else weights


def of_times(parts: Iterable[tuple[int, Words, Weights]]) -> Run | None:
    """Return the sum of parts of one iteration each as a run; None if it is empty."""
    batches: dict[int, CountChanges] = {}
    for time, words, weights in parts:
        batches.setdefault(time, CountChanges()).add(words, weights)
    runs: tuple[Run, ...] = ()
    for time, batch in sorted(batches.items()):
        if (run := batch.run()) is not None:
            runs = add_runs(runs, Run(run.words, time_array(len(run), time), run.weights))
    return reduce(merge_runs, reversed(runs)) if runs else None


def derived_by_time(found: Iterable[Derivations], now: int) -> Run | None:
    """Return the sum of derivations. Those without times of their own belong to iteration `now`."""

    def parts() -> Iterator[tuple[int, Words, Weights]]:
        for derived in found:
            if derived.times.size:
                yield from _apart(derived.words, derived.weights, derived.times)
            else:
                yield now, derived.words, derived.weights

    return of_times(parts())

"""Rows that carry iterations: parts of one iteration each, and runs of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np

from deltic.engine.local.operators.search import Derived
from deltic.engine.local.storage.arrangement import time_array
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import Run, Weights, Words, add_runs, merge_runs


def by_time(run: Run) -> Iterator[tuple[int, Words, Weights]]:
    """The rows of each iteration with their weights; without times they are of iteration 0."""
    weights = run.all_weights()
    if not run.times.size or (run.times == run.max_time).all():
        yield run.max_time, run.words, weights
        return
    for time in np.unique(run.times).tolist():
        chosen = run.times == time
        yield int(time), run.words[:, chosen], weights[chosen]


def of_times(parts: Iterable[tuple[int, Words, Weights]]) -> Run | None:
    """The sum of rows, each part of one iteration, as a run; None where nothing is left."""
    batches: dict[int, Batch] = {}
    for time, words, weights in parts:
        batches.setdefault(time, Batch()).add(words, weights)
    runs: tuple[Run, ...] = ()
    for time, batch in sorted(batches.items()):
        if (run := batch.run()) is not None:
            runs = add_runs(runs, Run(run.words, time_array(len(run), time), run.weights))
    return reduce(merge_runs, reversed(runs)) if runs else None


def derived_by_time(found: Iterable[Derived], now: int) -> Run | None:
    """The sum of derivations; those without times of their own are of iteration `now`."""

    def parts() -> Iterator[tuple[int, Words, Weights]]:
        for derived in found:
            if not derived.times.size:
                yield now, derived.words, derived.weights
                continue
            for time in np.unique(derived.times).tolist():
                chosen = derived.times == time
                weights = derived.weights[chosen] if derived.weights.size else derived.weights
                yield int(time), derived.words[:, chosen], weights

    return of_times(parts())

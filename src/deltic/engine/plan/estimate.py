"""The number of rows that a plan should visit for one changed row, from samples of the arrangements that it probes.

Only explanations use the estimate: the search itself takes the smallest range at every step. The estimate assumes
that columns are independent and that an intersection is as large as its smallest range. So it is too high where
ranges have little in common. `explain` prints the counts of the rows that were really visited beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltic.engine.plan.plan import Each, LetStep, Meet, Open, Seek, Segment
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.layout import Place

_SAMPLES = 256


@dataclass(frozen=True)
class Estimate:
    """The expected number of rows and index entries visited, and of derivations, for one changed row."""

    visited: float
    derived: float


def estimate(segment: Segment, arrangements: Sequence[Arrangement | None]) -> Estimate:
    """Return the estimate of a segment whose atoms are stored in these arrangements; None stands for the change."""
    known = [0] * len(arrangements)
    left = [float(len(a)) if a is not None else 1.0 for a in arrangements]
    rows, visited = 1.0, 0.0
    for step in segment.steps:
        if isinstance(step, Seek):
            known[step.atom] += len(step.terms)
            left[step.atom] = _matches(arrangements[step.atom], known[step.atom])
            rows *= min(1.0, left[step.atom])
        elif isinstance(step, Meet):
            before = [left[atom] for atom, _ in step.parts]
            for atom, _ in step.parts:
                known[atom] += 1
                left[atom] = _matches(arrangements[atom], known[atom])
            rows *= min(b / max(1.0, left[atom]) for b, (atom, _) in zip(before, step.parts, strict=True))
        elif isinstance(step, Each) and not step.counts:
            alike = _matches(arrangements[step.atom], known[step.atom] + len(step.binds)) if step.merges else 1.0
            rows *= max(1.0, left[step.atom] / max(1.0, alike))
        if not isinstance(step, Open | LetStep):
            visited += rows
    return Estimate(visited, rows)


def _matches(arrangement: Arrangement | None, columns: int) -> float:
    """Return the mean number of rows that agree in the first columns, over the values that occur in these columns."""
    if arrangement is None or not arrangement.runs:
        return 1.0 if arrangement is None else 0.0
    run = max(arrangement.runs, key=len)
    places = arrangement.layout.places[:columns]
    first = [place for place in places if place.word == 0]
    if len(first) < len(places) or not first:
        return 1.0 if first else float(len(arrangement))
    return _group_size(run.words[0], first) * len(arrangement) / len(run)


def _group_size(words: np.ndarray[tuple[int], np.dtype[np.uint64]], places: Sequence[Place]) -> float:
    """Return the mean size of the groups of rows that agree in these leading columns of one word, from a sample of
    rows.
    """
    shift = np.uint64(places[-1].shift)
    sample = words[np.linspace(0, len(words) - 1, min(_SAMPLES, len(words))).astype(np.int64)] >> shift
    low = np.searchsorted(words, sample << shift, side="left")
    high = np.searchsorted(words, (sample << shift) | ((np.uint64(1) << shift) - np.uint64(1)), side="right")
    return float(1 / np.mean(1 / (high - low)))

"""What a plan is expected to visit for one changed row, from samples of the arrangements that it probes.

For explanations: the search itself needs no estimate, it takes the smallest range at every step. Columns are taken to
be independent of one another, which skewed data are not, and an intersection to be as large as its smallest part, so
that the estimate is high where ranges have little in common; the counts of what was really visited stand beside it.
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
    """The estimate of a segment whose atoms are kept in these arrangements; None for the change."""
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
    """How many rows agree in the first columns with a value that occurs there, on average over the values."""
    if arrangement is None or not arrangement.runs:
        return 1.0 if arrangement is None else 0.0
    run = max(arrangement.runs, key=len)
    places = arrangement.layout.places[:columns]
    first = [place for place in places if place.word == 0]
    if len(first) < len(places) or not first:
        return 1.0 if first else float(len(arrangement))
    return _group_size(run.words[0], first) * len(arrangement) / len(run)


def _group_size(words: np.ndarray[tuple[int], np.dtype[np.uint64]], places: Sequence[Place]) -> float:
    """The mean size of the groups of rows that agree in these columns, the first of one word, from a sample of rows."""
    shift = np.uint64(places[-1].shift)
    sample = words[np.linspace(0, len(words) - 1, min(_SAMPLES, len(words))).astype(np.int64)] >> shift
    low = np.searchsorted(words, sample << shift, side="left")
    high = np.searchsorted(words, (sample << shift) | ((np.uint64(1) << shift) - np.uint64(1)), side="right")
    return float(1 / np.mean(1 / (high - low)))

"""Top-k: each epoch looks at changed rows, and at those by which the borders of their parts move.

The first rows of each part, up to a number of them, end at a *border*: a row, and how many of its copies are before
it. A change before the border pushes it, and a walk from where it was finds where it is now. What lies between two
numbers is the difference of both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.ordered import Mask, Ordered, OrderedChange, Positions
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import Run, Weights, Words, add_runs, consolidate, plain
from deltic.engine.storage.state import Role, State
from deltic.program.operators.top import TopRows


@kernel_of(TopRows)
class Ranking(RelationUpdater):
    """One top-k, whose rows the target holds."""

    def __init__(self, ranked: TopRows, states: Mapping[str, State], target: State, environment: Environment) -> None:
        op = ranked.operator
        self.source, self.target, self.visits = states[ranked.source], target, environment.visits
        self.ordered = Ordered(self.source, target, op.keys, op.order, environment.interner)
        self.sizes = self.ordered.sizes()
        end = None if op.limit is None else op.offset + op.limit
        self.is_bounded = end is not None
        self.start = _Border(self.ordered, "start", op.offset) if op.offset else None
        self.end = _Border(self.ordered, "end", end) if end else None

    def change(self) -> Run | None:
        """The change of the rows up to the end less that of the rows before the start."""
        delta = self.source.delta
        assert delta is not None
        visited = self.ordered.visited
        changed = self.ordered.add(delta)
        old, new = self._count(changed)
        words = [changed.words[:, :0]]
        weights = [np.empty(0, np.int64)]
        borders = [(border, sign) for border, sign in ((self.end, 1), (self.start, -1)) if border is not None]
        for border, sign in borders:
            for rows, moved in border.change(changed, old, new):
                words.append(rows)
                weights.append(sign * moved)
        if not self.is_bounded:
            words.append(changed.words)
            weights.append(changed.gained)
        self.visits.rows += self.ordered.visited - visited
        return self._rows(*consolidate(np.concatenate(words, axis=1), np.concatenate(weights)))

    def _count(self, changed: OrderedChange) -> tuple[Weights, Weights]:
        """How many rows each part had, and how many it has; brings what is kept of it up to date."""
        keys = self.ordered.rows.layout.unpack(changed.starts)[: len(self.ordered.keys)]
        words = self.sizes.layout.pack(keys, len(changed.first))
        old, gained = self.sizes.weights_of(words), changed.sum(changed.gained)
        moved = gained != 0
        self.sizes.runs = add_runs(self.sizes.runs, Run(words[:, moved], weights=plain(gained[moved])))
        return old, old + gained

    def _rows(self, words: Words, weights: Weights) -> Run | None:
        """The change as the target has it."""
        batch = CountChanges()
        batch.add(*consolidate(self.target.layout.pack(self.ordered.decode(words), len(weights)), weights))
        return batch.run()


class _Border:
    """Where the first `count` rows of each part end, one or more; kept for the parts that have so many.

    What is kept is the last of these rows, weighing how many of its copies are among them.
    """

    def __init__(self, ordered: Ordered, role: Role, count: int) -> None:
        self.ordered, self.count = ordered, count
        self.kept = ordered.beside(role)

    def change(self, changed: OrderedChange, old: Weights, new: Weights) -> list[tuple[Words, Weights]]:
        """The change of the first rows, for parts that had and have so many rows; brings the borders up to date."""
        border, copies, full = self._find(changed)
        before, entered = self._entered(changed, border, copies, full)
        missing = np.minimum(new, self.count) - np.where(full, self.count, old) - changed.sum(entered)
        later, fill = self._fill(border, before, missing)
        earlier, drop = self._drop(border, before, missing, full, new >= self.count)
        now, left = border.copy(), before.copy()
        for at, rows, weights in (later, earlier):
            now[:, at], left[at] = rows, weights
        left = np.where(new >= self.count, left, 0)
        words, moved = consolidate(np.concatenate([border, now], axis=1), np.concatenate([-copies, left]))
        self.kept.runs = add_runs(self.kept.runs, Run(words, weights=plain(moved)))
        return [(changed.words, entered), fill, drop]

    def _find(self, changed: OrderedChange) -> tuple[Words, Weights, Mask]:
        """The border of each part, its copies, and whether there is one; else the greatest row there could be."""
        walked = self.ordered.walk(changed.starts, np.ones(len(changed.first), np.int64), forward=True, among=self.kept)
        border, copies = self.ordered.last(changed.starts), np.zeros(len(changed.first), np.int64)
        border[:, walked.origins], copies[walked.origins] = walked.words, walked.weights
        return border, copies, copies > 0

    def _entered(self, changed: OrderedChange, border: Words, copies: Weights, full: Mask) -> tuple[Weights, Weights]:
        """How many copies of the border remain before it, and by how much each changed row is more often there."""
        less, same = _compare(changed.words, border[:, changed.parts])
        at_border = same & full[changed.parts]
        remaining = np.minimum(copies[changed.parts], changed.after)
        entered = np.where(less | ~full[changed.parts], changed.gained, 0)
        entered[at_border] = (remaining - copies[changed.parts])[at_border]
        before = copies.copy()
        before[changed.parts[at_border]] = remaining[at_border]
        return before, entered

    def _fill(
        self, border: Words, before: Weights, missing: Weights
    ) -> tuple[tuple[Positions, Words, Weights], tuple[Words, Weights]]:
        """The rows behind the border that come before it; and the new borders, by part."""
        parts = np.flatnonzero(missing > 0)
        walked = self.ordered.walk(border[:, parts], (missing + before)[parts], forward=True)
        origins = parts[walked.origins]
        end = _running(walked.weights, origins)
        low = np.maximum(end - walked.weights, before[origins])
        high = np.minimum(end, (before + missing)[origins])
        last = _last(origins)
        copies = (high - (end - walked.weights))[last]
        return (origins[last], walked.words[:, last], copies), (walked.words, high - low)

    def _drop(
        self, border: Words, before: Weights, missing: Weights, full: Mask, fills: Mask
    ) -> tuple[tuple[Positions, Words, Weights], tuple[Words, Weights]]:
        """The rows before the border that come behind it, negated; and the new borders of parts that are full now."""
        parts = np.flatnonzero(fills & ((missing < 0) | ((missing == 0) & (before == 0))))
        there = np.maximum(self.ordered.rows.weights_of(np.ascontiguousarray(border[:, parts])), 0)
        behind = np.zeros(len(missing), np.int64)
        behind[parts] = np.where(full[parts], there - before[parts], 0)
        walked = self.ordered.walk(border[:, parts], (behind - missing)[parts] + 1, forward=False)
        origins = parts[walked.origins]
        end = _running(walked.weights, origins)
        low = np.maximum(end - walked.weights, behind[origins])
        high = np.minimum(end, (behind - missing)[origins])
        last = _last(origins)
        copies = (end - high)[last]
        return (origins[last], walked.words[:, last], copies), (walked.words, -np.maximum(high - low, 0))


def _compare(a: Words, b: Words) -> tuple[Mask, Mask]:
    """Where a row of `a` comes before that of `b`, and where both are the same."""
    less, same = np.zeros(a.shape[1], bool), np.ones(a.shape[1], bool)
    for one, other in zip(a, b, strict=True):
        less |= same & (one < other)
        same &= one == other
    return less, same


def _running(values: Weights, origins: Positions) -> Weights:
    """The sum of the values up to each, among those of its origin, which stand together."""
    sums = np.cumsum(values)
    first = np.flatnonzero(np.diff(origins, prepend=-1))
    lengths = np.diff(first, append=len(origins))
    before: Weights = np.repeat(sums[first] - values[first], lengths)
    return sums - before


def _last(origins: Positions) -> Positions:
    """The position of the last of each origin, which stand together."""
    return np.flatnonzero(np.diff(origins, append=-1))

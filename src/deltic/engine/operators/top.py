"""Top-k: each epoch visits changed rows, and the rows by which the borders of their partitions move.

The first rows of each partition, up to a limit, end at a *border*: a row, and the number of its copies before the
border. A change before the border moves it, and a walk from its old place finds the new one. Top-k with an offset is
the difference of two borders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.ordered import Mask, Ordered, OrderedChange, Positions
from deltic.engine.operators.query import Environment
from deltic.engine.storage.run import Run, Weights, Words, add_runs, consolidate
from deltic.engine.storage.state import Role, State
from deltic.program.operators.over import TopRows


@kernel_of(TopRows)
class Ranking(RelationUpdater):
    """One top-k, whose rows the target stores."""

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
        """Return the change of the rows up to the end minus that of the rows before the start."""
        delta = self.source.delta
        assert delta is not None
        visited = self.ordered.visited
        changed = self.ordered.add(delta)
        old, new = self._count(changed)
        words, weights = list[Words](), list[Weights]()
        borders = [(border, sign) for border, sign in ((self.end, 1), (self.start, -1)) if border is not None]
        for border, sign in borders:
            for rows, moved in border.change(changed, old, new):
                words.append(rows)
                weights.append(sign * moved)
        if not self.is_bounded:
            words.append(changed.words)
            weights.append(changed.gained)
        self.visits.rows += self.ordered.visited - visited
        return self._rows(words, weights)

    def _count(self, changed: OrderedChange) -> tuple[Weights, Weights]:
        """Return the number of rows of each partition before and after the change, and update the stored numbers."""
        keys = self.ordered.rows.layout.unpack(changed.starts)[: len(self.ordered.keys)]
        words = self.sizes.layout.pack(keys, len(changed.first))
        old, gained = self.sizes.weights_of(words), changed.sum(changed.gained)
        moved = gained != 0
        self.sizes.runs = add_runs(self.sizes.runs, Run(words[:, moved], weights=gained[moved]))
        return old, old + gained

    def _rows(self, words: Sequence[Words], weights: Sequence[Weights]) -> Run | None:
        """Return the change in the target's layout, from parts of it."""
        moved = [there.any() for there in weights]
        if not any(moved):
            return None
        rows, sums = (np.concatenate(list(compress(parts, moved)), axis=-1) for parts in (words, weights))
        rows, sums = rows[:, sums != 0], sums[sums != 0]
        rows, sums = consolidate(self.target.layout.pack(self.ordered.decode(rows), len(sums)), sums)
        return Run(rows, weights=sums) if len(sums) else None


class _Border:
    """The end of the first `count` rows of each partition, one or more; stored for partitions with that many.

    It is stored as the last of these rows, with the number of its copies among them as weight.
    """

    def __init__(self, ordered: Ordered, role: Role, count: int) -> None:
        self.ordered, self.count = ordered, count
        self.kept = ordered.beside(role)

    def change(self, changed: OrderedChange, old: Weights, new: Weights) -> list[tuple[Words, Weights]]:
        """Return the change of the first rows, given the partitions' old and new sizes, and update the borders."""
        border, copies, full = self._find(changed)
        before, entered = self._entered(changed, border, copies, full)
        fills = new >= self.count
        missing = np.minimum(new, self.count) - np.where(full, self.count, old) - changed.sum(entered)
        now, left, entering = border.copy(), before.copy(), [(changed.words, entered)]
        for parts, moves in (
            (np.flatnonzero(missing > 0), self._fill),
            (np.flatnonzero(fills & ((missing < 0) | ((missing == 0) & (before == 0)))), self._drop),
        ):
            if len(parts):
                (at, now[:, at], left[at]), moving = moves(parts, border, before, missing, full)
                entering.append(moving)
        self._keep(border, copies, now, np.where(fills, left, 0))
        return entering

    def _keep(self, border: Words, copies: Weights, now: Words, left: Weights) -> None:
        """Replace borders by those of now, where they differ."""
        moved = (copies != left) | (border != now).any(axis=0)
        if moved.any():
            pairs = np.concatenate([border[:, moved], now[:, moved]], axis=1)
            words, weights = consolidate(pairs, np.concatenate([-copies[moved], left[moved]]))
            self.kept.runs = add_runs(self.kept.runs, Run(words, weights=weights))

    def _find(self, changed: OrderedChange) -> tuple[Words, Weights, Mask]:
        """Return the border of each partition, its copies, and whether there is one; else the greatest possible row."""
        walked = self.ordered.walk(changed.starts, np.ones(len(changed.first), np.int64), forward=True, among=self.kept)
        border, copies = self.ordered.last(changed.starts), np.zeros(len(changed.first), np.int64)
        border[:, walked.origins], copies[walked.origins] = walked.words, walked.weights
        return border, copies, copies > 0

    def _entered(self, changed: OrderedChange, border: Words, copies: Weights, full: Mask) -> tuple[Weights, Weights]:
        """Return how many copies of the border remain before it, and the increase of each changed row before it."""
        less, same = _compare(changed.words, border[:, changed.parts])
        at_border = same & full[changed.parts]
        remaining = np.minimum(copies[changed.parts], changed.after)
        entered = np.where(less | ~full[changed.parts], changed.gained, 0)
        entered[at_border] = (remaining - copies[changed.parts])[at_border]
        before = copies.copy()
        before[changed.parts[at_border]] = remaining[at_border]
        return before, entered

    def _fill(
        self, parts: Positions, border: Words, before: Weights, missing: Weights, full: Mask
    ) -> tuple[tuple[Positions, Words, Weights], tuple[Words, Weights]]:
        """Return the rows after the border that move before it, and the new borders, of these partitions."""
        walked = self.ordered.walk(border[:, parts], (missing + before)[parts], forward=True)
        origins = parts[walked.origins]
        end = _running(walked.weights, origins)
        low = np.maximum(end - walked.weights, before[origins])
        high = np.minimum(end, (before + missing)[origins])
        last = _last(origins)
        copies = (high - (end - walked.weights))[last]
        return (origins[last], walked.words[:, last], copies), (walked.words, high - low)

    def _drop(
        self, parts: Positions, border: Words, before: Weights, missing: Weights, full: Mask
    ) -> tuple[tuple[Positions, Words, Weights], tuple[Words, Weights]]:
        """Return the rows before the border that move after it, negated, and the new borders, of full partitions."""
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
    """Return where a row of `a` comes before that of `b`, and where both are equal."""
    less, same = np.zeros(a.shape[1], bool), np.ones(a.shape[1], bool)
    for one, other in zip(a, b, strict=True):
        less |= same & (one < other)
        same &= one == other
    return less, same


def _running(values: Weights, origins: Positions) -> Weights:
    """Return prefix sums of the values within each origin, whose rows are adjacent."""
    sums = np.cumsum(values)
    first = np.flatnonzero(np.diff(origins, prepend=-1))
    lengths = np.diff(first, append=len(origins))
    before: Weights = np.repeat(sums[first] - values[first], lengths)
    return sums - before


def _last(origins: Positions) -> Positions:
    """Return the position of the last row of each origin, whose rows are adjacent."""
    return np.flatnonzero(np.diff(origins, append=-1))

"""Window functions: each epoch computes the rows whose frame has a changed row, before and after the change.

If every function has a bounded frame, it reads this number of rows before and after each changed one, a *stretch*. If
frames are sessions, a stretch has the sessions around the changed row. Otherwise it reads the whole partition.
Unchanged results cancel: the change only has rows with other values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltic.circuit.operators.over import WindowCall
from deltic.engine.kernels.settle import totals
from deltic.engine.kernels.walk import ENDED, MET
from deltic.engine.operators.functions import FrameRows, evaluate
from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.ordered import Mask, Ordered, OrderedChange, Positions, Walked
from deltic.engine.operators.query import Environment
from deltic.engine.operators.sequences import OrderedRows, Ordering
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import Column, Raw, placed
from deltic.engine.storage.run import Run, Weights, Words, are_new, sort_order
from deltic.engine.storage.state import State
from deltic.errors import EvaluationError
from deltic.program.operators.over import Windows

_ALL = np.iinfo(np.int64).max
_MANY = 1 << 12  # changed rows from which on partitions may be read whole, which sorts nothing


@dataclass(frozen=True)
class _Stretches:
    """Rows in order, by stretch, with their weights before and after the change.

    `starts_whole` and `ends_whole` say whether each stretch starts and ends with its partition.
    """

    words: Words
    numbers: Positions
    before: Weights
    after: Weights
    starts_whole: Mask
    ends_whole: Mask


@kernel_of(Windows)
class WindowFunctions(RelationUpdater):
    """The rows of one relation with the values of window functions, which are stored in the target."""

    def __init__(self, windows: Windows, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.operator = op = windows.operator
        self.source, self.target = states[windows.source], target
        self.visits, self.interner = environment.visits, environment.interner
        self.ordered = Ordered(self.source, target, op.keys, op.order, environment.interner)
        reaches = [call.reach for call in op.calls]
        bounded = [reach for reach in reaches if reach is not None]
        self.back, self.ahead = (max((reach[i] for reach in bounded), default=0) for i in (0, 1))
        gaps = [call.gap for call in op.calls if call.gap is not None]
        self.gap = min(max(gaps), _ALL) if len(gaps) == len(op.calls) else None
        self.is_bounded = len(bounded) == len(reaches) or self.gap is not None

    def change(self) -> Run | None:
        """Return the change of the rows with their values. DomainOverflow if a value has no place yet."""
        delta = self.source.delta
        assert delta is not None
        visited = self.ordered.visited
        changed = self.ordered.add(delta)
        stretches = self._around(changed) if self._is_sparse(changed) else self._partitions(changed)
        self.visits.rows += self.ordered.visited - visited
        batch = CountChanges()
        for weights, sign in ((stretches.before, -1), (stretches.after, 1)):
            if weights.any():
                words = self._computed(stretches, weights)
                batch.add(words, np.full(words.shape[1], sign))
        return batch.run()

    def _is_sparse(self, changed: OrderedChange) -> bool:
        """Return whether to read only rows near changes: not if frames are unbounded, or almost all rows are near."""
        count, near = len(changed.parts), 1 + self.back + self.ahead
        return self.is_bounded and (count < _MANY or count * near < len(self.ordered.rows))

    def _partitions(self, changed: OrderedChange) -> _Stretches:
        """Return all rows of the partitions with changes."""
        wanted, whole = np.full(len(changed.first), _ALL), np.ones(len(changed.first), bool)
        walked = self.ordered.walk(changed.starts, wanted, forward=True)
        words, numbers, after = walked.words, walked.origins, walked.weights
        gone = changed.after == 0
        if gone.any():
            words = np.concatenate([words, changed.words[:, gone]], axis=1)
            order = sort_order(words)
            words = np.ascontiguousarray(words[:, order])
            numbers = np.concatenate([numbers, changed.parts[gone]])[order]
            after = np.concatenate([after, changed.after[gone]])[order]
        moved = changed.gained != 0
        gained = Run(changed.words[:, moved], weights=changed.gained[moved])
        return _Stretches(words, numbers, after - totals(words, descriptors((gained,))), after, whole, whole)

    def _around(self, changed: OrderedChange) -> _Stretches:
        """Return the changed rows, the rows that see them, and the rows that these see. Near ones share a stretch."""
        later, earlier = (self._reaching(changed, forward=forward) for forward in (True, False))
        begins = np.concatenate([[True], (later.ends[:-1] != MET) & (earlier.ends[1:] != MET)])
        numbers = np.cumsum(begins) - 1
        last = np.append(np.flatnonzero(begins)[1:], len(numbers)) - 1
        met = [(w.words, w.weights, numbers[w.origins]) for w in (earlier, later)]
        return _gathered(changed, numbers, met, earlier.ends[begins] == ENDED, later.ends[last] == ENDED)

    def _reaching(self, changed: OrderedChange, *, forward: bool) -> Walked:
        """Return the rows on one side of changed rows: a fixed number, or their session and the first row after it."""
        count = changed.after + self.back + self.ahead
        wanted = count if self.gap is None else np.full(len(count), _ALL)
        return self.ordered.walk(changed.words, wanted, forward=forward, meet=True, gap=self.gap)

    def _computed(self, stretches: _Stretches, weights: Weights) -> Words:
        """Return the rows as stored in the target, with their function values at these weights."""
        each = np.repeat(np.arange(len(weights)), weights)
        begins = np.diff(stretches.numbers[each], prepend=-1) != 0
        words = stretches.words[:, each] & self.ordered.peer_mask[:, None]
        rows = OrderedRows.of(begins, begins | are_new(words))
        raw = [column[each] for column in self.ordered.decode(stretches.words)]
        seen = self._seen(rows, raw, np.ones(len(each), bool))
        inside = self._inside(seen, stretches, each)
        seen = replace(seen, asked=inside)
        result = [self._values(call, seen) for call in self.operator.calls]
        columns = [(v[inside], None if nulls is None else nulls[inside]) for v, nulls in result]
        results = placed(self.target.domains[len(self.source.domains) :], columns)
        return self.target.layout.pack((column[inside] for column in raw), int(inside.sum()), results)

    def _values(self, call: WindowCall, seen: FrameRows) -> Column:
        """Return the values of a call. EvaluationError, which names the view and the call, if a required value is
        missing.
        """
        try:
            return evaluate(call, seen)
        except EvaluationError as error:
            raise EvaluationError(f"{self.target.relation.name}: {call}: {error}") from None

    def _seen(self, rows: OrderedRows, raw: Sequence[Raw], asked: Mask) -> FrameRows:
        """Return the rows with their columns as values."""
        schema = self.source.relation.schema
        columns = {
            name: (domain.decode(column), domain.nulls(column))
            for name, domain, column in zip(schema.names, self.source.domains, raw, strict=True)
        }
        ordering = None
        if len(self.operator.order) == 1:
            (order,) = self.operator.order
            ordering = Ordering(columns[order.column], schema.types[order.column], order.descending, self.interner)
        return FrameRows(rows, columns, schema, ordering, asked, self.interner)

    def _inside(self, seen: FrameRows, stretches: _Stretches, each: Positions) -> Mask:
        """Return the mask of the rows whose frames are in their stretch, such as those that see a changed row."""
        numbers, rows = stretches.numbers[each], seen.rows
        if self.gap is None:
            before, behind = rows.positions - self.back >= rows.starts, rows.positions + self.ahead < rows.ends
        else:
            first, end = rows.sessions(self.gap, seen.ordering)
            before, behind = first > rows.starts, end < rows.ends
        result: Mask = (stretches.starts_whole[numbers] | before) & (stretches.ends_whole[numbers] | behind)
        return result


def _gathered(
    changed: OrderedChange,
    numbers: Positions,
    met: list[tuple[Words, Weights, Positions]],
    starts_whole: Mask,
    ends_whole: Mask,
) -> _Stretches:
    """Return the changed rows, with these stretch numbers, and those that walks have visited, without duplicates."""
    words = np.concatenate([changed.words, *(words for words, _, _ in met)], axis=1)
    number = np.concatenate([numbers, *(numbers for _, _, numbers in met)])
    before = np.concatenate([changed.before, *(weights for _, weights, _ in met)])
    after = np.concatenate([changed.after, *(weights for _, weights, _ in met)])
    order = np.lexsort((*words[::-1], number))  # stable: of the same row the changed one comes first
    words, number = words[:, order], number[order]
    first = are_new((number, *words))
    order = order[first]
    return _Stretches(words[:, first], number[first], before[order], after[order], starts_whole, ends_whole)

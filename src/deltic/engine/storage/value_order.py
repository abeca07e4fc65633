"""An order over interned values: labels that compare as the values do; text compares byte by byte in UTF-8.

Ids are dense and never change, but have no order. Each value also has a *label*, an integer below 2⁶² with room on
both sides. A new value gets one between those of its neighbours, and no other moves (order maintenance). If there is no
room left, all labels are reassigned, which counts as growth of the domain of labels.

Values that are written in ascending order, such as names with numbers, would halve the same gap again and again. So a
value whose neighbour was added just before it gets a label close to it. The rest of the gap is left for its successors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.engine.image import GrowingSequence, StoredArrays
from deltic.engine.storage.columns import Domain, DomainOverflow, Place, Raw, Values
from deltic.values.types import Type

BITS = 62
LARGE = 1 << 60
"""Decimals whose absolute value is below this number are their own labels."""
_END = 1 << BITS
# The gap between the labels of values that arrive in order.
_STRIDE = 1 << 20

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Sortable(Protocol):
    """A dictionary of values by dense ids, which can be sorted."""

    origin: str

    def __len__(self) -> int: ...

    def take(self, ids: Values) -> pa.Array: ...

    def sort_indices(self, column: pa.Array) -> Positions: ...

    def heads(self, ids: Values) -> Any: ...

    def places(self, ids: Values, heads: Any, values: pa.Array) -> Positions: ...


class ValueOrder:
    """The labels of a dictionary's values, assigned when first used; `domain` is that of columns of labels."""

    _end = _END

    def __init__(self, dictionary: Sortable) -> None:
        self._dictionary = dictionary
        self._labels: Values = np.zeros(1024, np.int64)
        self._known = 0
        self._runs: list[_Ordered] = []
        self._kept: tuple[int, Sequence[StoredArrays]] | None = None
        self._stretches: Sequence[StoredArrays] = ()
        self.domain: Domain = Labels(self)
        self.reversed: Domain = Labels(self, descending=True)
        self._moved = _Ordered.none(), _Ordered.none()

    def restore(self, count: int, kept: Sequence[StoredArrays]) -> None:
        """Restore the first `count` labels that `growing` returned. They are read when first used."""
        self._kept, self._stretches = (count, kept), kept

    @property
    def count(self) -> int:
        """Return how many values have a label."""
        return self._known if self._kept is None else self._kept[0]

    def growing(self) -> GrowingSequence:
        """Return the present labels for a checkpoint. They are valid as long as the numbering is the same."""
        origin = self._dictionary.origin
        if self._kept is not None:
            count, kept = self._kept
            return GrowingSequence(count, lambda start, end: {"labels": _joined(kept)[start:end]}, origin, kept)
        labels = self._labels
        return GrowingSequence(self._known, lambda start, end: {"labels": labels[start:end]}, origin, self._stretches)

    def _read(self) -> None:
        """Read the restored labels."""
        if self._kept is not None:
            (count, kept), self._kept = self._kept, None
            labels = _joined(kept)[:count]
            order = np.argsort(labels)
            self._labels, self._known, self._runs = labels, count, [_Ordered(labels[order], order)]

    def labels(self) -> Values:
        """Return the label of each id, int64[n]. Elements never change, so searches may read them while values are
        added.

        Raises DomainOverflow if there is no room for a new label.
        """
        self._read()
        if self._known < len(self._dictionary):
            self._include()
        return self._labels[: self._known]

    def of(self, ids: Values) -> Values:
        """Return the labels of ids."""
        return self.labels()[ids]

    def ids(self, labels: Values) -> Values:
        """Return the ids of labels. They are sought in ascending order, so that each search is near the one before."""
        self._read()
        result, left = np.zeros(len(labels), np.int64), np.argsort(labels)
        for run in reversed(self._runs):  # from the newest and smallest one on
            sought = labels[left]
            at = np.minimum(np.searchsorted(run.labels, sought), len(run.ids) - 1)
            here = run.labels[at] == sought
            result[left[here]] = run.ids[at[here]]
            left = left[~here]
        return result

    def _include(self) -> None:
        """Assign labels to the new values."""
        new = np.arange(self._known, len(self._dictionary))
        values = self._dictionary.take(new)
        order = self._dictionary.sort_indices(values)
        ids, values = new[order], values.take(pa.array(order))
        low, high = self._neighbours(values)
        labels = _between(low.labels, low.ids, high.labels, high.ids)
        if labels is None:
            raise DomainOverflow(self.domain, 0, self._end - 1)
        self._write(ids, labels)

    def _write(self, ids: Values, labels: Values) -> None:
        count = len(self._dictionary)
        if count > len(self._labels):
            self._labels = np.concatenate([self._labels[: self._known], np.zeros(2 * count - self._known, np.int64)])
        self._labels[ids] = labels
        self._known = count
        run = _Ordered(labels, ids)
        while self._runs and 2 * len(run.ids) > len(self._runs[-1].ids):
            run = self._runs.pop().merge(run)
        self._runs.append(run)

    def _neighbours(self, values: pa.Array) -> tuple[_Ordered, _Ordered]:
        """Return the labels and ids of the nearest known values before and after each of the sorted values."""
        low = _Ordered(np.zeros(len(values), np.int64), np.full(len(values), -1))
        high = _Ordered(np.full(len(values), self._end), np.full(len(values), -1))
        for run in self._runs:
            if run.heads is None:
                run.heads = self._dictionary.heads(run.ids)
            at = self._dictionary.places(run.ids, run.heads, values)
            before, after = run.take(at - 1), run.take(at)
            low = low.where((before.labels > low.labels) & (at > 0), before)
            high = high.where((after.labels < high.labels) & (at < len(run.ids)), after)
        return low, high

    def relabel(self) -> None:
        """Reassign all labels, also those of new values, with equal gaps."""
        self._read()
        count = len(self._dictionary)
        old = self._all()
        ids = self._dictionary.sort_indices(self._dictionary.take(np.arange(count)))
        labels = (np.arange(1, count + 1) * (self._end // (count + 1))).astype(np.int64)
        self._labels, self._known, self._runs = np.zeros(2 * count, np.int64), 0, []
        self._write(ids, labels)
        for domain in (self.domain, self.reversed):
            domain.numbering += 1
            domain.grow()
        self._stretches = ()
        self._moved = old, _Ordered(self._labels[old.ids], old.ids)

    def moved(self, labels: Values) -> Values:
        """Return the present labels for labels from before they were reassigned."""
        before, after = self._moved
        return after.labels[np.searchsorted(before.labels, labels)]

    def _all(self) -> _Ordered:
        """Return all labels in ascending order, with their ids."""
        every = _Ordered.none()
        for run in self._runs:
            every = every.merge(run)
        return every


def _joined(kept: Sequence[StoredArrays]) -> Values:
    """Return a copy of the stored labels."""
    return np.concatenate([stretch.arrays()["labels"] for stretch in kept])


class DecimalOrder(ValueOrder):
    """The order of decimals, by their stored integers: numbers below `LARGE`, or `LARGE` plus the id of a larger one.

    The label of a small one is itself plus 2 · `LARGE`. Large ones have labels below and above all of these.
    """

    _end = LARGE

    def of(self, ids: Values) -> Values:
        labels, large = ids + 2 * LARGE, ids >= LARGE
        if large.any():
            result = ids[large] - LARGE
            values = self._dictionary.take(result)
            is_positive = np.asarray(pc.greater(values, pa.scalar(0, values.type)))
            labels[large] = super().of(result) + np.where(is_positive, 3 * LARGE, 0)
        return labels

    def ids(self, labels: Values) -> Values:
        result, large = labels - 2 * LARGE, self._are_large(labels)
        if large.any():
            result[large] = super().ids(labels[large] % LARGE) + LARGE
        return result

    def moved(self, labels: Values) -> Values:
        result, large = labels.copy(), self._are_large(labels)
        if large.any():
            result[large] += super().moved(labels[large] % LARGE) - labels[large] % LARGE
        return result

    @staticmethod
    def _are_large(labels: Values) -> Mask:
        return (labels < LARGE) | (labels > 3 * LARGE)


class _Ordered:
    """Labels in ascending order, int64[n], with the ids of their values, and an index over these once it is needed."""

    def __init__(self, labels: Values, ids: Values) -> None:
        self.labels, self.ids = labels, ids
        self.heads: Any = None

    @classmethod
    def none(cls) -> _Ordered:
        """Return no labels."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    def merge(self, other: _Ordered) -> _Ordered:
        """Return the labels of both, in ascending order."""
        labels, ids = np.concatenate([self.labels, other.labels]), np.concatenate([self.ids, other.ids])
        order = np.argsort(labels, kind="stable")
        return _Ordered(labels[order], ids[order])

    def take(self, at: Positions) -> _Ordered:
        """Return the entries at some positions. Positions out of range give any entry."""
        inside = np.clip(at, 0, len(self.ids) - 1)
        return _Ordered(self.labels[inside], self.ids[inside])

    def where(self, chosen: Mask, other: _Ordered) -> _Ordered:
        """Return the other's entries where `chosen`, these elsewhere."""
        return _Ordered(np.where(chosen, other.labels, self.labels), np.where(chosen, other.ids, self.ids))


def _between(low: Values, before: Values, high: Values, after: Values) -> Values | None:
    """Return ascending labels, each between its `low` and `high`, with equal gaps. None if there is no room.

    Values with the same `low` share its gap. `before` and `after` are the ids of the neighbours, -1 for none: the
    greater id is the newer value.
    """
    starts = np.flatnonzero(np.diff(low, prepend=-1))
    sizes = np.diff(starts, append=len(low))
    room = high[starts] - low[starts]
    step = room // (sizes + 1)
    if (step < 1).any():
        return None
    ascending, descending = before[starts] > after[starts], before[starts] < after[starts]
    step = np.where(ascending | descending, np.minimum(step, _STRIDE), step)
    first = np.where(descending, high[starts] - step * sizes, low[starts] + step)
    group = np.repeat(np.arange(len(starts)), sizes)
    labels: Values = first[group] + (np.arange(len(low)) - starts[group]) * step[group]
    return labels


class Labels(Domain):
    """The domain of labels: every label has a place, and the domain grows when labels are reassigned.

    If it is `descending`, a greater label has a smaller offset. The offset of label 0, which no value has, stays the
    same.
    """

    def __init__(self, order: ValueOrder, *, descending: bool = False) -> None:
        super().__init__(Type.INT64, 0, BITS, empty=False)
        self._order, self.descending = order, descending

    def extend(self, low: int, high: int) -> None:
        self._order.relabel()

    def extend_amply(self, low: int, high: int, time: int) -> None:
        self.extend(low, high)

    def moved(self, raw: Raw, old: Place) -> Raw:
        if old.numbering == self.numbering:
            return raw
        assert old.numbering == self.numbering - 1
        labels = self.turned(raw.view(np.int64))
        given = labels != 0
        labels[given] = self._order.moved(labels[given])
        return self.turned(labels).view(np.uint64)

    def turned(self, labels: Values) -> Values:
        """Map labels to the values that have their offsets here, and back."""
        return _END - 1 - labels if self.descending else labels.copy()

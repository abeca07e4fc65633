"""Partitions as vectors: for consecutive rows, the range of their partition, of their peers, and of their frame."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import numpy.typing as npt

from deltic.circuit.operators.over import Frame, Unit
from deltic.engine.operators import numbers
from deltic.engine.operators.numbers import Array
from deltic.engine.storage.codec import order_floats
from deltic.engine.storage.columns import Column, Values
from deltic.engine.storage.interner import Interner
from deltic.values.numbers import EXACT
from deltic.values.types import Kind, Type

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_FAR = 1 << 40  # more rows than there are
_LONGEST = (1 << 63) - 1  # of gaps between the values of an order
_WIDE = 1 << 63


@dataclass(frozen=True)
class Ordering:
    """The only ordering column, by whose values a frame counts."""

    column: Column
    type: Type
    descending: bool
    interner: Interner


@dataclass(frozen=True)
class OrderedRows:
    """n rows by partition and in order, with the range of each row's partition and of its peers.

    All are int64[n], ends exclusive; `peers` numbers the groups of peers through all partitions.
    """

    starts: Positions
    ends: Positions
    peer_starts: Positions
    peer_ends: Positions
    peers: Positions

    @classmethod
    def of(cls, partitions: Mask, peers: Mask) -> OrderedRows:
        """Return the rows, given the masks of the first rows of partitions, and of groups of peers."""
        starts, ends = _stretches(partitions)
        peer_starts, peer_ends = _stretches(peers)
        return cls(starts, ends, peer_starts, peer_ends, np.cumsum(peers) - 1)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def positions(self) -> Positions:
        """The position of each row."""
        return np.arange(len(self))

    def seen(self, frame: Frame, ordering: Ordering | None) -> tuple[Positions, Positions]:
        """Return the start and end of each row's frame, which is empty if the end is not greater."""
        if frame.unit is Unit.SESSIONS:
            return self.sessions(min(int(frame.end or 0), _LONGEST), ordering)
        low = self.starts if frame.start is None else self._low(frame, frame.start, ordering)
        high = self.ends if frame.end is None else self._high(frame, frame.end, ordering)
        return low, np.maximum(low, high)

    def sessions(self, gap: int, ordering: Ordering | None) -> tuple[Positions, Positions]:
        """Return the start and end of each row's session: adjacent rows of a session are at most the gap apart."""
        assert ordering is not None
        begins = self.starts == self.positions
        begins[1:] |= are_apart(ordering.column, gap)
        return _stretches(begins)

    def _low(self, frame: Frame, distance: int | Decimal, ordering: Ordering | None) -> Positions:
        if frame.unit is Unit.ROWS:
            return np.clip(self.positions + _near(distance), self.starts, self.ends)
        if frame.unit is Unit.GROUPS:
            return self._of_group(distance, self.peer_starts, self.starts, self.ends)
        return self._by_value(frame.unit, distance, ordering, is_end=False) if distance else self.peer_starts

    def _high(self, frame: Frame, distance: int | Decimal, ordering: Ordering | None) -> Positions:
        if frame.unit is Unit.ROWS:
            return np.clip(self.positions + _near(distance) + 1, self.starts, self.ends)
        if frame.unit is Unit.GROUPS:
            return self._of_group(distance, self.peer_ends, self.starts, self.ends)
        return self._by_value(frame.unit, distance, ordering, is_end=True) if distance else self.peer_ends

    def _of_group(self, away: int | Decimal, edges: Positions, before: Positions, behind: Positions) -> Positions:
        """Return the edge of the group of peers at a distance in groups; `before` or `behind` outside the partition."""
        if not len(self):
            return edges
        wanted = self.peers + _near(away)
        first, last = self.peers[self.starts], self.peers[self.ends - 1]
        of_group = np.zeros(int(self.peers[-1]) + 1, np.int64)
        of_group[self.peers] = edges
        result = of_group[np.clip(wanted, first, last)]
        return np.where(wanted < first, before, np.where(wanted > last, behind, result))

    def _by_value(self, unit: Unit, distance: int | Decimal, ordering: Ordering | None, *, is_end: bool) -> Positions:
        """Return the first row at or beyond a distance in values, or the one after the last. NULLs use their peers'
        edge.
        """
        assert ordering is not None
        values, nulls = ordering.column
        result = (self.peer_ends if is_end else self.peer_starts).copy()
        there = np.arange(len(self)) if nulls is None else np.flatnonzero(~nulls)
        if not len(there):
            return result
        keys, targets = _targets(values[there], unit, distance, ordering, is_end)
        _, partitions = np.unique(self.starts[there], return_inverse=True)
        below = _count_below(partitions, keys, targets, inclusive=is_end)
        first = np.searchsorted(partitions, partitions)
        result[there] = there[first] + below - first
        return result


def are_apart(times: Column, gap: int) -> Mask:
    """Return whether each of n times is further than the gap from the next: bool[n − 1]. NULL is only near NULL."""
    values, nulls = times
    result: Mask = np.abs(np.diff(values)) > gap
    if nulls is not None:
        result = np.where(nulls[1:] | nulls[:-1], nulls[1:] != nulls[:-1], result)
    return result


def _stretches(begins: Mask) -> tuple[Positions, Positions]:
    """Return the start and end of each row's stretch, given the mask of the first rows."""
    first = np.flatnonzero(begins)
    lengths = np.diff(first, append=len(begins))
    starts = np.repeat(first, lengths)
    return starts, starts + np.repeat(lengths, lengths)


def _near(distance: int | Decimal) -> int:
    return max(-_FAR, min(int(distance), _FAR))


def _count_below(partitions: Positions, keys: Values, targets: Values, *, inclusive: bool) -> Positions:
    """Return, for each target, the number of keys in earlier partitions plus that of smaller keys in its own.

    Keys ascend within partitions. If `inclusive`, equal ones count too.
    """
    count = len(keys)
    is_target = np.arange(2 * count) >= count
    late = is_target == inclusive
    order = np.lexsort((late, np.concatenate([keys, targets]), np.concatenate([partitions, partitions])))
    below = np.cumsum(order < count)
    result = np.zeros(2 * count, np.int64)
    result[order] = below
    return result[count:]


def _targets(
    values: Values, unit: Unit, distance: int | Decimal, ordering: Ordering, is_end: bool
) -> tuple[Values, Values]:
    """Integers in the order of the rows: those of values, and those of what lies at a distance from each."""
    type_, descending = ordering.type, ordering.descending
    away = -distance if descending else distance
    natural = numbers.natural(values, type_, ordering.interner)
    if unit is Unit.MONTHS:
        keys, targets = values, _months_later(values, type_, int(away))
    elif type_.is_float:
        wide = natural.astype(np.float64)
        keys, targets = order_floats(wide), order_floats(wide + float(away))
    else:
        scaled = EXACT.scaleb(Decimal(away), type_.scale if type_.kind is Kind.DECIMAL else 0)
        whole = int(scaled.to_integral_value(ROUND_FLOOR if is_end != descending else ROUND_CEILING))
        keys, targets = _ranked(natural, natural + whole) if natural.dtype == object else _added(values, whole)
    return (~keys, ~targets) if descending else (keys, targets)


def _added(values: Values, whole: int) -> tuple[Values, Values]:
    """Return integers in the order of the values and of the values plus `whole`, which may exceed 64 bits."""
    if -_WIDE <= whole < _WIDE:
        sums = values + np.int64(whole)
        if not ((sums < values) if whole > 0 else (sums > values)).any():
            return values, sums
    wide = values.astype(object)
    return _ranked(wide, wide + whole)


def _ranked(values: Array, targets: Array) -> tuple[Values, Values]:
    """Return the ranks of integers of any size among all of them."""
    _, ranks = np.unique(np.concatenate([values, targets]), return_inverse=True)
    return ranks[: len(values)], ranks[len(values) :]


def _months_later(values: Values, type_: Type, months: int) -> Values:
    """Return the same day and time some months later, on the last day of a month without such a day."""
    per_day = 1 if type_ is Type.DATE else 86_400_000_000
    days, time = np.divmod(values, per_day)
    dates = days.astype("datetime64[D]")
    month = dates.astype("datetime64[M]")
    later = month + months
    longest = (later + 1).astype("datetime64[D]") - later.astype("datetime64[D]")
    day = np.minimum(dates - month.astype("datetime64[D]"), longest - np.timedelta64(1, "D"))
    moved: Values = (later.astype("datetime64[D]") + day).astype(np.int64) * per_day + time
    return moved

"""Rows by partition and in order: what top-k and window functions store, and how they read it.

An arrangement has every row as (keys, order, all other columns), with its weight. A column outside the keys is stored
in the requested order: values as they compare, inverted where the order descends, interned values by their labels. A
nullable column has one bit before it that puts NULLs first or last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deltic.circuit.operators.order import Order
from deltic.engine.kernels import walk as kernel
from deltic.engine.kernels.types import Ints
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.columns import Domain, Nulls, Raw, Sorted, Values
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run, Weights, Words, add_runs, are_new, consolidate, near
from deltic.engine.storage.state import Role, State
from deltic.engine.storage.value_order import Labels
from deltic.values.types import Type

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Each = TypeVar("Each")


class _Column:
    """The encoding of one column of `source` in an order: its place, after the bit for NULL if it is nullable."""

    def __init__(self, source: State, index: int, order: Order, interner: Interner) -> None:
        self.source, self.index, self.order = source, index, order
        column = source.relation.schema.columns[index]
        self.type, self.nullable = column.type, column.nullable
        self.values = interner[self.type].order if is_labelled(self.type) else None

    def domains(self) -> list[Domain]:
        """Return new domains for its bit and its values."""
        bit = [Domain(Type.BOOLEAN, empty=False)] * self.nullable
        if self.values is not None:
            return [*bit, self.values.reversed if self.order.descending else self.values.domain]
        return [*bit, Sorted(self.type)]

    def make_room(self, own: Domain) -> None:
        """Extend its domain here to the values of its domain in the source."""
        low, high = self.source.domains[self.index].range()
        if isinstance(own, Sorted) and low <= high:
            own.include(*((~high, ~low) if self.order.descending else (low, high)))
        elif own.empty:
            own.include(0, 0)

    def encode(self, raw: Raw, own: Domain) -> list[Raw]:
        """Convert offsets in the source to those of its bit and its values."""
        domain = self.source.domains[self.index]
        nulls, values = domain.nulls(raw), domain.decode(raw)
        ordered = self._ordered(values, nulls, own)
        if not self.nullable:
            return [own.encode(ordered)]
        assert nulls is not None
        return [(nulls != self.order.nulls_first).astype(np.uint64), own.encode(ordered)]

    def _ordered(self, values: Values, nulls: Nulls, own: Domain) -> Values:
        if isinstance(own, Sorted):
            turned = ~values if self.order.descending else values
            return turned if nulls is None else np.where(nulls, own.anchor, turned)
        assert self.values is not None
        assert isinstance(own, Labels)
        there = slice(None) if nulls is None else ~nulls
        labels = np.zeros(len(values), np.int64)
        labels[there] = self.values.of(values[there])
        return own.turned(labels)

    def decode(self, raws: Sequence[Raw], own: Domain) -> tuple[Values, Nulls]:
        """Return the stored values and the NULL mask: the inverse of `encode`."""
        nulls = (raws[0] == 1) != self.order.nulls_first if self.nullable else None
        values = own.decode(raws[-1])
        if isinstance(own, Sorted):
            return ~values if self.order.descending else values, nulls
        assert self.values is not None
        assert isinstance(own, Labels)
        return self.values.ids(own.turned(values)), nulls


@dataclass(frozen=True)
class Walked:
    """Rows that walks have visited: their weights, the row from which each walk started, and how each walk ended."""

    words: Words
    weights: Weights
    origins: Positions
    ends: Positions


@dataclass(frozen=True)
class OrderedChange:
    """The rows of a change in order: their weights before and after, negative ones as zero, and their partitions.

    `starts` has the least possible row of each partition, `first` the position of its first changed row.
    """

    words: Words
    before: Weights
    after: Weights
    parts: Positions
    starts: Words
    first: Positions

    @property
    def gained(self) -> Weights:
        """The increase of each row's weight."""
        return self.after - self.before

    def sum(self, values: Weights) -> Weights:
        """Return the sum over the rows of each partition."""
        result: Weights = np.add.reduceat(values, self.first)
        return result


class Ordered:
    """The rows of `source` by partition and in order, stored for the relation `target`, and the number of entries
    visited.
    """

    def __init__(
        self, source: State, target: State, keys: Sequence[str], order: Sequence[Order], interner: Interner
    ) -> None:
        names = source.relation.schema.names
        self.source, self.visited = source, 0
        self.keys = [names.index(key) for key in keys]
        ordering = _first_of_each(o for o in order if o.column not in keys)
        others = (Order(name) for name in names if name not in keys)
        self._told = len(ordering)
        self.columns = [
            _Column(source, names.index(o.column), o, interner) for o in _first_of_each((*ordering, *others))
        ]
        domains = [source.domains[i] for i in self.keys]
        domains += [domain for column in self.columns for domain in column.domains()]
        role: tuple[int, ...] = (*self.keys, *(c.index for c in self.columns))
        self._target, self._role, self._domains = target, role, tuple(domains)
        self._beside: list[Arrangement] = []
        self._keyed: tuple[Layout | None, Raw] = (None, np.empty(0, np.uint64))
        """A layout of the rows, and the mask of the keys in it."""
        self.rows = self.beside("ordered")

    def beside(self, role: Role) -> Arrangement:
        """Return another arrangement of such rows."""
        first = next(iter(self._beside), None)
        made = self._target.keep(role, self._role, first.domains if first else self._domains)
        self._beside.append(made)
        return made

    def sizes(self) -> Arrangement:
        """Return an arrangement of partitions."""
        return self._target.keep("sizes", tuple(self.keys), tuple(self.source.domains[i] for i in self.keys))

    @property
    def mask(self) -> Raw:
        """The mask of the keys in each word of a row."""
        if self._keyed[0] is not self.rows.layout:
            self._keyed = self.rows.layout, self.rows.layout.mask(len(self.keys))
        return self._keyed[1]

    @property
    def peer_mask(self) -> Raw:
        """The mask of the columns in which peers agree: the keys and the ordering columns."""
        told = sum(1 + column.nullable for column in self.columns[: self._told])
        return self.rows.layout.mask(len(self.keys) + told)

    def add(self, delta: Run) -> OrderedChange:
        """Add a nonempty change of the source to the stored rows."""
        self._make_room()
        words = self._encode(self.source.layout.unpack(delta.words), len(delta))
        words, moved = consolidate(words, delta.all_weights())
        before = self.rows.weights_of(words)
        self.rows.runs = add_runs(self.rows.runs, Run(words, weights=moved))
        self.visited += len(delta)
        starts = words & self.mask[:, None]
        new = are_new(starts)
        first = np.flatnonzero(new)
        after = np.maximum(before + moved, 0)
        return OrderedChange(words, np.maximum(before, 0), after, np.cumsum(new) - 1, starts[:, first], first)

    def _make_room(self) -> None:
        """Extend the columns to the values of the source's columns, and repack stored rows if domains grow."""
        for column, (*_, own) in self._of_columns(self.rows.domains):
            column.make_room(own)
        for arrangement in self._beside:
            if arrangement.is_stale():
                arrangement.relayout()

    def _of_columns(self, each: Sequence[Each]) -> list[tuple[_Column, Sequence[Each]]]:
        """Return the columns, each with its part of a sequence that has one element for each place."""
        result, at = [], len(self.keys)
        for column in self.columns:
            result.append((column, each[at : at + 1 + column.nullable]))
            at += 1 + column.nullable
        return result

    def _encode(self, columns: Sequence[Raw], count: int) -> Words:
        raw = [columns[i] for i in self.keys]
        for column, (*_, own) in self._of_columns(self.rows.domains):
            raw += column.encode(columns[column.index], own)
        return self.rows.layout.pack(raw, count)

    def decode(self, words: Words, wanted: Sequence[int] | None = None) -> list[Raw]:
        """Return all columns of rows, or the wanted ones, as offsets in the domains of the source and the target."""
        raw, result = self.rows.layout.unpack(words), dict[int, Raw]()
        result |= zip(self.keys, raw, strict=False)
        for (column, (*_, own)), (_, raws) in zip(
            self._of_columns(self.rows.domains), self._of_columns(raw), strict=True
        ):
            if wanted is None or column.index in wanted:
                values, nulls = column.decode(raws, own)
                result[column.index] = self.source.domains[column.index].encode(values, nulls)
        return [result[i] for i in (range(len(self.source.domains)) if wanted is None else wanted)]

    def walk(
        self,
        words: Words,
        wanted: Weights,
        *,
        forward: bool,
        meet: bool = False,
        gap: int | None = None,
        among: Arrangement | None = None,
    ) -> Walked:
        """Return as many rows as wanted from each of the sorted ones on, which is included; see `kernels.walk`."""
        runs = near((self.rows if among is None else among).runs, words[0] & self.mask[0], words[0] | ~self.mask[0])
        rows, weights, origins, ends, visited = kernel.walk(
            np.ascontiguousarray(words),
            wanted,
            int(forward),
            int(meet),
            self.mask,
            self._session(gap),
            descriptors(runs),
        )
        self.visited += int(visited)
        return Walked(rows, weights, origins, ends)

    def _session(self, gap: int | None) -> Ints:
        """Return the `gap` of `kernels.walk`: the only ordering column is a time, the same in a partition if a key."""
        if gap is None or not self._told:
            return np.empty(0, np.int64)
        nullable = self.columns[0].nullable
        bit, time = (self.rows.layout.places[len(self.keys) + i] for i in (0, nullable))
        return np.array([*time.found, gap, bit.word if nullable else -1, bit.shift], np.int64)

    def last(self, starts: Words) -> Words:
        """Return the greatest possible row of each partition."""
        return starts | ~self.mask[:, None]


def _first_of_each(orders: Iterable[Order]) -> list[Order]:
    """Return the orders without repeated columns."""
    result: dict[str, Order] = {}
    for order in orders:
        result.setdefault(order.column, order)
    return list(result.values())

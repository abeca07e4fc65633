"""The relations of an engine as of one epoch: their runs in each store, which later epochs do not change."""

from __future__ import annotations

import itertools
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.interrupts import postponed
from deltic.engine.storage.arrangement import SortedRows, present
from deltic.engine.storage.codec import nullary
from deltic.engine.storage.frozen import Frozen, Keys, NegativeWeight
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.lookup import count_each, find_entries, find_rows, first_of_each
from deltic.engine.storage.run import Words
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.engine.version import Between, Entries, Row, Version, rows_shown
from deltic.program.program import Program


@dataclass(frozen=True)
class StoreVersion:
    """Some relations of a store, by name. Others may add values to the interner in the meantime."""

    relations: ChainMap[str, Frozen]
    """Those that changed in the last epochs, before all."""
    interner: Interner

    @classmethod
    def of(cls, store: Store, names: Iterable[str]) -> StoreVersion:
        """Return the present relations of a store."""
        return cls(ChainMap({}, {name: store.states[name].frozen() for name in names}), store.interner)

    def following(self, store: Store) -> StoreVersion:
        """Return the same relations at a later time. Only relations that changed or were rewritten cost time."""
        others = (*(store.rewritten or {}).values(), *store.changed(), *self._moved(store))
        recent, whole = self.relations.maps
        frozen = {name: state.frozen() for state in others if (name := state.relation.name) in whole}
        recent = {**recent, **frozen}
        if len(recent) > _RECENT:
            recent, whole = {}, {**whole, **recent}
        return StoreVersion(ChainMap(recent, whole), store.interner)

    def _moved(self, store: Store) -> list[State]:
        """Return the relations in which rows moved to other iterations, even if the set of rows is the same."""
        recursive = [state for state in store.reached() if state.kind in _WITH_ITERATIONS]
        known = ((state, self.relations.get(state.relation.name)) for state in recursive)
        return [state for state, old in known if old is not None and old.orders[0].runs is not state.contents.runs]


_RECENT = 64
"""The most relations that are kept apart from those that have not changed."""
_WITH_ITERATIONS = (RelationKind.RECURSIVE, RelationKind.HISTORY)

# A query of one relation in one store, of rows with weights or as often as they weigh.
_Ask = Callable[[Frozen, Interner, bool], pa.Table]


class StateVersion(Version):
    """Some relations of a program as of one epoch, in one store or in those of all shards. Each row is in only one
    store.
    """

    def __init__(self, epoch: int, program: Program, stores: Sequence[StoreVersion]) -> None:
        self.epoch, self._program, self._stores = epoch, program, stores

    @classmethod
    def of(
        cls, epoch: int, program: Program, stores: Iterable[Store], relations: Iterable[str] | None = None
    ) -> StateVersion:
        """Return the present version of some relations of stores; by default, of all tables and views."""
        shown = {
            *program.sinks.values(),
            *program.tables.values(),
            *itertools.chain.from_iterable(kept.values() for kept in program.histories.values()),
        }
        names = shown if relations is None else [*relations]
        return cls(epoch, program, [StoreVersion.of(store, names) for store in stores])

    def following(self, program: Program, stores: Sequence[Store]) -> StateVersion:
        """Return the version of the stores' next epoch, in time proportional to its changes.

        If the stores' program has changed, all relations are read again.
        """
        epoch = self.epoch + 1
        if any(store.rewritten is None for store in stores):
            return StateVersion.of(epoch, program, stores)
        before = zip(self._stores, stores, strict=True)
        return StateVersion(epoch, program, [version.following(store) for version, store in before])

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        def ask(relation: Frozen, interner: Interner, counted: bool) -> pa.Table:
            return together(relation.shown(*rows, interner, counted, columns) for rows in relation.parts())

        return self._of_all(ask, name, counted, table)

    def part(self, name: str, number: int, parts: int, *, counted: bool = False) -> pa.Table:
        """Return part `number` of `parts` disjoint parts of the rows of a table or view, in the form of `read`."""

        def ask(relation: Frozen, interner: Interner, counted: bool) -> pa.Table:
            words, weights = relation.rows()
            chosen = slice(len(weights) * number // parts, len(weights) * (number + 1) // parts)
            return relation.shown(words[:, chosen], weights[chosen], interner, counted)

        return self._of_all(ask, name, counted)

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        ranges = {column: value for column, value in key.items() if isinstance(value, Between)}
        equal = {column: value for column, value in key.items() if column not in ranges}

        def ask(relation: Frozen, interner: Interner, counted: bool) -> pa.Table:
            values, known = relation.key(equal, interner), relation.ranges(ranges, interner)
            result = relation.layout.no_rows() if values is None else find_rows(relation, values, known)
            shown, types = relation.shown(*result, interner, counted), relation.schema.types
            for column in (c for c in ranges if relation.schema.index(c) not in known):
                shown = shown.filter(ranges[column].mask(shown.column(column), types[column]))
            return shown

        return self._of_all(ask, name, counted)

    def find(self, name: str, keys: Keys, *, table: bool = False) -> dict[Row, int]:
        called, result = self._called(name, table), dict[Row, int]()
        with postponed:
            for store in self._stores:
                relation = store.relations[called]
                order, run = find_entries(relation, relation.keys(keys, store.interner)[0])
                if run is not None:
                    words, weights = relation.there(*present([run]))
                    result |= zip(relation.listed(order, words, store.interner), weights.tolist(), strict=True)
        return result

    def history(self, name: str, keys: Keys, members: Collection[str]) -> Entries | None:
        called = {member: self._program.sinks.get(member, member) for member in members}
        kept = self._program.histories.get(frozenset(called.values()), {}).get(called[name])
        if kept is None:
            return None
        parts = []
        with postponed:
            for store in self._stores:
                relation = store.relations[kept]
                order, run = find_entries(relation, relation.keys(keys, store.interner)[0])
                if run is None or not len(run):
                    continue
                if not run.times.size:
                    return None
                decode = partial(_decoded, relation, order, store.interner)
                entries = run.words, run.times, run.all_weights()
                parts.append((decode, *(first_of_each(*entries) if relation.is_set else entries)))
        return Entries(parts)

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        def ask(relation: Frozen, interner: Interner, counted: bool) -> pa.Table:
            values, _ = relation.keys(_columns(keys), interner)
            return relation.shown(*find_rows(relation, values, {}), interner, counted)

        return self._of_all(ask, name, counted=False, table=True)

    def count_each(self, name: str, keys: pa.Table, *, table: bool = False) -> npt.NDArray[np.int64]:
        with postponed:
            counts = np.zeros(len(keys), np.int64)
            for store in self._stores:
                relation = store.relations[self._called(name, table)]
                if relation.orders[0].runs:
                    values, known = relation.keys(_columns(keys), store.interner)
                    counts[slice(None) if known is None else known] += count_each(relation, values)
            return counts

    def entries(self, name: str) -> int:
        called = self._called(name, table=True)
        return sum(len(run) for store in self._stores for run in store.relations[called].orders[0].runs)

    def count(self, name: str, *, table: bool = False) -> int:
        with postponed:
            relations = [store.relations[self._called(name, table)] for store in self._stores]
            if relations[0].is_set:
                return sum(relation.count() for relation in relations)
            weights = [weights for relation in relations for _, weights in relation.parts()]
            return rows_shown(np.concatenate(weights))

    def _of_all(self, ask: _Ask, name: str, counted: bool, table: bool = False) -> pa.Table:
        with postponed:
            called = self._called(name, table)
            try:
                return together(ask(store.relations[called], store.interner, counted) for store in self._stores)
            except NegativeWeight:
                return together(ask(store.relations[called], store.interner, True) for store in self._stores)

    def _called(self, name: str, table: bool = False) -> str:
        """Return the relation of a view, or of a table."""
        sinks, tables = self._program.sinks, self._program.tables
        return tables[name] if table or name not in sinks else sinks[name]


def _columns(keys: pa.Table) -> Keys:
    return dict(zip(keys.column_names, keys.columns, strict=True))


def _decoded(relation: Frozen, order: SortedRows, interner: Interner, words: Words) -> list[Row]:
    with postponed:
        return relation.listed(order, words, interner)


def together(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of tables with the same columns."""
    result = list(tables)
    if len(result) == 1:
        return result[0]
    return pa.concat_tables(result) if result[0].num_columns else nullary(sum(table.num_rows for table in result))

"""The relations of the local engine as of one epoch: their runs, which other epochs leave as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.between import Between
from deltic.engine.interrupts import postponed
from deltic.engine.local.storage.frozen import Frozen
from deltic.engine.local.storage.interner import Interner
from deltic.engine.local.storage.lookup import count_each, find_all, find_rows
from deltic.engine.local.storage.state import State
from deltic.engine.local.storage.store import Store
from deltic.engine.version import Version
from deltic.program.program import Program


class LocalVersion(Version):
    """Some relations of a program as of one epoch; values are looked up in an interner to which others may add."""

    def __init__(self, epoch: int, program: Program, relations: Mapping[str, Frozen], interner: Interner) -> None:
        self.epoch, self._program, self._interner = epoch, program, interner
        self.relations = relations
        """The relations that views and tables are, by their names in the program."""

    @classmethod
    def of(cls, epoch: int, program: Program, store: Store, relations: Iterable[str] | None = None) -> LocalVersion:
        """Some relations of a store as they are: all tables and views where none are named."""
        names = {*program.sinks.values(), *program.tables.values()} if relations is None else relations
        return cls(epoch, program, {name: store.states[name].frozen() for name in names}, store.interner)

    def following(self, epoch: int, program: Program, store: Store, fewer: Iterable[State] = ()) -> LocalVersion:
        """The version of a later epoch of the store, at the cost of what is changed, repacked or has `fewer` rows.

        Where the store has another program since, all is taken again.
        """
        if store.repacked is None:
            return LocalVersion.of(epoch, program, store)
        others = (*store.repacked.values(), *store.changed(), *fewer)
        frozen = {s.relation.name: s.frozen() for s in others if s.relation.name in self.relations}
        return LocalVersion(epoch, program, {**self.relations, **frozen}, store.interner)

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        with postponed:
            relation = self._relation(name, table)
            shown = [relation.shown(*rows, self._interner, counted, columns) for rows in relation.parts()]
            return shown[0] if len(shown) == 1 else pa.concat_tables(shown)

    def part(self, name: str, number: int, parts: int, *, counted: bool = False) -> pa.Table:
        """One of several equal parts of the rows of a table or view, as `read` gives them; no row is in two of them."""
        with postponed:
            relation = self._relation(name)
            words, weights = relation.rows()
            chosen = slice(len(weights) * number // parts, len(weights) * (number + 1) // parts)
            return relation.shown(words[:, chosen], weights[chosen], self._interner, counted)

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        with postponed:
            relation, interner = self._relation(name), self._interner
            ranges = {column: value for column, value in key.items() if isinstance(value, Between)}
            values = relation.key({column: value for column, value in key.items() if column not in ranges}, interner)
            known = relation.ranges(ranges, interner)
            found = relation.no_rows() if values is None else find_rows(relation, values, known)
            shown = relation.shown(*found, interner, counted)
            types = relation.schema.types
            for column in (c for c in ranges if relation.schema.index(c) not in known):
                shown = shown.filter(ranges[column].mask(shown.column(column), types[column]))
            return shown

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        with postponed:
            relation = self._relation(name, table=True)
            found = find_all(relation, relation.keys(keys, self._interner)[0])
            return relation.shown(*found, self._interner, counted=False)

    def count_each(self, name: str, keys: pa.Table) -> npt.NDArray[np.int64]:
        with postponed:
            relation, counts = self._relation(name, table=True), np.zeros(len(keys), np.int64)
            if relation.orders[0].runs:
                values, known = relation.keys(keys, self._interner)
                counts[known] = count_each(relation, values)
            return counts

    def entries(self, name: str) -> int:
        return sum(map(len, self._relation(name, table=True).orders[0].runs))

    def count(self, name: str, *, table: bool = False) -> int:
        with postponed:
            return self._relation(name, table).count()

    def _relation(self, name: str, table: bool = False) -> Frozen:
        sinks, tables = self._program.sinks, self._program.tables
        return self.relations[tables[name] if table or name not in sinks else sinks[name]]

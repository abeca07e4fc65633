"""The change manager [DBSP §12.4]: what a transaction asks for, as the changes of tables that it amounts to.

Rows that are inserted and deleted add up, in any order. What is said by key, and what statements of SQL say, counts for
the tables as the transaction has made them so far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch, ConcatenatedBatch, TableBatch
from deltic.engine.conflicts import Conflicts
from deltic.engine.keyed import Keyed, KeyedChange, Mask, RowChange, amount
from deltic.engine.prepared import Prepared
from deltic.engine.version import Version
from deltic.engine.watermark import LateSplit
from deltic.sql.statements.effect import Effect

Batches = Mapping[str, Batch]
Operation = RowChange | KeyedChange | Effect
Settle = Callable[[CatalogTable, Sequence[RowChange | KeyedChange]], Batch | None]
"""What changes of a table amount to, one after the other, as shards find it; None where this process is to."""


class ChangeManager:
    """Turns operations, in their order, into one batch for each table.

    `version` has the tables before them. `prepare` computes an epoch of batches, to see what they lead to, and
    `evaluate` the changes of a table by a statement; `are_late` says for keys of a table whether nothing may change
    what has them. What tasks have written `settle` has shards look through, where they can.
    """

    def __init__(
        self,
        tables: Mapping[str, CatalogTable],
        version: Version,
        conflicts: Conflicts,
        prepare: Callable[[Batches], Prepared],
        evaluate: Callable[[Effect, Version], Sequence[pa.Table]],
        are_late: Callable[[CatalogTable, pa.Table], Mask],
        settle: Settle,
    ) -> None:
        self._tables, self._version, self._conflicts = tables, version, conflicts
        self._prepare, self._evaluate, self._are_late, self._settle = prepare, evaluate, are_late, settle
        self._counts = Counter[str]()
        self._parts: dict[str, list[Batch]] = {}
        self.affected: list[int] = []
        """How many rows each operation was about: those of a batch, or those that a statement changed."""

    def batches(self, operations: Sequence[Operation]) -> dict[str, Batch]:
        """What the operations amount to. Raises ChangeError and DataError for what they cannot do."""
        self._counts.update(operation.table for operation in operations)
        for is_effect, stretch in groupby(operations, lambda operation: isinstance(operation, Effect)):
            if is_effect:
                self._take_effects(stretch)
            else:
                self._change(stretch)
        return self._gathered()

    def _take_effects(self, effects: Iterable[Operation]) -> None:
        for effect in effects:
            assert isinstance(effect, Effect)
            result = self._evaluated(effect)
            counts = dict(zip(effect.signs, map(_weight, result), strict=True))
            self.affected.append(sum(count for view, count in counts.items() if view not in effect.replaced))
            for rows in result:
                self._add(effect.table, TableBatch(rows))

    def _change(self, changes: Iterable[Operation]) -> None:
        """Make changes of tables between which no statement looks at any."""
        by_table = defaultdict[str, list[RowChange | KeyedChange]](list)
        for change in changes:
            assert not isinstance(change, Effect)
            self.affected.append(len(change.rows) if isinstance(change, KeyedChange) else change.rows.count())
            by_table[change.table].append(change)
        for name, own in by_table.items():
            table = self._tables[name]
            if (result := self._elsewhere(table, own)) is not None:
                self._add(name, result)
            else:
                self._change_here(table, own)

    def _elsewhere(self, table: CatalogTable, changes: Sequence[RowChange | KeyedChange]) -> Batch | None:
        """What changes amount to that this process does not look through; None where it is to.

        Those are changes with rows that tasks have written, where no others are of the table.
        """
        if self._counts[table.name] > len(changes) or all(map(_is_here, changes)):
            return None
        first, is_timed = changes[0], table.lateness is not None
        if len(changes) == 1 and isinstance(first, RowChange) and not first.updates and not is_timed:
            return first.rows
        return self._settle(table, changes) if is_timed or any(map(_is_by_key, changes)) else None

    def _change_here(self, table: CatalogTable, changes: Sequence[RowChange | KeyedChange]) -> None:
        keyed = Keyed(table.name, table.key)
        look_up, are_late = partial(self._version.lookup_all, table.name), partial(self._are_late, table)
        for change in changes:
            if isinstance(change, RowChange) and not (_is_here(change) or _is_by_key(change)):
                self._add(table.name, change.rows)
                continue
            for part in change.parts(keyed) if isinstance(change, RowChange) else [change]:
                before = [] if isinstance(part, pa.Table) else [p.to_arrow() for p in self._parts.get(table.name, ())]
                rows = amount(keyed, part, before, look_up, self._conflicts, are_late)
                self._add(table.name, TableBatch(rows))

    def _add(self, table: str, rows: Batch) -> None:
        if rows.count() or isinstance(rows, LateSplit):
            self._parts.setdefault(table, []).append(rows)

    def _gathered(self) -> dict[str, Batch]:
        return {name: ConcatenatedBatch.of(parts) for name, parts in self._parts.items()}

    def _evaluated(self, effect: Effect) -> Sequence[pa.Table]:
        """The changes by a statement, which sees what was changed before it."""
        if not self._parts or not effect.reads:
            return self._evaluate(effect, self._version)
        with self._prepare(self._gathered()) as epoch:
            return self._evaluate(effect, epoch.version)


def _is_here(change: RowChange | KeyedChange) -> bool:
    """Whether the rows are in this process."""
    return isinstance(change, KeyedChange) or isinstance(change.rows, TableBatch)


def _weight(rows: pa.Table) -> int:
    """How many rows come or go."""
    return int(np.abs(np.asarray(rows.column(WEIGHT))).sum())


def _is_by_key(change: RowChange | KeyedChange) -> bool:
    return isinstance(change, KeyedChange) or change.is_by_key

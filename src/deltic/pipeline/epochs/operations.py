"""The change manager [DBSP §12.4]: turns the operations of a transaction into changes of tables.

Inserted and deleted rows are summed, in any order. Changes by key and statements of SQL apply to the tables as the
transaction has made them so far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa

from deltic.catalog import Catalog, CatalogTable
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch, ConcatenatedBatch, TableBatch
from deltic.engine.conflicts import Conflicts
from deltic.engine.keyed import Keyed, KeyedChange, Mask, RowChange, amount
from deltic.engine.prepared import Prepared
from deltic.engine.version import Version
from deltic.engine.watermark import LateSplit
from deltic.errors import ChangeError, DefinitionsMovedError, count_of
from deltic.pipeline.epochs.lateness import Batches
from deltic.pipeline.reading.reading import PublishedEpoch
from deltic.sql.statements.effect import Effect

Operation = RowChange | KeyedChange | Effect
Settle = Callable[[CatalogTable, Sequence[RowChange | KeyedChange]], Batch | None]
"""Returns the net effect of a table's changes, computed by shards; None if this process must compute it."""


class ChangeManager:
    """Turns operations, in order, into one batch for each table.

    `last` has the tables before them. `prepare` computes an epoch of batches, to see their effects, and `evaluate`
    the changes of a table by a statement. `are_late` says which keys of a table must not change any more. `settle` lets
    shards resolve rows that tasks have written, if they can.
    """

    def __init__(
        self,
        last: PublishedEpoch,
        conflicts: Conflicts,
        prepare: Callable[[Batches], Prepared],
        evaluate: Callable[[Effect, Version], Sequence[pa.Table]],
        are_late: Callable[[CatalogTable, pa.Table], Mask],
        settle: Settle,
    ) -> None:
        self._tables, self._version = last.definitions.catalog.tables, last.version
        self._conflicts, self._prepare, self._evaluate = conflicts, prepare, evaluate
        self._are_late, self._settle = are_late, settle
        self._operations: Sequence[Operation] = ()
        self._parts: dict[str, list[Batch]] = {}
        self.affected: list[int] = []
        """The number of rows that each operation affected: those of a batch, or those that a statement changed."""

    def batches(self, operations: Sequence[Operation]) -> dict[str, Batch]:
        """Return the batches of the operations. Raises ChangeError and DataError for invalid ones."""
        self._operations = operations
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
        """Apply changes of tables, with no statement between them."""
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
        """Resolve changes outside this process; None if this process must do it.

        That applies to changes with rows that tasks have written, if the table has no other changes.
        """
        if all(map(_is_here, changes)):
            return None
        if sum(operation.table == table.name for operation in self._operations) > len(changes):
            return None
        first, is_timed = changes[0], table.lateness is not None
        if len(changes) == 1 and isinstance(first, RowChange) and not first.updates and not is_timed:
            return first.rows
        return self._settle(table, changes) if is_timed or any(map(_is_by_key, changes)) else None

    def _change_here(self, table: CatalogTable, changes: Sequence[RowChange | KeyedChange]) -> None:
        keyed = Keyed(table.name, table.key)
        look_up, are_late = partial(self._version.lookup_all, table.name), partial(self._are_late, table)
        for change in changes:
            if isinstance(change, RowChange) and not change.is_by_key:
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
        """Return the changes by a statement, which sees the earlier changes."""
        if not self._parts or not effect.reads:
            return self._evaluate(effect, self._version)
        with self._prepare(self._gathered()) as epoch:
            return self._evaluate(effect, epoch.version)


def check_counts(counted: Iterable[int], affected: Iterable[int]) -> None:
    """Raise ChangeError if operations affect other numbers of rows than were counted."""
    for number, (then, now) in enumerate(zip(counted, affected, strict=False), 1):
        if now != then:
            raise ChangeError(
                f"change {number} of the transaction affected {count_of(then, 'row')} when its rows were counted, "
                f"and affects {now} after what others have committed since: nothing was changed. Begin again"
            )


def check_defined(operations: Iterable[Operation], then: Catalog, now: Catalog) -> None:
    """Raise DefinitionsMovedError if a table or view that operations change or read was redefined."""
    for operation in operations:
        if isinstance(operation, Effect):
            moved = operation.moved(now)
        else:
            is_same = now is then or now.tables.get(operation.table) == then.tables[operation.table]
            moved = "" if is_same else operation.table
        if moved:
            raise DefinitionsMovedError(
                f"{moved}: another thread has changed its definition while the transaction was open, which changes "
                "or reads it; nothing of it was applied. Begin the transaction again"
            )


def _is_here(change: RowChange | KeyedChange) -> bool:
    """Return whether the rows are in this process."""
    return isinstance(change, KeyedChange) or isinstance(change.rows, TableBatch)


def _weight(rows: pa.Table) -> int:
    """Return the number of inserted and deleted rows."""
    return int(np.abs(np.asarray(rows.column(WEIGHT))).sum())


def _is_by_key(change: RowChange | KeyedChange) -> bool:
    return isinstance(change, KeyedChange) or change.is_by_key

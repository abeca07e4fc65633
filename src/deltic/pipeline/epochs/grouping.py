"""Groups transactions of several writers into one epoch, so that each has the result that it would have alone.

Insertions and deletions are summed in an epoch, so two changes that are only valid together would both pass. So
transactions that share an epoch either only insert rows, or name different rows (of a table with a key, different
keys), or are statements, each of which is checked on the tables as the earlier ones left them. Late rows follow the
rule of an epoch: no transaction of a group makes another one of it late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.engine.batches import TableBatch
from deltic.engine.keyed import MOST, KeyedChange, RowChange, row_numbers
from deltic.pipeline.epochs.operations import Operation
from deltic.pipeline.epochs.transaction import Transaction


@dataclass(frozen=True)
class _Footprint:
    """The effect of a transaction on a table: `rows` identify those that it names; None if unknown."""

    inserts: bool
    """Whether it only inserts rows."""
    asks: bool
    """Whether it only has statements about the rows of tables."""
    rows: pa.Table | None


@dataclass
class _Group:
    """Consecutive transactions, from number `first` on, and their effects on each table."""

    first: int
    members: list[Transaction] = field(default_factory=list)
    rows: int = 0
    footprints: dict[str, list[_Footprint]] = field(default_factory=dict)

    def add(self, transaction: Transaction, footprints: Mapping[str, _Footprint], rows: int) -> None:
        self.members.append(transaction)
        self.rows += rows
        for table, footprint in footprints.items():
            self.footprints.setdefault(table, []).append(footprint)

    def takes(self, transaction: Transaction, footprints: Mapping[str, _Footprint], clashes: Mapping[str, int]) -> bool:
        """Return whether one more fits this group; `clashes` are the last earlier transactions with one of its rows."""
        lead = self.members[0]
        if lead.was_looked_at or transaction.was_looked_at or not _agree(lead, transaction):
            return False
        return all(
            _fits(self.footprints[table], footprint, clashes.get(table, -1) < self.first)
            for table, footprint in footprints.items()
            if table in self.footprints
        )


def groups(
    transactions: Sequence[Transaction], tables: Mapping[str, CatalogTable], most_rows: int
) -> Iterator[list[Transaction]]:
    """Yield open transactions, in order, as groups for `Transaction.commit_with` of about `most_rows` rows at most."""
    footprints = [_footprints(transaction, tables) for transaction in transactions]
    clashes = _clashes(footprints)
    group = _Group(0)
    for number, transaction in enumerate(transactions):
        rows = sum(map(_size, transaction.operations))
        if group.members and not (
            group.rows + rows <= most_rows and group.takes(transaction, footprints[number], clashes[number])
        ):
            yield group.members
            group = _Group(number)
        group.add(transaction, footprints[number], rows)
    if group.members:
        yield group.members


def _agree(one: Transaction, other: Transaction) -> bool:
    """Return whether two transactions have the same terms, and no source position in common."""
    a, b = one.terms, other.terms
    return (a.conflicts, a.late, a.token) == (b.conflicts, b.late, b.token) and not a.positions.keys() & b.positions


def _fits(earlier: Sequence[_Footprint], footprint: _Footprint, names_others: bool) -> bool:
    """Return whether a transaction may change a table after others of the same epoch."""
    if footprint.asks or (footprint.inserts and all(each.inserts for each in earlier)):
        return True
    return names_others and footprint.rows is not None and all(each.rows is not None for each in earlier)


def _footprints(transaction: Transaction, tables: Mapping[str, CatalogTable]) -> dict[str, _Footprint]:
    """Return the effects of a transaction on each table."""
    by_table: dict[str, list[Operation]] = {}
    for operation in transaction.operations:
        by_table.setdefault(operation.table, []).append(operation)
    return {name: _footprint(tables.get(name), operations) for name, operations in by_table.items()}


def _footprint(table: CatalogTable | None, operations: Sequence[Operation]) -> _Footprint:
    identities = None if table is None else [_identities(table, operation) for operation in operations]
    known = None if identities is None else [rows for rows in identities if rows is not None]
    return _Footprint(
        all(map(_inserts, operations)),
        all(not isinstance(each, RowChange | KeyedChange) and each.reads for each in operations),
        pa.concat_tables(known) if known and len(known) == len(operations) else None,
    )


def _identities(table: CatalogTable, operation: Operation) -> pa.Table | None:
    """Return the identities of the rows that an operation names: their keys, or the rows."""
    columns = list(table.key or table.schema.names)
    if isinstance(operation, KeyedChange):
        return operation.rows.select(columns)
    if isinstance(operation, RowChange) and isinstance(operation.rows, TableBatch) and columns:
        return operation.rows.to_arrow().select(columns)
    return None


def _inserts(operation: Operation) -> bool:
    """Return whether an operation only inserts rows, whatever the table has."""
    if isinstance(operation, KeyedChange):
        return False
    if isinstance(operation, RowChange):
        if not isinstance(operation.rows, TableBatch) or operation.updates:
            return False
        weights = operation.rows.weights()
        return bool(((weights > 0) & (weights <= MOST)).all())
    return not operation.reads and all(sign > 0 for sign in operation.signs.values())


def _size(operation: Operation) -> int:
    """Return the number of rows that an operation names; one for a statement."""
    if isinstance(operation, KeyedChange):
        return len(operation.rows)
    return operation.rows.count() if isinstance(operation, RowChange) else 1


def _clashes(footprints: Sequence[Mapping[str, _Footprint]]) -> list[dict[str, int]]:
    """Return, for each transaction and table, the last earlier one that names one of its rows there, if any."""
    result: list[dict[str, int]] = [{} for _ in footprints]
    for table in {name: None for each in footprints for name in each}:
        owners = [number for number, each in enumerate(footprints) if table in each]
        if all(footprints[number][table].inserts for number in owners):
            continue
        named = [(number, rows) for number in owners if (rows := footprints[number][table].rows) is not None]
        if len(named) > 1:
            for number, earlier in _last_before(named):
                result[number][table] = earlier
    return result


def _last_before(named: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a transaction's number and the greatest smaller one with a row in common."""
    together = pa.concat_tables([rows for _, rows in named])
    numbers = row_numbers(together, together.column_names)
    owners = np.repeat([number for number, _ in named], [len(rows) for _, rows in named])
    last: dict[int, int] = {}
    found: dict[int, int] = {}
    for row, owner in zip(numbers.tolist(), owners.tolist(), strict=True):
        earlier = last.get(row, -1)
        if earlier not in (-1, owner):
            found[owner] = max(found.get(owner, -1), earlier)
        last[row] = owner
    return iter(found.items())

"""Constants: relations with fixed rows, which are added in the first epoch."""

from __future__ import annotations

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import TableBatch
from deltic.engine.storage.arrow import encode_batch
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import placed
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.definitions import FixedRows
from deltic.program.program import Relation
from deltic.values import to_arrow


def is_constant(relation: Relation) -> bool:
    """Return whether the relation is a constant with rows."""
    return isinstance(relation.definition, FixedRows) and bool(relation.definition.rows)


def rows_of_constant(relation: Relation) -> pa.Table:
    """Return the rows of a constant as a batch."""
    assert isinstance(relation.definition, FixedRows)
    rows = relation.definition.rows
    columns = [to_arrow([row[i] for row in rows], column.type) for i, column in enumerate(relation.schema)]
    return pa.table([*columns, pa.array([1] * len(rows), pa.int64())], [*relation.schema.names, WEIGHT])


def constant_change(state: State, interner: Interner) -> Run | None:
    """Return the rows of a constant as its change. DomainOverflow if a value has no place yet."""
    columns, weights = encode_batch("", TableBatch(rows_of_constant(state.relation)), state, interner)
    batch = CountChanges()
    batch.add(state.layout.pack((), len(weights), placed(state.domains, columns)), weights)
    return batch.run()

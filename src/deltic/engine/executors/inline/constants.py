"""Constants: relations with fixed rows, which are added in the first epoch."""

from __future__ import annotations

from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import encode
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import placed
from deltic.engine.storage.run import NO_WEIGHTS, Run
from deltic.engine.storage.state import State
from deltic.program.definitions import FixedRows
from deltic.values import to_arrow


def is_constant(state: State) -> bool:
    """Return whether the relation is a constant with rows."""
    return isinstance(state.relation.definition, FixedRows) and bool(state.relation.definition.rows)


def constant_change(state: State, interner: Interner) -> Run | None:
    """Return the rows of a constant as its change. DomainOverflow if a value has no place yet."""
    definition, schema = state.relation.definition, state.relation.schema
    assert isinstance(definition, FixedRows)
    rows = definition.rows
    columns = [
        encode(to_arrow([row[i] for row in rows], column.type), column.type, interner)
        for i, column in enumerate(schema)
    ]
    batch = CountChanges()
    raw = placed(state.domains, columns)
    batch.add(state.layout.pack(raw, len(rows)), NO_WEIGHTS)
    return batch.run()

"""Queries evaluated once, over tables and views as they are: by an engine that lives as long as the answer takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import Catalog, Definition, Part, Table
from deltic.catalog.clock import CLOCK
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Source
from deltic.engine.batches import TableBatch
from deltic.engine.protocol import WEIGHT, Engine
from deltic.errors import ChangeError, DataError, Diagnostic
from deltic.pipeline.io.parsed import arrow_schema
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.program import FRONT


def circuit_of(definitions: Sequence[Definition]) -> Circuit:
    """The circuit of definitions by themselves: what they read of others are its tables."""
    own = {name for definition in definitions for name in definition.names}
    sources = {name: type_ for d in definitions for name, type_ in d.sources.items() if name not in own}
    tables = [Table(name, type_.schema, is_bag=not type_.is_set) for name, type_ in sources.items()]
    return Catalog((Part(FRONT, tables, definitions),)).circuit


def evaluated(
    definitions: Sequence[Definition], engine_of: Callable[[Circuit], Engine], read: Callable[[str], pa.Table]
) -> Engine:
    """An engine with the views of definitions; `read` gives the rows of a relation, each once, with its weight.

    The engine that `engine_of` makes knows the time already.
    """
    circuit = circuit_of(definitions)
    engine = engine_of(circuit)
    sources = [operator.name for operator in circuit.operators if isinstance(operator, Source)]
    engine.apply({name: TableBatch(read(name)) for name in sources if name != CLOCK.name}, "trust")
    return engine


def batches_of(effect: Effect, table: Table, read: Callable[[str], pa.Table]) -> list[pa.Table]:
    """The changes of a table by a statement, where `read` gives the rows of its views, each once, with its weight.

    Raises ChangeError where a row would be changed more than once, DataError for NULL where none is allowed.
    """
    if effect.ambiguous and len(read(effect.ambiguous)):
        raise ChangeError(
            f"table {table.name}: several rows of the source are for one row of the table; nothing was changed. "
            "Let the condition after ON, or that of WHEN MATCHED, choose one of them"
        )
    return [_change(read(view), sign, table) for view, sign in effect.signs.items()]


def _change(rows: pa.Table, sign: int, table: Table) -> pa.Table:
    for column in table.schema:
        if not column.nullable and rows.column(column.name).null_count:
            raise DataError([Diagnostic(f"table {table.name}: column {column.name} is NOT NULL, and would be NULL")])
    weights = pc.multiply(rows.column(WEIGHT), sign)
    return pa.table([*(rows.column(name) for name in table.schema.names), weights], arrow_schema(table.schema, True))

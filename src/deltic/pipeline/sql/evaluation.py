"""Queries evaluated once, over the present tables and views, by an engine that is dropped with the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import CatalogTable, ViewDefinitions
from deltic.catalog.definitions import CLOCK
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Constant, Source
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import TableBatch, with_weights
from deltic.engine.protocol import Engine
from deltic.engine.rowwise import Computed, computed, is_by_rows
from deltic.engine.version import Version
from deltic.errors import ChangeError, DataError, Diagnostic
from deltic.pipeline.io.parsed import arrow_schema
from deltic.pipeline.rows.rows import Rows, without_weights
from deltic.pipeline.sql.answers import arranged
from deltic.pipeline.sql.needed import rows_needed
from deltic.pipeline.sql.planning import ANSWER, circuit_of
from deltic.pipeline.sql.prepared import PlannedQuery
from deltic.sql.statements.effect import Effect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FEW = 32
"""This many rows are computed one by one in less time than an engine by vectors takes to begin."""


def answered(
    query: PlannedQuery, version: Version, engine_of: Callable[[Circuit], Engine], spark: SparkSession | None
) -> Rows:
    """Return the rows of a question of SQL."""
    engine = _evaluated([query.definition], version, engine_of)
    rows = without_weights(engine.read(ANSWER), "the answer")
    return Rows(TableBatch(arranged(rows, query.order, query.names)), spark)


def changed_by(
    effect: Effect, table: CatalogTable, version: Version, engine_of: Callable[[Circuit], Engine]
) -> list[pa.Table]:
    """Return the rows of a table that go and come by a statement, with weights.

    Raises ChangeError where a row would be changed more than once, DataError for NULL where none is allowed.
    """
    known = {} if effect.keys is None else {table.name: _looked_up(effect, effect.keys, table, version, engine_of)}
    read = partial(_evaluated(effect.definitions, version, engine_of, known).read, counted=True)
    if effect.ambiguous and len(read(effect.ambiguous)):
        raise ChangeError(
            f"table {table.name}: several rows of the source are for one row of the table; nothing was changed. "
            "Let the condition after ON, or that of WHEN MATCHED, choose one of them"
        )
    return [_change(read(view), sign, table) for view, sign in effect.signs.items()]


def _looked_up(
    effect: Effect, keys: ViewDefinitions, table: CatalogTable, version: Version, engine_of: Callable[[Circuit], Engine]
) -> pa.Table:
    """Return the rows of a table that have a key which a statement names, with weights."""
    (view,) = keys.views
    result = _evaluated([keys], version, engine_of).read(view.name)
    types = [table.schema.types[column].arrow for column in effect.keyed]
    columns = [column.cast(type_, safe=False) for column, type_ in zip(result.columns, types, strict=True)]
    exact = [pc.equal(column, was) for column, was in zip(columns, result.columns, strict=True)]
    named = pa.table(columns, names=list(effect.keyed)).filter(reduce(pc.and_, exact))
    return with_weights(version.lookup_all(table.name, named), 1)


def _evaluated(
    definitions: Sequence[ViewDefinitions],
    version: Version,
    engine_of: Callable[[Circuit], Engine],
    known: Mapping[str, pa.Table] = MappingProxyType({}),
) -> Engine | Computed:
    """Return what has the views of definitions, over a version with the rows that are `known` of some tables.

    The engine that `engine_of` makes knows the time already. A few rows that are only mapped and filtered are computed
    one by one.
    """
    is_alone = len(definitions) == 1 and is_by_rows(definitions[0].circuit)
    circuit = definitions[0].circuit if is_alone else circuit_of(definitions)
    sources = [operator.name for operator in circuit.operators if isinstance(operator, Source)]
    read = {n: known[n] if n in known else rows_needed(circuit, n, version) for n in sources if n != CLOCK.name}
    is_linear = is_alone or is_by_rows(circuit)
    is_small = CLOCK.name not in sources and is_linear and _rows_read(circuit, read) <= _FEW
    tables = {name: TableBatch(rows) for name, rows in read.items()}
    if is_small:
        return computed(circuit, tables)
    engine = engine_of(circuit)
    engine.apply(tables, "trust")
    return engine


def _rows_read(circuit: Circuit, read: Mapping[str, pa.Table]) -> int:
    """Return how many rows a circuit begins with: those that it reads, and its constants."""
    constants = (len(op.rows) for op in circuit.operators if isinstance(op, Constant))
    return sum(constants) + sum(len(rows) for rows in read.values())


def _change(rows: pa.Table, sign: int, table: CatalogTable) -> pa.Table:
    for column in table.schema:
        if not column.nullable and rows.column(column.name).null_count:
            first, *_ = rows.filter(rows.column(column.name).is_null()).select(table.schema.names).to_pylist()
            message = (
                f"table {table.name}: column {column.name} is NOT NULL, and would be NULL in {tuple(first.values())}"
            )
            raise DataError([Diagnostic(message, hint="give it a value, or coalesce(…, …) one in its place")])
    weights = pc.multiply(rows.column(WEIGHT), sign)
    return pa.table([*(rows.column(name) for name in table.schema.names), weights], arrow_schema(table.schema, True))

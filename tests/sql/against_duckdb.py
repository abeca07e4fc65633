"""A view maintained by Deltic through random changes, compared with DuckDB's answer to its query in every epoch."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import sqlglot

from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit
from deltic.circuit.tables import WEIGHT
from deltic.engine.engine import IncrementalEngine
from deltic.sql.dialect import Deltic
from deltic.sql.queries import view_circuit
from deltic.sql.text import SourceText
from deltic.values.types import Column as CircuitColumn
from deltic.values.types import Schema as CircuitSchema
from deltic.values.types import Type
from tests.sql.random_queries import Column, Schema

TYPES = {
    "INT": Type.INT32,
    "BIGINT": Type.INT64,
    "STRING": Type.STRING,
    "DECIMAL(6, 2)": Type.decimal(6, 2),
    "DATE": Type.DATE,
    "BOOLEAN": Type.BOOLEAN,
    "DOUBLE": Type.FLOAT64,
    "TIMESTAMP": Type.TIMESTAMP,
    "STRUCT<v: INT, w: STRING>": Type.struct(
        [CircuitColumn("v", Type.INT32, True), CircuitColumn("w", Type.STRING, True)]
    ),
}
VALUES: Mapping[str, Sequence[Any]] = {
    "INT": (0, 1, 2, 3),
    "BIGINT": (0, 1, 2, 3),
    "STRING": ("", "a", "ab", "ä"),
    "DECIMAL(6, 2)": tuple(map(Decimal, ("0.50", "1.25", "2.00", "-1.00"))),
    "DATE": tuple(datetime.date(2024, 1, day) for day in (1, 2, 3)),
    "BOOLEAN": (True, False),
    "DOUBLE": (0.5, 1.25, 2.0, -1.0),
    "STRUCT<v: INT, w: STRING>": ((1, "a"), (2, None), (None, "b")),
    "TIMESTAMP": tuple(
        datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=n)
        for n in (-1201, -600, -1, 0, 1, 299, 300, 310, 600, 900, 901, 1800)
    ),
}
Bag = Counter[tuple[Any, ...]]


def relations(schema: Schema) -> dict[str, ZSetType]:
    """The tables as the catalog has them."""
    return {t.name: ZSetType(CircuitSchema(tuple(map(_column, t.columns))), False) for t in schema}


def _column(column: Column) -> CircuitColumn:
    return CircuitColumn(column.name, TYPES[column.type], column.nullable)


def circuit_of(query: str, schema: Schema) -> Circuit:
    """The circuit of the view `v` that a query defines."""
    return view_circuit(sqlglot.parse_one(query, read=Deltic), relations(schema), "v", SourceText(query)).circuit


def disagreement(query: str, schema: Schema, rng: random.Random, epochs: int = 3, translated: str = "") -> str:
    """What differs in the first epoch in which Deltic and DuckDB disagree; "" if they never do.

    `translated` is the query in DuckDB's dialect, where that is not what sqlglot makes of it.
    """
    circuit = circuit_of(query, schema)
    engine, state = IncrementalEngine(circuit), {table.name: Bag() for table in schema}
    shown = translated or sqlglot.transpile(query, read="spark", write="duckdb")[0]
    before = Bag()
    for epoch in range(epochs):
        changes = {table.name: random_change(rng, table.columns, state[table.name]) for table in schema}
        result = engine.apply(batches_of(circuit, schema, changes), "trust")
        for name, change in changes.items():
            state[name] = +Bag({row: state[name][row] + change[row] for row in state[name] | change})
        wanted, found = _answer(shown, schema, state), bag_of(engine.read("v", counted=True))
        changed = bag_of(result.changes["v"]) if "v" in result.changes else Bag()
        difference = Bag({row: wanted[row] - before[row] for row in {*wanted, *before}})
        if found != wanted or changed != Bag({row: w for row, w in difference.items() if w}):
            return f"epoch {epoch}: {query}\nexpected {wanted}\nactual   {found}\nchange   {changed}\ntables   {state}"
        before = wanted
    return ""


def random_change(rng: random.Random, columns: Sequence[Column], present: Bag) -> Bag:
    """Some rows that come, and some that go."""
    change = Bag(_row(rng, columns) for _ in range(rng.randint(0, 6) if present else 10))
    rows = sorted(present.elements(), key=repr)
    change.subtract(rng.sample(rows, min(len(rows), rng.randint(0, 4))))
    return Bag({row: weight for row, weight in change.items() if weight})


def _row(rng: random.Random, columns: Sequence[Column]) -> tuple[Any, ...]:
    return tuple(None if c.nullable and rng.random() < 0.25 else rng.choice(VALUES[c.type]) for c in columns)


def batches_of(circuit: Circuit, schema: Schema, changes: Mapping[str, Bag]) -> dict[str, pa.Table]:
    """The changes of those tables that the circuit reads, as an engine takes them."""
    read = {op.name for op in circuit.operators if op.keyword == "source"}  # type: ignore[attr-defined]
    return {t.name: arrow_table(t.columns, changes[t.name], WEIGHT) for t in schema if t.name in read}


def arrow_table(columns: Sequence[Column], rows: Bag, weight: str) -> pa.Table:
    """The rows, and how often each is there in a column of the name `weight`."""
    arrays = [pa.array([row[i] for row in rows], TYPES[c.type].arrow) for i, c in enumerate(columns)]
    return pa.table([*arrays, pa.array(rows.values(), pa.int64())], names=[*(c.name for c in columns), weight])


_connection = duckdb.connect(config={"threads": 1})


def _answer(query: str, schema: Schema, state: Mapping[str, Bag]) -> Bag:
    for table in schema:
        rows = arrow_table(table.columns, state[table.name], "n")
        _connection.register(table.name, rows.drop_columns("n").take(_each_as_often(rows.column("n"))))
    return Bag(tuple(map(_plain, row)) for row in _connection.execute(query).fetchall())


def _each_as_often(counts: pa.ChunkedArray) -> pa.Array:
    """The places of rows, each as often as its count says."""
    return pa.array(np.repeat(np.arange(len(counts)), counts.to_numpy()))


def bag_of(table: pa.Table) -> Bag:
    """The rows with the weights that their last column has."""
    rows: Bag = Bag()
    for row in table.to_pylist():
        *values, weight = row.values()
        rows[tuple(map(_plain, values))] += weight
    return rows


def _plain(value: Any) -> Any:
    """A value that can be counted: structs and arrays as tuples."""
    if isinstance(value, dict):
        return tuple(map(_plain, value.values()))
    return tuple(map(_plain, value)) if isinstance(value, list) else value

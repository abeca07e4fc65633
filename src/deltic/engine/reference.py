"""The oracle: the engine protocol over the reference interpreter, everything recomputed in every epoch.

What depends on the past, such as a window's time, is kept by the interpreter; an epoch is a step of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit import values
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.oracle.pointwise import Row, Rows
from deltic.circuit.types import Schema, Type
from deltic.circuit.values import in_order
from deltic.engine.batches import conforming
from deltic.engine.changes import Changes, ViewChange, count
from deltic.engine.conflicts import conflict_error
from deltic.engine.protocol import WEIGHT, Conflicts, EpochResult, Extension

if TYPE_CHECKING:
    import pyarrow as pa


class ReferenceEngine:
    """Keeps tables and views as Python Z-sets; an epoch's changes are the differences of two recomputations.

    An epoch with a recursion of more than `iteration_limit` iterations is rejected.
    """

    def __init__(self, circuit: Circuit, iteration_limit: int = ITERATION_LIMIT) -> None:
        self.circuit, self._limit = circuit, iteration_limit
        self._interpreter = Interpreter(circuit, limit=iteration_limit)
        self._schemas = {op.name: op.schema for op in circuit.operators if isinstance(op, ops.Source)}
        self._tables: dict[str, Rows] = {name: ZSet() for name in self._schemas}
        self._views: dict[str, Rows] = {name: ZSet() for name in circuit.sinks}

    def apply(self, changes: Mapping[str, pa.Table], conflicts: Conflicts = "error") -> EpochResult:
        started = time.perf_counter()
        tables = dict(self._tables)
        for name, batch in changes.items():
            delta = from_arrow(conforming(name, batch, self._schemas[name]))
            tables[name] = self._checked(name, tables[name], delta, conflicts)
        rows_in = sum(len(tables[name] - self._tables[name]) for name in changes)
        return self._step(tables, started, rows_in)

    def extend(self, circuit: Circuit) -> EpochResult:
        started = time.perf_counter()
        other = ReferenceEngine(circuit, self._limit)
        other._interpreter.adopt(self._interpreter)
        for name in other._schemas.keys() & self._schemas.keys():
            if other._schemas[name] == self._schemas[name]:
                other._tables[name] = self._tables[name]
        for name in other._views.keys() & self._views.keys():
            if other._schema(name) == self._schema(name):
                other._views[name] = self._views[name]
        gone = [name for name in (*self._tables, *self._views) if name not in (*other._tables, *other._views)]
        extension = Extension(built=tuple(other._views), kept=tuple(other._tables), dropped=tuple(gone))
        result = replace(other._step(other._tables, started, 0), extension=extension)
        self.__dict__ = other.__dict__
        return result

    def _step(self, tables: dict[str, Rows], started: float, rows_in: int) -> EpochResult:
        """Let the tables be these: the changes of the views."""
        views = self._interpreter.step(tables)
        deltas = {name: views[name] - self._views[name] for name in views}
        visited = sum(map(len, tables.values())) + sum(map(len, views.values()))
        self._tables, self._views = tables, views
        found = {name: self._change(name, delta) for name, delta in deltas.items() if delta}
        return EpochResult(Changes(found), rows_in, visited, time.perf_counter() - started)

    def _change(self, name: str, delta: Rows) -> ViewChange:
        table = to_arrow(delta, self._schema(name))
        return ViewChange(*count(table.column(WEIGHT).to_numpy()), lambda: table)

    def _checked(self, name: str, old: Rows, delta: Rows, conflicts: Conflicts) -> Rows:
        new = old + delta
        if conflicts == "normalize":
            return new.distinct()
        wrong = [(row, weight) for row, weight in delta if new.weight(row) not in (0, 1)]
        if wrong and conflicts == "error":
            weight = wrong[0][1]
            same = [row for row, w in wrong if (w > 0) == (weight > 0)]
            raise conflict_error(name, weight, same, len(same))
        return new

    def read(self, name: str, *, table: bool = False) -> pa.Table:
        rows = self._tables[name] if table else self._contents(name)
        return _repeated(rows, self._schemas[name] if table else self._schema(name))

    def lookup(self, name: str, key: Mapping[str, object]) -> pa.Table:
        schema = self._schema(name)
        wanted = {schema.index(name): values.of_python(value, schema.types[name]) for name, value in key.items()}
        rows = self._contents(name).filter(lambda row: all(in_order(row[i]) == in_order(v) for i, v in wanted.items()))
        return _repeated(rows, schema)

    def count(self, name: str) -> int:
        return sum(weight for _, weight in self._contents(name) if weight > 0)

    def explain(self, name: str) -> str:
        return f"{name} {self._schema(name)}, recomputed in every epoch by the reference interpreter:\n{self.circuit}"

    def _contents(self, name: str) -> Rows:
        return self._views[name] if name in self._views else self._tables[name]

    def _schema(self, name: str) -> Schema:
        if name in self._views:
            return self.circuit.type_of(self.circuit.sinks[name]).schema
        return self._schemas[name]


def _repeated(rows: Rows, schema: Schema) -> pa.Table:
    """The rows without weights, each as often as its weight says."""
    import pyarrow as pa

    table = to_arrow(rows, schema)
    times = table.column(WEIGHT).to_pylist()
    positions = [i for i, weight in enumerate(times) for _ in range(weight)]
    return table.take(pa.array(positions, pa.int64())).drop_columns([WEIGHT])


def from_arrow(batch: pa.Table) -> Rows:
    """The Z-set of a batch with a column WEIGHT."""
    fields = [field for field in batch.schema if field.name != WEIGHT]
    columns = [values.from_arrow(batch.column(f.name), Type.of_arrow(f.type)) for f in fields]
    weights = batch.column(WEIGHT).to_pylist()
    rows = zip(*columns, strict=True) if columns else [()] * len(weights)
    return ZSet(zip(rows, weights, strict=True))


def to_arrow(rows: Rows, schema: Schema) -> pa.Table:
    """The rows and their weights as an Arrow table."""
    import pyarrow as pa

    pairs: list[tuple[Row, int]] = list(rows)
    columns = [values.to_arrow((row[i] for row, _ in pairs), column.type) for i, column in enumerate(schema)]
    weights = pa.array([weight for _, weight in pairs], pa.int64())
    return pa.table([*columns, weights], schema=schema.to_arrow().append(pa.field(WEIGHT, pa.int64(), nullable=False)))

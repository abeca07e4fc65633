"""The oracle: the engine protocol over the reference interpreter, everything recomputed in every epoch.

What depends on the past, such as a window's time, is kept by the interpreter; an epoch is a step of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic import values
from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.oracle.pointwise import Row, Rows
from deltic.circuit.tables import WEIGHT, from_arrow, to_arrow
from deltic.engine.batches import Changed, arrow_of
from deltic.engine.between import Between
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import Conflict, ConflictError, Conflicts
from deltic.engine.prepared import Prepared, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.result import EpochResult, Extension
from deltic.engine.version import Version
from deltic.values import in_order
from deltic.values.types import Schema


class ReferenceEngine(Engine):
    """Keeps tables and views as Python Z-sets; an epoch's changes are the differences of two recomputations.

    Of a table it keeps the sums of weights; the rows of a set are their `distinct`. An epoch with a recursion of more
    than `iteration_limit` iterations is rejected.
    """

    def __init__(self, circuit: Circuit, iteration_limit: int = ITERATION_LIMIT) -> None:
        self.circuit, self._limit = circuit, iteration_limit
        self.epoch, self.token = 0, ""
        self._interpreter = Interpreter(circuit, limit=iteration_limit)
        self._sources = {op.name: op for op in circuit.operators if isinstance(op, ops.Source)}
        self._sums: dict[str, Rows] = {name: ZSet() for name in self._sources}
        self._views: dict[str, Rows] = {name: ZSet() for name in circuit.sinks}
        self._prepared: Prepared | None = None
        self.version: Version = self._version_of(0)

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        started = time.perf_counter()
        refuse_second(self._prepared)
        before = self._sums, self._views
        sums = dict(self._sums)
        for name, batch in changes.items():
            delta = from_arrow(arrow_of(name, batch, self._sources[name].schema))
            sums[name] = self._checked(name, sums[name], delta, conflicts)
        rows_in = sum(len(self._rows_of(n, sums[n]) - self._rows_of(n, self._sums[n])) for n in changes)
        result = self._step(sums, started, rows_in)
        version = self._version_of(self.epoch + 1)

        def commit() -> None:
            self.epoch, self.token, self._prepared, self.version = version.epoch, token, None, version

        def abort() -> None:
            self._sums, self._views = before
            self._prepared = None
            self._interpreter.take_back()

        self._prepared = Prepared(version, token, result, commit, abort)
        return self._prepared

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> EpochResult:
        started = time.perf_counter()
        refuse_second(self._prepared)
        other = ReferenceEngine(circuit, self._limit)
        other._interpreter.adopt(self._interpreter)
        other.epoch, other.token = self.epoch + 1, self.token
        for name in other._sources.keys() & self._sources.keys():
            if other._sources[name] == self._sources[name]:
                other._sums[name] = self._sums[name]
        for name, batch in rows.items():
            other._sums[name] = from_arrow(arrow_of(name, batch, other._sources[name].schema))
        for name in other._views.keys() & self._views.keys():
            if other._schema(name) == self._schema(name):
                other._views[name] = self._views[name]
        gone = [name for name in (*self._sums, *self._views) if name not in (*other._sums, *other._views)]
        extension = Extension(built=tuple(other._views), kept=tuple(other._sums), dropped=tuple(gone))
        result = replace(other._step(other._sums, started, 0), extension=extension)
        other.version = other._version_of(other.epoch)
        vars(self).update(vars(other))  # CPython 3.13 loses attributes of an object that is given another's __dict__
        return result

    def _step(self, sums: dict[str, Rows], started: float, rows_in: int) -> EpochResult:
        """Let these be the sums of the tables' changes: the changes of the views."""
        tables = {name: self._rows_of(name, rows) for name, rows in sums.items()}
        views = self._interpreter.step(tables)
        deltas = {name: views[name] - self._views[name] for name in views}
        visited = sum(map(len, tables.values())) + sum(map(len, views.values()))
        self._sums, self._views = sums, views
        found = {name: self._change(name, delta) for name, delta in deltas.items() if delta}
        return EpochResult(Changes(found), rows_in, visited, time.perf_counter() - started)

    def _change(self, name: str, delta: Rows) -> ViewChange:
        return ViewChange.of(to_arrow(delta, self._schema(name)))

    def _rows_of(self, table: str, sums: Rows) -> Rows:
        return sums.distinct() if self._sources[table].is_set else sums

    def _checked(self, name: str, sums: Rows, delta: Rows, conflicts: Conflicts) -> Rows:
        """The sums of weights after a change, see `conflicts`."""
        if conflicts == "trust":
            return sums + delta
        most = (lambda weight: min(weight, 1)) if self._sources[name].is_set else int
        old = {row: max(0, most(sums.weight(row))) for row, _ in delta}
        new = {row: max(0, most(old[row] + weight)) for row, weight in delta}
        wrong = [(row, weight) for row, weight in delta if new[row] != old[row] + weight]
        if wrong and conflicts == "error":
            kinds: dict[tuple[bool, bool], list[Row]] = {}
            for row, weight in wrong:
                kinds.setdefault((weight > 0, old[row] > 0), []).append(row)
            order = sorted(kinds, reverse=True)
            raise ConflictError(
                name, [Conflict(is_there, c, kinds[c, is_there], len(kinds[c, is_there])) for c, is_there in order]
            )
        return sums + ZSet({row: weight - sums.weight(row) for row, weight in new.items()})

    def _version_of(self, epoch: int) -> Version:
        """The tables and views as they are now."""
        tables = {name: self._rows_of(name, sums) for name, sums in self._sums.items()}
        schemas = {name: self._schema(name) for name in (*self._sums, *self._views)}
        return ReferenceVersion(epoch, tables, self._views, schemas, {n: op.schema for n, op in self._sources.items()})

    def explain(self, name: str, full: bool = False) -> str:
        told = f"{name} {self._schema(name)}, recomputed in every epoch by the reference interpreter"
        return f"{told}:\n{self.circuit}" if full else told

    def _schema(self, name: str) -> Schema:
        if name in self._views:
            return self.circuit.type_of(self.circuit.sinks[name]).schema
        return self._sources[name].schema


@dataclass(frozen=True)
class ReferenceVersion(Version):
    """The rows of tables and views as of one epoch, with their columns."""

    epoch: int
    tables: Mapping[str, Rows]
    views: Mapping[str, Rows]
    schemas: Mapping[str, Schema]
    table_schemas: Mapping[str, Schema]

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        rows = self.tables[name] if table else self._contents(name)
        found = _shown(rows, (self.table_schemas if table else self.schemas)[name], counted)
        return found if columns is None else found.select([*columns, *([WEIGHT] if counted else [])])

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        return self._found(self._contents(name), self.schemas[name], key, counted)

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        rows, schema = self.tables[name], self.table_schemas[name]
        wanted = keys.group_by(keys.column_names).aggregate([]).to_pylist()
        found = [self._found(rows, schema, key, False) for key in wanted]
        return pa.concat_tables(found) if found else _shown(ZSet(), schema, False)

    def count_each(self, name: str, keys: pa.Table) -> npt.NDArray[np.int64]:
        rows, schema = self.tables[name], self.table_schemas[name]
        found = [self._found(rows, schema, key, False) for key in keys.to_pylist()]
        return np.array([len(table) for table in found], np.int64)

    def entries(self, name: str) -> int:
        return len(self.tables[name])

    def count(self, name: str, *, table: bool = False) -> int:
        rows = self.tables[name] if table else self._contents(name)
        return sum(weight for _, weight in rows if weight > 0)

    def _contents(self, name: str) -> Rows:
        return self.views[name] if name in self.views else self.tables[name]

    def _found(self, rows: Rows, schema: Schema, key: Mapping[str, object], counted: bool) -> pa.Table:
        def has(row: Row, column: str, value: object) -> bool:
            mine, type_ = row[schema.index(column)], schema.types[column]
            if isinstance(value, Between):
                return value.has(mine, type_)
            return bool(in_order(mine) == in_order(values.of_python(value, type_)))

        found = rows.filter(lambda row: all(has(row, column, value) for column, value in key.items()))
        return _shown(found, schema, counted)


def _shown(rows: Rows, schema: Schema, counted: bool) -> pa.Table:
    """The rows of positive weight: once with their weights when `counted`, else as often as these say."""
    import pyarrow as pa

    table = to_arrow(ZSet({row: weight for row, weight in rows if weight > 0}), schema)
    if counted:
        return table
    times = table.column(WEIGHT).to_pylist()
    positions = [i for i, weight in enumerate(times) for _ in range(weight)]
    return table.take(pa.array(positions, pa.int64())).drop_columns([WEIGHT])

"""The oracle: the engine protocol over the reference interpreter, which recomputes everything in every epoch.

State that depends on the past, such as a window's time, is in the interpreter. An epoch is one of its steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from deltic.engine.batches import Changed, in_memory
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import Conflict, ConflictError, Conflicts
from deltic.engine.prepared import Prepared, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.result import EpochResult, Extension
from deltic.engine.rowwise import shown
from deltic.engine.version import Between, Version, rows_shown
from deltic.values import in_order
from deltic.values.types import Schema


class ReferenceEngine(Engine):
    """Stores tables and views as Python Z-sets. An epoch's changes are the differences of two recomputations.

    Of a table it stores the sums of weights; the rows of a set are their `distinct`. An epoch with a recursion of more
    than `iteration_limit` iterations is rejected.
    """

    def __init__(self, circuit: Circuit, iteration_limit: int = ITERATION_LIMIT) -> None:
        self._limit = iteration_limit
        self.epoch, self.token = 0, ""
        self._running = _Interpreted(circuit, iteration_limit)
        self._prepared: Prepared | None = None
        self.version: Version = self._running.version(0)

    @property
    def circuit(self) -> Circuit:
        """The circuit that is maintained."""
        return self._running.circuit

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        started = time.perf_counter()
        refuse_second(self._prepared)
        running = self._running
        before = running.sums, running.views
        sums = running.changed(changes, conflicts)
        tables = {n: len(running.rows_of(n, sums[n]) - running.rows_of(n, running.sums[n])) for n in changes}
        result = replace(running.step(sums), tables=tables, seconds=time.perf_counter() - started)

        def abort() -> None:
            running.sums, running.views = before
            running.interpreter.take_back()

        return self._prepare(running, token, result, abort)

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        started = time.perf_counter()
        refuse_second(self._prepared)
        old, new = self._running, _Interpreted(circuit, self._limit)
        new.adopt(old, rows)
        gone = [name for name in (*old.sums, *old.views) if name not in (*new.sums, *new.views)]
        extension = Extension(built=tuple(new.views), kept=tuple(new.sums), dropped=tuple(gone))
        result = replace(new.step(new.sums), extension=extension, seconds=time.perf_counter() - started)
        return self._prepare(new, self.token, result, lambda: None)

    def _prepare(self, running: _Interpreted, token: str, result: EpochResult, undo: Callable[[], None]) -> Prepared:
        """Return the prepared epoch that a circuit has run."""
        version = running.version(self.epoch + 1)

        def commit() -> None:
            self._running, self.version, self.epoch = running, version, version.epoch
            self.token, self._prepared = token, None

        def abort() -> None:
            self._prepared = None
            undo()

        self._prepared = Prepared(version, token, result, commit, abort)
        return self._prepared

    def explain(self, name: str, full: bool = False) -> str:
        message = f"{name} {self._running.schema(name)}, recomputed in every epoch by the reference interpreter"
        return f"{message}:\n{self.circuit}" if full else message


class _Interpreted:
    """A circuit with the sums of its tables' changes and the rows of its views, as of the last epoch."""

    def __init__(self, circuit: Circuit, limit: int) -> None:
        self.circuit, self.interpreter = circuit, Interpreter(circuit, limit=limit)
        self._sources = {op.name: op for op in circuit.operators if isinstance(op, ops.Source)}
        self.sums: dict[str, Rows] = {name: ZSet() for name in self._sources}
        self.views: dict[str, Rows] = {name: ZSet() for name in circuit.sinks}

    def adopt(self, old: _Interpreted, begun: Mapping[str, Changed]) -> None:
        """Take over the tables and views of an old circuit that did not change. `begun` tables have these rows."""
        self.interpreter.adopt(old.interpreter)
        for name in self._sources.keys() & old._sources.keys():
            if self._sources[name] == old._sources[name]:
                self.sums[name] = old.sums[name]
        for name, batch in begun.items():
            self.sums[name] = from_arrow(in_memory(name, batch, self._sources[name].schema).to_arrow())
        for name in self.views.keys() & old.views.keys():
            if self.schema(name) == old.schema(name):
                self.views[name] = old.views[name]

    def changed(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> dict[str, Rows]:
        """Return the sums of the tables' changes after these changes."""
        sums = dict(self.sums)
        for name, batch in changes.items():
            delta = from_arrow(in_memory(name, batch, self._sources[name].schema).to_arrow())
            sums[name] = self._checked(name, sums[name], delta, conflicts)
        return sums

    def step(self, sums: dict[str, Rows]) -> EpochResult:
        """Set the sums of the tables' changes, and return the changes of the views."""
        tables = {name: self.rows_of(name, rows) for name, rows in sums.items()}
        views = self.interpreter.step(tables)
        deltas = {name: views[name] - self.views[name] for name in views}
        visited = sum(map(len, tables.values())) + sum(map(len, views.values()))
        self.sums, self.views = sums, views
        changes = {name: self._change(name, delta) for name, delta in deltas.items() if delta}
        return EpochResult(Changes(changes), rows_visited=visited)

    def _change(self, name: str, delta: Rows) -> ViewChange:
        return ViewChange.of(to_arrow(delta, self.schema(name)))

    def rows_of(self, table: str, sums: Rows) -> Rows:
        """Return the rows of a table with these sums of changes."""
        return sums.distinct() if self._sources[table].is_set else sums

    def _checked(self, name: str, sums: Rows, delta: Rows, conflicts: Conflicts) -> Rows:
        """Return the sums of weights after a change, see `conflicts`."""
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

    def version(self, epoch: int) -> Version:
        """Return the present version of the tables and views."""
        tables = {name: self.rows_of(name, sums) for name, sums in self.sums.items()}
        schemas = {name: self.schema(name) for name in (*self.sums, *self.views)}
        return ReferenceVersion(epoch, tables, self.views, schemas, {n: op.schema for n, op in self._sources.items()})

    def schema(self, name: str) -> Schema:
        """Return the columns of a view or table."""
        if name in self.views:
            return self.circuit.type_of(self.circuit.sinks[name]).schema
        return self._sources[name].schema


@dataclass(eq=False)
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
        schema = (self.table_schemas if table else self.schemas)[name]
        result = shown(rows, schema, counted)
        return result if columns is None else result.select([*columns, *({WEIGHT} & {*result.column_names})])

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        result = self._found(self._contents(name), self.schemas[name], key)
        return shown(result, self.schemas[name], counted)

    def find(self, name: str, keys: Mapping[str, list[Any]], *, table: bool = False) -> dict[Row, int]:
        rows = self.tables[name] if table else self._contents(name)
        names = (self.table_schemas if table else self.schemas)[name].names
        places, wanted = [names.index(column) for column in keys], set(zip(*keys.values(), strict=True))
        return {row: weight for row, weight in rows if not keys or tuple(row[i] for i in places) in wanted}

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        rows, schema = self.tables[name], self.table_schemas[name]
        wanted = keys.group_by(keys.column_names).aggregate([]).to_pylist()
        result = [shown(self._found(rows, schema, key), schema, False) for key in wanted]
        return pa.concat_tables(result) if result else shown(ZSet(), schema, False)

    def count_each(self, name: str, keys: pa.Table, *, table: bool = False) -> npt.NDArray[np.int64]:
        rows = self.tables[name] if table else self._contents(name)
        schema = (self.table_schemas if table else self.schemas)[name]
        result = [shown(self._found(rows, schema, key), schema, False) for key in keys.to_pylist()]
        return np.array([len(table) for table in result], np.int64)

    def entries(self, name: str) -> int:
        return len(self.tables[name])

    def count(self, name: str, *, table: bool = False) -> int:
        rows = self.tables[name] if table else self._contents(name)
        return rows_shown(np.array([weight for _, weight in rows], np.int64))

    def _contents(self, name: str) -> Rows:
        return self.views[name] if name in self.views else self.tables[name]

    def _found(self, rows: Rows, schema: Schema, key: Mapping[str, object]) -> Rows:
        def has(row: Row, column: str, value: object) -> bool:
            mine, type_ = row[schema.index(column)], schema.types[column]
            if isinstance(value, Between):
                return value.has(mine, type_)
            return bool(in_order(mine) == in_order(values.of_python(value, type_)))

        return rows.filter(lambda row: all(has(row, column, value) for column, value in key.items()))

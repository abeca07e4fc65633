"""A few rows computed one by one, by a circuit whose operators look at each row alone.

An engine that computes columns takes longer to begin than these rows take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.circuit.expressions.meaning import meaning
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Constant, Filter, Map, Negate, Plus, Sink, Source
from deltic.circuit.tables import WEIGHT, from_arrow, to_arrow
from deltic.engine.batches import Changed, in_memory
from deltic.values.types import Schema

Row = tuple[Any, ...]
Rows = ZSet[Row]
_OPERATORS = frozenset({Source, Constant, Map, Filter, Plus, Negate, Sink})


def is_by_rows(circuit: Circuit) -> bool:
    """Return whether each row of a circuit is computed by itself."""
    return all(type(op) in _OPERATORS for op in circuit.operators)


@dataclass(frozen=True)
class Computed:
    """The views of a circuit, with their columns."""

    views: Mapping[str, tuple[Rows, Schema]]

    def read(self, name: str, *, counted: bool = False) -> pa.Table:
        """Return the rows of a view as `Version.read` does."""
        return shown(*self.views[name], counted)


def computed(circuit: Circuit, tables: Mapping[str, Changed]) -> Computed:
    """Return the views of a circuit whose tables have these rows, with weights. Raises EvaluationError."""
    values: list[Rows] = []
    for node in circuit.nodes:
        inputs = [(values[i], circuit.type_of(i).schema) for i in node.inputs]
        values.append(_value(node.operator, inputs, tables))
    return Computed({name: (values[i], circuit.type_of(i).schema) for name, i in circuit.sinks.items()})


def _value(op: object, inputs: Sequence[tuple[Rows, Schema]], tables: Mapping[str, Changed]) -> Rows:
    match op:
        case Source():
            rows = from_arrow(in_memory(op.name, tables[op.name], op.schema).to_arrow())
            return rows.distinct() if op.is_set else rows
        case Constant():
            return ZSet.of(op.rows)
        case Map():
            return _mapped(op, *inputs[0])
        case Filter():
            holds = _values([op.predicate], inputs[0][1])
            return inputs[0][0].filter(lambda row: holds(row) == (True,))
        case Negate():
            return -inputs[0][0]
    return sum((rows for rows, _ in inputs), ZSet())


def _mapped(op: Map, rows: Rows, schema: Schema) -> Rows:
    """Return the computed rows, without those that lack a value."""
    values, needed = _values(op.expressions, schema), [i for i, c in enumerate(op.columns) if not c.nullable]
    made = ((values(row), weight) for row, weight in rows)
    return ZSet((row, weight) for row, weight in made if all(row[i] is not None for i in needed))


def _values(expressions: Sequence[exp.Expression], schema: Schema) -> Callable[[Row], Row]:
    meanings = [meaning(expression, schema.types) for expression in expressions]

    def values(row: Row) -> Row:
        named = dict(zip(schema.names, row, strict=True))
        return tuple(mean(named) for mean in meanings)

    return values


def shown(rows: Rows, schema: Schema, counted: bool) -> pa.Table:
    """Return the rows once with their weights if `counted` or a weight is negative, else as often as they weigh."""
    table = to_arrow(rows, schema)
    weights = np.asarray(table.column(WEIGHT))
    if counted or (weights < 0).any():
        return table
    return table.take(pa.array(np.repeat(np.arange(len(table)), weights))).drop_columns([WEIGHT])

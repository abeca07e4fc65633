"""The rows of a table or view that a statement needs: those with the values that its conditions require are looked up.

If a statement reads a relation through one filter, it does not need rows with other values in the filter's columns. A
condition may be ignored here without harm, because the filter itself remains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import pyarrow as pa
from sqlglot import exp

from deltic.circuit.expressions import infer
from deltic.circuit.expressions.literals import is_literal
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.expressions.trees import conjuncts
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Filter, Source
from deltic.engine.version import Between, Version, has_ranges
from deltic.values.types import Kind, Schema

_MOST = 1000
"""How many look-ups are less than reading a relation, about."""
_KINDS = frozenset({Kind.BOOLEAN, Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.DATE, Kind.DECIMAL})
_FLIPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
    exp.EQ: exp.EQ,
}


def rows_needed(circuit: Circuit, name: str, version: Version) -> pa.Table:
    """Return the rows of a source of the circuit that may count, each with its weight; all where nothing is known."""
    predicate, schema = _filter_of(circuit, name)
    if predicate is None:
        return version.read(name, counted=True)
    values, ranges = _asked(predicate, schema)
    if not (values or ranges) or prod(map(len, values.values())) > _MOST:
        return version.read(name, counted=True)
    keys = [dict(zip(values, combined, strict=True)) | ranges for combined in product(*values.values())]
    return pa.concat_tables([version.lookup(name, key, counted=True) for key in keys])


def _filter_of(circuit: Circuit, name: str) -> tuple[exp.Expression | None, Schema]:
    """Return the condition that all rows of a source go through, and its columns; None where there is none."""
    number, source = next(
        (i, op) for i, op in enumerate(circuit.operators) if isinstance(op, Source) and op.name == name
    )
    readers = [node.operator for node in circuit.nodes if number in node.inputs]
    only = readers[0] if len(readers) == 1 else None
    return (only.predicate if isinstance(only, Filter) else None), source.schema


def _asked(predicate: exp.Expression, schema: Schema) -> tuple[dict[str, list[Any]], dict[str, Between]]:
    """Return the values that a condition allows in columns, each once, and the ranges of others."""
    values: dict[str, list[Any]] = {}
    ranges: dict[str, Between] = {}
    for conjunct in conjuncts(predicate):
        if isinstance(conjunct, exp.In) and isinstance(conjunct.this, exp.Column):
            listed = [_value(each, conjunct.this.name, schema) for each in conjunct.expressions]
            if listed and None not in listed and not conjunct.args.get("query"):
                _narrow(values, conjunct.this.name, listed)
            continue
        for kind, column, other in _comparisons(conjunct):
            if (value := _value(other, column, schema)) is None:
                continue
            if kind is exp.EQ:
                _narrow(values, column, [value])
            elif has_ranges(schema.types[column]):
                known = ranges.get(column, Between())
                lower = kind in (exp.GTE, exp.GT)
                ranges[column] = Between(value, known.high) if lower else Between(known.low, value)
    return values, {column: known for column, known in ranges.items() if column not in values}


def _comparisons(conjunct: exp.Expression) -> Iterator[tuple[type[exp.Expr], str, exp.Expression]]:
    """Yield a comparison of a column with something else, the column first."""
    kind: type[exp.Expr] = type(conjunct)
    if kind in _FLIPPED and isinstance(conjunct, exp.Binary):
        if isinstance(conjunct.this, exp.Column):
            yield kind, conjunct.this.name, conjunct.expression
        elif isinstance(conjunct.expression, exp.Column):
            yield _FLIPPED[kind], conjunct.expression.name, conjunct.this


def _value(literal: exp.Expression, column: str, schema: Schema) -> Any:
    """Return the value of a literal that has the type of the column; None for what is none."""
    type_ = schema.types[column]
    if not is_literal(literal) or type_.kind not in _KINDS or infer(literal, {}).type is not type_:
        return None
    return evaluate(literal, {}, {})


def _narrow(values: dict[str, list[Any]], column: str, allowed: list[Any]) -> None:
    """Allow a column no values but these; where a condition allows none, those that it allowed before."""
    known = list(dict.fromkeys(allowed))
    values[column] = [value for value in known if column not in values or value in values[column]] or known

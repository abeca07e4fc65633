"""What single nodes of a circuit say of their rows: predicates, columns that they copy, and calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjuncts, infer, is_literal
from deltic.circuit.expressions.meaning import evaluate, meaning
from deltic.circuit.graph import Circuit
from deltic.errors import UnsupportedError
from deltic.functions.function import PREFIX, PROVIDED, is_call
from deltic.values.types import Schema, Type
from deltic.why.bound import Bound, Row, named
from deltic.why.explanation import shown

PASSED = (ops.Distinct, ops.Keep, ops.Sink, ops.Close)
"""Operators whose rows are those of their input, up to weights."""


def is_recursive(circuit: Circuit, number: int) -> bool:
    """Return whether a node of a recursion's body depends on the recursion."""
    return any(isinstance(circuit.nodes[i].operator, ops.Feedback) for i in circuit.ancestors([number]))


def copied(circuit: Circuit, number: int) -> Sequence[tuple[str, str]]:
    """Return the columns that a map copies from its input, each with its name there."""
    operator = circuit.nodes[number].operator
    assert isinstance(operator, ops.Map)
    pairs = zip(operator.columns, operator.expressions, strict=True)
    return [(column.name, each.name) for column, each in pairs if isinstance(each, exp.Column)]


def predicate_of(circuit: Circuit, number: int) -> Callable[[Row], bool]:
    """Return the function that says whether the predicate of a filter is true of a row."""
    operator, schema = circuit.nodes[number].operator, circuit.type_of(number).schema
    assert isinstance(operator, ops.Filter)
    predicate = meaning(operator.predicate, schema.types)
    return lambda row: predicate(named(row, schema)) is True


def calls_of(circuit: Circuit, number: int) -> Sequence[Callable[[Bound], str]]:
    """For each call of a user's function in a filter or map, the function that shows it with its values for a row."""
    operator, types = circuit.nodes[number].operator, circuit.type_of(circuit.nodes[number].inputs[0]).schema.types
    assert isinstance(operator, ops.Filter | ops.Map)
    expressions = [operator.predicate] if isinstance(operator, ops.Filter) else operator.expressions
    calls = [call for each in expressions for call in each.find_all(exp.Anonymous) if is_call(call)]
    names = [call.name.removeprefix(PREFIX).lower() for call in calls]
    return [
        _shown_call(name, call, types)
        for name, call in zip(names, calls, strict=True)
        if name in PROVIDED and "__" in name
    ]


def _shown_call(name: str, call: exp.Anonymous, types: Mapping[str, Type]) -> Callable[[Bound], str]:
    parts = [meaning(each, types) for each in (*call.expressions, call)]

    def text(row: Bound) -> str:
        *arguments, value = (shown(part(row)) for part in parts)
        return f"{name.rpartition('__')[0]}({', '.join(arguments)}) = {value}"

    return text


def mapping_of(circuit: Circuit, number: int) -> Callable[[Row], Row | None]:
    """Return the function that computes a map's rows from those of its input; its value is None if it is undefined."""
    operator, schema = circuit.nodes[number].operator, circuit.type_of(number).schema
    assert isinstance(operator, ops.Map)
    given = circuit.type_of(circuit.nodes[number].inputs[0]).schema
    required = [i for i, column in enumerate(schema) if not column.nullable]
    copied = [given.index(e.name) for e in operator.expressions if isinstance(e, exp.Column)]
    parts = [meaning(expression, given.types) for expression in operator.expressions]

    def compute(row: Row) -> Row | None:
        if len(copied) == len(parts):
            result = tuple([row[i] for i in copied])
        else:
            values = named(row, given)
            result = tuple([part(values) for part in parts])
        return None if any(result[i] is None for i in required) else result

    return compute


def restricted(operator: ops.Filter, schema: Schema, bound: Bound) -> dict[str, Any]:
    """Return the bound values, extended by columns that the predicate equates with constants or with bound columns."""
    result = dict(bound)
    for conjunct in conjuncts(operator.predicate):
        if isinstance(conjunct, exp.EQ):
            for column, value in permutations((conjunct.this, conjunct.expression)):
                if not isinstance(column, exp.Column):
                    continue
                if isinstance(value, exp.Column) and value.name in result:
                    result.setdefault(column.name, result[value.name])
                elif is_literal(value) and infer(value, {}).type is schema.types[column.name]:
                    result.setdefault(column.name, evaluate(value, {}, {}))
    return result


def unexplained(operator: ops.Operator) -> UnsupportedError:
    """Return the error for an operator that this package cannot explain."""
    return UnsupportedError(f"why: {operator.keyword} is not explained; ask for rows of the views that it reads")

"""Conditions, columns and operators in the user's words, as far as a definition has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlglot import exp

from deltic.catalog import ViewDefinitions
from deltic.catalog.words import QueryTexts, Words
from deltic.circuit import operators as ops
from deltic.circuit.expressions.checks import spoken
from deltic.circuit.graph import Circuit
from deltic.values.words import word
from deltic.why.relations import Bound

_AS_NAMED: Mapping[str, str] = {}


def words_of(definition: ViewDefinitions) -> Words:
    """The words of a definition; if it has none, those of its aggregates."""
    return definition.words or Words(
        lambda: QueryTexts({call.name: call_of(call) for call in _calls(definition.inlined)}), known=False
    )


def _calls(circuit: Circuit) -> Iterator[ops.AggregateCall]:
    for operator in circuit.operators:
        yield from operator.calls if isinstance(operator, ops.Aggregate) else ()
        for _, body in operator.bodies():
            yield from _calls(body)


def call_of(call: ops.AggregateCall) -> str:
    """A call without the name of its result."""
    return str(call).removesuffix(f" AS {word(call.name)}")


def condition_of(expression: exp.Expression, words: Words, renamed: Mapping[str, str] = _AS_NAMED) -> str:
    """An expression as the user wrote it, or with the texts of its parts; columns may be `renamed` first."""
    around = exp.Paren(this=expression.copy())
    pending: list[exp.Expression] = [around.this]
    while pending:
        node = pending.pop()
        text = words.texts.values.get(node)
        if text is None and isinstance(node, exp.Column):
            text = words.texts.columns.get(renamed.get(node.name, node.name))
        if text:
            node.replace(exp.Var(this=text))
        else:
            pending += node.iter_expressions()
    return spoken(around.this)


def pairs_of(names: Iterable[str], row: Iterable[Any], words: Words) -> dict[str, Any]:
    """The values of a row by the texts of its columns, without columns that the user did not write."""
    result: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        if text := words.column(name):
            result.setdefault(text, value)
    return result


def bound_of(bound: Bound, words: Words) -> Mapping[str, Any]:
    """Values by the texts of their columns."""
    return pairs_of(bound, bound.values(), words)


def called(operator: ops.Operator, words: Words) -> str:
    """An operator over groups: its functions and keys; empty if the user did not write it."""
    if isinstance(operator, ops.Top) and words.known:
        return _first(operator, words)
    if isinstance(operator, ops.FlatMap) and words.known:
        return ""
    if isinstance(operator, ops.Top) and not operator.order and operator.limit == 1:
        return f"chosen by {', '.join(map(words.column, operator.keys))}"
    if not isinstance(operator, ops.Aggregate | ops.Over) or (isinstance(operator, ops.Over) and not words.known):
        return operator.label
    calls = ", ".join(dict.fromkeys(filter(None, (words.column(call.name) for call in operator.calls))))
    if isinstance(operator, ops.Over) or (operator.calls and not calls):
        return calls
    keys = ", ".join(filter(None, map(words.column, operator.keys)))
    return (calls or "distinct") + (f" by {keys}" if keys else "")


def _first(operator: ops.Top, words: Words) -> str:
    order = ", ".join(_order(each, words) for each in operator.order)
    parts = [f"ORDER BY {order}" if order else "", "" if operator.limit is None else f"LIMIT {operator.limit}"]
    return " ".join(filter(None, [*parts, f"OFFSET {operator.offset}" if operator.offset else ""]))


def _order(order: ops.Order, words: Words) -> str:
    nulls = f" NULLS {'FIRST' if order.nulls_first else 'LAST'}" if order.nulls_first is order.descending else ""
    return f"{words.column(order.column) or order.column}{' DESC' if order.descending else ''}{nulls}"

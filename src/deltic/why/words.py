"""Conditions, columns and operators in the user's words, as far as a definition has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlglot import exp

from deltic.catalog import ViewDefinitions
from deltic.catalog.words import QueryTexts, Words
from deltic.circuit import operators as ops
from deltic.circuit.expressions.checks import spoken
from deltic.circuit.graph import Circuit
from deltic.values.words import word
from deltic.why.bound import Bound

_AS_NAMED: Mapping[str, str] = {}


def words_of(definition: ViewDefinitions) -> Words:
    """Return the words of a definition; if it has none, those of its aggregates."""
    return definition.words or Words(lambda: QueryTexts(_of_one_text(_calls(definition.inlined))), known=False)


def _of_one_text(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the keys with their texts, without keys of several texts."""
    known = dict.fromkeys(pairs)
    count = Counter(key for key, _ in known)
    return {key: text for key, text in known if count[key] == 1}


def _calls(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Aggregates and the columns of their results, each with its text over the expressions of a map below."""
    for node in circuit.nodes:
        if isinstance(node.operator, ops.Aggregate):
            below = circuit.nodes[node.inputs[0]].operator
            pairs = zip(below.columns, below.expressions, strict=True) if isinstance(below, ops.Map) else ()
            computed = {column.name: spoken(each) for column, each in pairs}
            texts = [(call, call_of(call, computed)) for call in node.operator.calls]
            yield from ((key, text) for call, text in texts for key in (call.name, str(call)))
        for _, body in node.operator.bodies():
            yield from _calls(body)


def call_of(call: ops.AggregateCall | ops.WindowCall, computed: Mapping[str, str]) -> str:
    """Return a call without the name of its result, over expressions that are `computed` for its columns."""
    text = str(call).removesuffix(f" AS {word(call.name)}")
    return re.sub(r"\b\w+\b(?!\()", lambda name: computed.get(name[0], name[0]), text) if call.columns else text


def condition_of(expression: exp.Expression, words: Words, renamed: Mapping[str, str] = _AS_NAMED) -> str:
    """Return an expression as the user wrote it, or with the texts of its parts; columns may be `renamed` first."""
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
    """Return the values of a row by the texts of its columns, without columns that the user did not write."""
    result: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        if text := words.column(name):
            result.setdefault(text, value)
    return result


def bound_of(bound: Bound, words: Words) -> Mapping[str, Any]:
    """Values by the texts of their columns."""
    return pairs_of(bound, bound.values(), words)


def called(operator: ops.Operator, words: Words) -> str:
    """Return an operator over groups: its functions and keys; empty if the user did not write it."""
    if isinstance(operator, ops.Top) and words.known:
        return _first(operator, words)
    if isinstance(operator, ops.FlatMap) and words.known:
        return ""
    if isinstance(operator, ops.Top) and not operator.order and operator.limit == 1:
        return f"chosen by {', '.join(map(words.column, operator.keys))}"
    if not isinstance(operator, ops.Aggregate | ops.Over) or (isinstance(operator, ops.Over) and not words.known):
        return operator.label
    texts = words.texts.columns
    own = (texts.get(str(c)) or texts.get(c.name) or ("" if words.known else call_of(c, {})) for c in operator.calls)
    calls = ", ".join(dict.fromkeys(filter(None, own)))
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

"""Planned queries, and plans of statements that run again.

A plan is made once with a stand-in for each parameter, and filled with its values.

A plan is only kept if no part of it depends on the values: each stand-in is a whole value, in a row of VALUES, an
assignment, a comparison, LIKE, IN, BETWEEN or the last LIMIT and OFFSET, and is unchanged by planning. The types of
values are part of the key.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from sqlglot import exp

from deltic.catalog import ViewDefinitions
from deltic.circuit.expressions.casts import cast_type
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Constant, Filter, Map, Operator, Sink, Source, Top
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.ordering import Key
from deltic.sql.statements.parameters import Args
from deltic.sql.statements.statements import Delete, Insert, Merge, Select, Statement, Update
from deltic.values.types import Kind, Type


@dataclass(frozen=True)
class PlannedQuery:
    """A query to evaluate once: its view, the column names in SQL, and the order of the answer's rows."""

    definition: ViewDefinitions
    names: Sequence[str]
    order: Mapping[int, Key]
    """The sort keys by column position, the most significant first."""


Plan: TypeAlias = Effect | PlannedQuery

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_LIKE = "SPARK_LIKE"
_INT, _BIGINT = 1 << 31, 1 << 63
_FLOAT, _DAY, _MOMENT = 1e201, dt.date(9871, 1, 1), dt.datetime(9871, 1, 1)
_WRAPPED = (float, dt.date, dt.datetime)
"""The types of Python whose literal is a text in a call or cast."""
_IN_ROWS = (int, str, Decimal, *_WRAPPED)
_CASTS: Mapping[type, Sequence[Kind]] = {
    int: [type_.kind for type_ in Type.simple() if type_.is_integer],
    float: [Kind.FLOAT64],
    str: [],
    Decimal: [Kind.DECIMAL],
    dt.date: [Kind.DATE],
    dt.datetime: [Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ],
}
"""The types to which a plan may cast the literals of values."""
_MOST_DIGITS = 38


@dataclass(frozen=True)
class ParameterValues:
    """Values of parameters: how to write them as `args`, with stand-ins, and what replaces each."""

    kinds: tuple[object, ...]
    """The types of the values, and those that are part of the plan: NULL and Booleans."""
    stand_ins: Args | None
    values: Mapping[Any, Any]
    """The values by their stand-ins."""

    @classmethod
    def of(cls, args: Args | None) -> ParameterValues | None:
        """Return the bindings of values; None where one of them has a type of which no plan is kept."""
        if args is None:
            return cls((), None, {})
        if not isinstance(args, Mapping | list | tuple):
            return None
        names = list(args) if isinstance(args, Mapping) else None
        kinds: list[object] = [] if names is None else [tuple(names)]
        used, values = [], {}
        for number, value in enumerate(args.values() if isinstance(args, Mapping) else args):
            plain = value.item() if isinstance(value, np.generic) else value
            kind, stand_in = _kind(plain, number)
            if not kind:
                return None
            kinds.append(kind)
            used.append(stand_in)
            if stand_in is not plain:
                values[stand_in] = plain
        return cls(tuple(kinds), used if names is None else dict(zip(names, used, strict=True)), values)


def _kind(value: Any, number: int) -> tuple[str, Any]:
    """Return the kind of a value, "" where no plan is kept, and the stand-in of the parameter of this number."""
    if value is None or type(value) is bool:
        return str(value), value
    if type(value) is str:
        return "text", f"\ue000Z{number}\ue000 "  # which keys of collations change
    if type(value) is int and abs(value) < _BIGINT:
        return ("int", _INT - 1_000_003 - number) if abs(value) < _INT else ("bigint", _BIGINT - 1_000_003 - number)
    if type(value) is float and math.isfinite(value):
        return "float", (7 + number) * _FLOAT
    if type(value) is Decimal and value.is_finite():
        return _kind_of_decimal(value, number)
    if type(value) is dt.date:
        return "date", _DAY + dt.timedelta(days=number)
    if type(value) is dt.datetime:
        moment = _MOMENT + dt.timedelta(seconds=number)
        if value.tzinfo is None:
            return "clock", moment
        return ("instant", moment.replace(tzinfo=dt.UTC)) if value.tzinfo is dt.UTC else ("", None)
    return "", None


def _kind_of_decimal(value: Decimal, number: int) -> tuple[str, Any]:
    """As `_kind`: digits before and after the point are of the kind, since they are the literal's type."""
    whole, _, fraction = format(abs(value), "f").partition(".")
    digits = len(whole.lstrip("0")) + len(fraction)
    stand_in = 10**digits - 1 - 3 * number
    if not fraction or digits > _MOST_DIGITS or stand_in < 10 ** (digits - 1):
        return "", None
    return f"decimal {digits} {len(fraction)}", Decimal(stand_in).scaleb(-len(fraction))


def is_plain(statement: Statement, stand_ins: Mapping[Any, Any]) -> bool:
    """Return whether a statement is one of which plans are kept, each stand-in being a value by itself in it."""
    roots = list(_roots(statement))
    texts = {str(each): type(each) in _WRAPPED for each in stand_ins}
    literals = [node for root in roots for node in root.find_all(exp.Literal) if node.this in texts]
    is_whole = bool(roots) and {node.this for node in literals} == texts.keys()
    values = (node.parent if texts[node.this] else node for node in literals)
    return is_whole and all(value is not None and _is_by_itself(value, roots) for value in values)


def _roots(statement: Statement) -> Iterator[exp.Expression]:
    """Yield the expressions of a statement."""
    match statement:
        case Insert(conflict=None) | Select():
            yield statement.query
        case Delete():
            yield statement.condition or exp.true()
        case Update():
            yield from (each.value for each in statement.assignments)
            yield statement.condition or exp.true()
        case Merge():
            yield from (statement.using, statement.condition)
            for when in statement.whens:
                yield from (each.value for each in when.assignments or ())
                yield when.condition or exp.true()


def _is_by_itself(value: exp.Expr, roots: Sequence[exp.Expression]) -> bool:
    parent = value.parent
    if any(value is root for root in roots):
        return True
    if isinstance(parent, exp.Tuple):
        return isinstance(parent.parent, exp.Values)
    if isinstance(parent, exp.Limit | exp.Offset):
        return any(parent.parent is root for root in roots)
    if not isinstance(parent, (*_COMPARISONS, exp.In, exp.Between, exp.Like)):
        return False
    other = parent.expression if parent.this is value and isinstance(parent, _COMPARISONS) else parent.this
    above = parent.parent
    while isinstance(above, exp.And | exp.Paren):
        above = above.parent
    return isinstance(other, exp.Column) and (above is None or isinstance(above, exp.Where))


@dataclass(frozen=True)
class OpenPlan:
    """A plan with stand-ins; `places` are the numbers of the nodes that hold some, by definition."""

    plan: Plan
    places: Sequence[Sequence[int]]

    @classmethod
    def of(cls, plan: Plan, stand_ins: Mapping[Any, Any]) -> OpenPlan | None:
        """Return the open plan; None where a stand-in is not in it, or where no value can be put in its place."""
        texts, places, seen = {str(each): type(each) for each in stand_ins}, list[Sequence[int]](), set[str]()
        for definition in _definitions(plan):
            held = [_held(operator, stand_ins, texts) for operator in definition.circuit.operators]
            known = [each for each in held if each is not None]
            if len(known) < len(held):
                return None
            seen.update(*known)
            places.append([number for number, each in enumerate(known) if each])
        return cls(plan, places) if seen == texts.keys() else None

    def bound(self, values: Mapping[Any, Any]) -> Plan | None:
        """Return the plan with values in the places of their stand-ins; None if one is refused there."""
        texts = {str(stand_in): value for stand_in, value in values.items()}
        literals = {text: _literal(value) for text, value in texts.items()}
        filled = list[ViewDefinitions]()
        for definition, places in zip(_definitions(self.plan), self.places, strict=True):
            nodes = list(definition.circuit.nodes)
            for number in places:
                operator = nodes[number].operator
                if _is_refused(operator, texts):
                    return None
                nodes[number] = replace(nodes[number], operator=_filled(operator, values, literals))
            filled.append(replace(definition, circuit=Circuit(tuple(nodes), definition.circuit.depth)))
        return _with_definitions(self.plan, filled)


def _held(operator: Operator, stand_ins: Mapping[Any, Any], texts: Mapping[str, type]) -> set[str] | None:
    """Return the texts of the stand-ins in an operator; None where one is where no value can be put."""
    match operator:
        case Constant():
            own = {
                str(value) for row in operator.rows for value in row if type(value) in _IN_ROWS and value in stand_ins
            }
            return own if len(operator.rows) == 1 or not own else None
        case Map() | Filter():
            literals = [
                (node, root)
                for root in _expressions(operator)
                for node in root.find_all(exp.Literal)
                if node.this in texts
            ]
            are_open = all(_has_a_place(node, root, texts[node.this]) for node, root in literals)
            return {node.this for node, _ in literals} if are_open else None
        case Top():
            return {str(number) for number in (operator.limit, operator.offset) if number in stand_ins}
        case Source() | Sink():
            return set()
    shown = operator.arguments()
    return None if any(operator.bodies()) or any(text in shown for text in texts) else set()


def _has_a_place(literal: exp.Literal, root: exp.Expression, type_: type) -> bool:
    """Return whether a literal is a whole value, one of a comparison, LIKE or IN, or one of another type in a cast."""
    node: exp.Expr | None = literal
    if literal is not root and isinstance(literal.parent, exp.TryCast):
        if cast_type(literal.parent).kind not in _CASTS[type_]:
            return False
        node = literal.parent
    if node is root or node is None:
        return True
    is_pattern = isinstance(node.parent, exp.Anonymous) and node.parent.name == _LIKE and node.arg_key == "expressions"
    return is_pattern or isinstance(node.parent, (*_COMPARISONS, exp.In))


def _filled(operator: Operator, values: Mapping[Any, Any], literals: Mapping[str, exp.Expression]) -> Operator:
    match operator:
        case Constant(rows=(row,)):
            own = tuple(values.get(each, each) if type(each) in _IN_ROWS else each for each in row)
            return replace(operator, rows=(own,))
        case Map():
            return replace(operator, expressions=tuple(_put(each, literals) for each in operator.expressions))
        case Filter():
            return replace(operator, predicate=_put(operator.predicate, literals))
        case Top():
            limit, offset = (values.get(number, number) for number in (operator.limit, operator.offset))
            return replace(operator, limit=limit, offset=offset)
    return operator


def _is_refused(operator: Operator, values: Mapping[str, Any]) -> bool:
    """Return whether a number of rows would be negative, or a pattern with the letter of ESCAPE may be invalid."""
    if isinstance(operator, Top):
        return any(values.get(str(number), 0) < 0 for number in (operator.limit, operator.offset))
    if not isinstance(operator, Map | Filter):
        return False
    calls = (call for root in _expressions(operator) for call in root.find_all(exp.Anonymous) if call.name == _LIKE)
    return any(call.expressions[2].name in str(values.get(call.expressions[1].name, "")) for call in calls)


def _put(expression: exp.Expression, literals: Mapping[str, exp.Expression]) -> exp.Expression:
    """Return the expression with these literals in the places of others."""
    if isinstance(expression, exp.Column) or not any(n.this in literals for n in expression.find_all(exp.Literal)):
        return expression
    result = expression.copy()
    for node in list(result.find_all(exp.Literal)):
        if node.this in literals:
            new = literals[node.this].copy()
            if node is result:
                return new
            node.replace(new)
    return result


def _literal(value: Any) -> exp.Expression:
    if not isinstance(value, int | float):
        return exp.Literal.string(format(value, "f") if isinstance(value, Decimal) else str(value))
    number = exp.Literal.number(repr(abs(value)))
    return exp.Neg(this=number) if value < 0 else number


def _expressions(operator: Map | Filter) -> Sequence[exp.Expression]:
    return operator.expressions if isinstance(operator, Map) else (operator.predicate,)


def _definitions(plan: Plan) -> Sequence[ViewDefinitions]:
    if isinstance(plan, Effect):
        return plan.definitions if plan.keys is None else (*plan.definitions, plan.keys)
    return (plan.definition,)


def _with_definitions(plan: Plan, definitions: Sequence[ViewDefinitions]) -> Plan:
    """Return the plan with others in the places of its definitions."""
    if isinstance(plan, PlannedQuery):
        return replace(plan, definition=definitions[0])
    keys = None if plan.keys is None else definitions[-1]
    return replace(plan, definitions=tuple(definitions[: len(plan.definitions)]), keys=keys)

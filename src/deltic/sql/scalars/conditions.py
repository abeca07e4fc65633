"""Conditional expressions and NULL tests: CASE, IF, COALESCE, NULLIF, IN, BETWEEN, IS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_listed
from deltic.sql.scalars.coercion import coerced, unified
from deltic.sql.scalars.comparing import compared
from deltic.sql.scalars.operators import Mismatch, case, comparison, logic
from deltic.sql.scalars.typed import NULL, Typed, applied, constant, folded, in_common, of_node, regrouped
from deltic.values.types import Kind, Type


def chosen(conditions: Sequence[Typed], values: Sequence[Typed], default: Typed | None) -> Typed:
    """Return the value of the first condition that is true, else the default, or NULL; all brought to one type."""
    if all(value.is_null for value in (*values, default or NULL)):
        return NULL
    same = unified([*values, default or NULL])
    if same is None:
        raise Mismatch("the values have no type in common; cast them to one")
    if any(not condition.is_null and condition.type.type is not Type.BOOLEAN for condition in conditions):
        raise Mismatch("conditions are BOOLEAN; compare, or cast to BOOLEAN")
    holds = [coerced(condition, Type.BOOLEAN) for condition in conditions]
    return case([*zip(holds, same, strict=False)], same[-1] if default else None)


def matched(operand: Typed, candidates: Sequence[Typed], values: Sequence[Typed], default: Typed | None) -> Typed:
    """CASE operand WHEN candidate THEN value …."""
    return chosen([comparison(exp.EQ, operand, candidate) for candidate in candidates], values, default)


def coalesced(values: Sequence[Typed]) -> Typed:
    """Return the first of the values, brought to one type, that is not NULL."""
    if all(value.is_null for value in values):
        return NULL
    same = unified(values)
    if same is None:
        raise Mismatch("the values have no type in common; cast them to one")
    if len(same) == 1:
        return same[0]
    first, *rest = (value.expression.copy() for value in same)
    return replace(of_node(exp.Coalesce(this=first, expressions=rest), *same), modifier=in_common(same))


def null_if(value: Typed, other: Typed) -> Typed:
    """Return the value, but NULL where it equals the other."""
    if value.is_null:
        return value
    null = replace(coerced(NULL, value.type.type), modifier=value.modifier)
    return case([(comparison(exp.EQ, value, other), null)], value)


def among(value: Typed, candidates: Sequence[Typed]) -> Typed:
    """Return whether the value equals one of the candidates, all brought to one type; NULL where only a NULL may."""
    same = unified([value, *candidates])
    if same is None and not all(each.type.type.kind is Kind.STRUCT for each in (value, *candidates)):
        raise Mismatch("the values have no type in common; cast them to one")
    first, *rest = compared(same or [value, *candidates])
    constants = [other for other in rest if is_listed(first.type.type, other.expression)]
    if len(constants) < 2:
        return regrouped(exp.Or, [comparison(exp.EQ, first, other) for other in rest])
    others = [other for other in rest if not is_listed(first.type.type, other.expression)]
    listed = exp.In(this=first.expression.copy(), expressions=[other.expression.copy() for other in constants])
    result = [folded(of_node(listed, first)), *(comparison(exp.EQ, first, other) for other in others)]
    return regrouped(exp.Or, result)


def between(value: Typed, low: Typed, high: Typed) -> Typed:
    """Return whether the value is in a range, its ends included."""
    return logic(exp.And, [comparison(exp.GTE, value, low), comparison(exp.LTE, value, high)])


def is_null(value: Typed) -> Typed:
    """Return whether the value is NULL."""
    node = exp.Is(this=value.expression.copy(), expression=exp.Null())
    return constant(value.is_null, Type.BOOLEAN) if value.is_null or not value.type.nullable else of_node(node, value)


def is_boolean(value: Typed, wanted: bool) -> Typed:
    """Return whether a BOOLEAN is true, or is false, and not NULL."""
    return applied(exp.NullSafeEQ, coerced(value, Type.BOOLEAN), constant(wanted, Type.BOOLEAN))

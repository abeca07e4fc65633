"""Percentiles of columns, of values with frequencies, and of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.sql.aggregate_calls import AggregateColumn, AskedAggregate, LoweredAggregates, Rule, interval_of, one
from deltic.sql.scalars import NULL, Typed, coerced, constant, operators
from deltic.sql.scalars.conditions import is_null
from deltic.sql.scalars.functions.collections import struct
from deltic.sql.scalars.functions.rules import RULES, attempt, must
from deltic.sql.scalars.operators import INTERVALS, case
from deltic.values.types import Type


def percentile(asked: AskedAggregate) -> LoweredAggregates:
    """`percentile(x, part)`, optionally with frequencies."""
    asked.take(2, 3)
    column, part, *frequencies = asked.arguments
    if frequencies:
        return _of_counted(asked, column, part, frequencies[0])
    return _at_parts(asked, "percentile", column, part)


def _of_counted(
    asked: AskedAggregate, node: exp.Expression, part: exp.Expression, count: exp.Expression
) -> LoweredAggregates:
    """One or several percentiles of values with frequencies."""
    value, times = asked.double(node), asked.value(count)
    if not times.is_null and not times.type.type.is_integer:
        raise asked.mismatch(count, "an integer as frequency", times)
    number = coerced(times, Type.INT64)
    is_below = operators.comparison(exp.LT, number, constant(0, Type.INT64))
    failed = coerced(must("raised", constant("a frequency is not below zero", Type.STRING)), Type.INT64)
    pair = struct(["value", "count"], [value, case([(is_below, failed)], number)])
    are_there = [operators.logic(exp.Not, [is_null(part)]) for part in (value, number)]
    found = one("collect_list", case([(operators.logic(exp.And, are_there), pair)], None))
    parts = [_part(asked, one) for one in (part.expressions if isinstance(part, exp.Array) else [part])]

    def result(results: Sequence[Typed]) -> Typed:
        made = [attempt("percentile_of_counted", results[0], constant(one, Type.FLOAT64)) for one in parts]
        return _all_or_null(made) if isinstance(part, exp.Array) else made[0]

    return replace(found, result=result)


def _at_parts(
    asked: AskedAggregate, function: str, node: exp.Expression, part: exp.Expression, falls: bool = False
) -> LoweredAggregates:
    """One or several percentiles of a column; those of intervals are intervals."""
    result = asked.value(node)
    if not result.is_null and (span := result.type.type) in INTERVALS:
        return _of_spans(_at_parts_of(asked, function, attempt("units_of_interval", result), part, falls), span)
    column = asked.number_or_time(node) if asked.name == "approx_percentile" else asked.double(node)
    return _at_parts_of(asked, function, column, part, falls)


def _of_spans(found: LoweredAggregates, type_: Type) -> LoweredAggregates:
    """Aggregates of months or microseconds, whose results are intervals."""

    def result(results: Sequence[Typed]) -> Typed:
        return found.result([interval_of(coerced(units, Type.INT64), type_) for units in results])

    inputs = tuple(coerced(units, Type.FLOAT64) for units in found.inputs)
    return replace(found, inputs=inputs, result=result)


def _at_parts_of(
    asked: AskedAggregate, function: str, column: Typed, node: exp.Expression, falls: bool
) -> LoweredAggregates:
    if not isinstance(node, exp.Array):
        return one(function, column, parameters=(_part(asked, node), falls))
    if not node.expressions:
        raise asked.source.error(node, f"{asked.name} takes one percentage or more")
    calls = tuple(AggregateColumn(function, (0,), (_part(asked, part), falls)) for part in node.expressions)
    return LoweredAggregates((column,), calls, _all_or_null)


def _all_or_null(results: Sequence[Typed]) -> Typed:
    """Return the array of results, which are NULL together or not at all."""
    return case([(is_null(results[0]), coerced(NULL, (result := RULES["array"](*results)).type.type))], result)


def median(asked: AskedAggregate) -> LoweredAggregates:
    """Return the value in the middle."""
    asked.take(1, 1)
    return _at_parts(asked, "percentile", asked.arguments[0], exp.Literal.number("0.5"))


def within_group(function: str) -> Rule:
    """`percentile_cont(part) WITHIN GROUP (ORDER BY x)`."""

    def rule(asked: AskedAggregate) -> LoweredAggregates:
        asked.take(1, 1)
        if len(asked.order) != 1:
            raise asked.error(f"{asked.name} takes one column to order by", "WITHIN GROUP (ORDER BY column)")
        (ordered,) = asked.order
        falls = bool(ordered.args.get("desc"))
        return _at_parts(asked, function, ordered.this, asked.arguments[0], falls)

    return rule


def approx_percentile(asked: AskedAggregate) -> LoweredAggregates:
    """Return exact percentiles; the accuracy that they may have is checked alone."""
    asked.take(2, 3)
    column, part, *accuracy = asked.arguments
    for node in accuracy:
        value = asked.constant(node, Type.INT64, "the accuracy")
        if not isinstance(value, int) or not 0 < value < 1 << 31:
            raise asked.source.error(node, f"the accuracy of {asked.name} is from 1 to {(1 << 31) - 1}")
    return _at_parts(asked, "percentile_disc", column, part)


def _part(asked: AskedAggregate, node: exp.Expression) -> float:
    """Return the fraction of a percentile."""
    part = asked.constant(node, Type.FLOAT64, "the percentage")
    if not isinstance(part, float) or not 0 <= part <= 1:
        raise asked.source.error(
            node, f"the percentage of {asked.name} is from 0 to 1, not {asked.source.written(node)}"
        )
    return part

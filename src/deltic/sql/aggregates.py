"""Lowers SQL aggregates to aggregates of circuits over columns. Their semantics is Spark's.

Where Spark's result depends on the order of rows, the values decide here: `first` and `any_value` are the least value,
`last` the greatest, arrays and texts are in ascending order unless stated otherwise, and `mode` is the least of several
most frequent values. Approximate functions are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.errors import did_you_mean
from deltic.sql import percentiles
from deltic.sql.aggregate_calls import (
    ANONYMOUS,
    AggregateColumn,
    AskedAggregate,
    LoweredAggregates,
    Rule,
    Value,
    interval_of,
    one,
)
from deltic.sql.scalars import NULL, Typed, coerced, comparable, constant, operators
from deltic.sql.scalars.comparing import as_entries, of_entries
from deltic.sql.scalars.conditions import is_null
from deltic.sql.scalars.functions.collections import field, struct
from deltic.sql.scalars.functions.python import aggregate_called
from deltic.sql.scalars.functions.rules import RULES, apply, attempt
from deltic.sql.scalars.operators import INTERVALS, Mismatch, case
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Kind, Type


def is_aggregate(node: exp.Expression) -> bool:
    """Return whether a node is an aggregate, possibly with FILTER, WITHIN GROUP or IGNORE NULLS."""
    if isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        return True
    if isinstance(node, exp.Any):
        return node.arg_key != "expression" and not isinstance(node.this, exp.Query)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _CALLED or aggregate_called(node.name) is not None
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.Grouping | exp.GroupingId)


def in_order_of_rows(call: exp.Expression) -> exp.Expression | None:
    """Return what an aggregate of Spark has in the order of rows, where the call names no other; None for other
    aggregates.
    """
    if not is_aggregate(call):
        return None
    asked = AskedAggregate.of(call, lambda _: NULL, SourceText("", ""))
    is_listed = asked.name in ("collect_list", "first", "last", "string_agg") and not asked.order
    return asked.arguments[0] if is_listed and asked.arguments else None


def lowered(call: exp.Expression, value: Value, source: SourceText) -> LoweredAggregates:
    """Lower an aggregate with DISTINCT and FILTER; `value` gives the values of its arguments.

    Raises ProgramError at the place of an unsupported clause or an argument of the wrong type.
    """
    asked = AskedAggregate.of(call, value, source)
    rule = _own if aggregate_called(asked.name) else _RULES.get(asked.name)
    if rule is None:
        hint = _REFUSED.get(asked.name) or did_you_mean(asked.name, _RULES)
        raise source.error(call, f"the aggregate {asked.name} is not supported in a maintained view", hint)
    if asked.order and asked.name not in _ORDERED:
        raise source.error(call, f"{asked.name} takes no order of rows")
    if asked.is_distinct and asked.name in ("mode", "percentile_cont", "percentile_disc"):
        raise source.error(call, f"{asked.name} takes no DISTINCT", "select the distinct values in a subquery")
    try:
        result = rule(asked)
    except Mismatch as mismatch:
        raise source.error(call, f"{source.written(call)} is not defined here", mismatch.hint) from None
    if asked.is_distinct and not all(ACCUMULATORS[made.function].of_sets for made in result.calls):
        result = replace(result, inputs=tuple(map(comparable, result.inputs)), is_distinct=True)
    return _filtered(result, asked)


def _filtered(found: LoweredAggregates, asked: AskedAggregate) -> LoweredAggregates:
    """Restrict an aggregate to the rows where FILTER's condition is true, by NULL in its columns elsewhere."""
    if asked.condition is None:
        return found
    condition = asked.value(asked.condition)
    if condition.is_null or condition.type.type is not Type.BOOLEAN:
        given = "NULL" if condition.is_null else written(condition.type.type)
        raise asked.source.error(asked.condition, f"FILTER takes a condition, not {given}")
    inputs = found.inputs or (Typed(exp.Boolean(this=True), replace(condition.type, nullable=False)),)
    calls = tuple(replace(made, inputs=tuple(range(len(inputs)))) for made in found.calls)
    return replace(found, inputs=tuple(case([(condition, i)], None) for i in inputs), calls=calls)


def _count(asked: AskedAggregate) -> LoweredAggregates:
    if len(asked.arguments) == 1 and isinstance(asked.arguments[0], exp.Star):
        return one("count")
    asked.take(1, 1 << 10)
    inputs = [asked.any(argument) for argument in asked.arguments]
    return one("count_distinct" if asked.is_distinct and len(inputs) == 1 and _has_order(inputs) else "count", *inputs)


def _has_order(inputs: Sequence[Typed]) -> bool:
    return all(typed.type.type.is_ordered for typed in inputs)


def _count_if(asked: AskedAggregate) -> LoweredAggregates:
    asked.take(1, 1)
    condition = asked.condition_of(asked.arguments[0])
    return one(
        "count", case([(condition, Typed(exp.Boolean(this=True), replace(condition.type, nullable=False)))], None)
    )


def _sum(asked: AskedAggregate) -> LoweredAggregates:
    """Return the sum; one that does not fit is NULL for `try_sum`."""
    asked.take(1, 1)
    number = asked.number_or_interval(asked.arguments[0])
    if number.type.type.is_float:
        return one("sum", coerced(number, Type.FLOAT64))
    exact = "tried_sum" if _is_tried(asked) else "checked_sum"
    if number.type.type not in INTERVALS:
        return one(exact, number)
    total = one(exact, attempt("units_of_interval", number))

    def result(results: Sequence[Typed]) -> Typed:
        return replace(interval_of(results[0], number.type.type, _is_tried(asked)), modifier=number.modifier)

    return replace(total, result=result)


def _is_tried(asked: AskedAggregate) -> bool:
    return asked.name.startswith("try_")


def _avg(asked: AskedAggregate) -> LoweredAggregates:
    """Return the mean; one that does not fit is NULL for `try_avg`."""
    asked.take(1, 1)
    number = asked.number_or_interval(asked.arguments[0])
    if number.type.type in INTERVALS:
        return _mean_interval(number, _is_tried(asked))
    if number.type.type.kind is Kind.DECIMAL:
        return one("tried_decimal_mean" if _is_tried(asked) else "decimal_mean", number)
    return one("mean", number)


def _mean_interval(span: Typed, is_tried: bool) -> LoweredAggregates:
    """Return the mean of intervals, rounded to whole months or microseconds."""

    def mean(results: Sequence[Typed]) -> Typed:
        total, count = results
        return operators.arithmetic(exp.Div, interval_of(total, span.type.type, is_tried), count)

    calls = AggregateColumn("tried_sum" if is_tried else "checked_sum", (0,)), AggregateColumn("count", (0,))
    return LoweredAggregates((attempt("units_of_interval", span),), calls, mean)


Taken = Callable[[AskedAggregate, exp.Expression], Typed]
"""How an argument is taken."""


def _of(function: str, *takes: Taken, most: int = 0) -> Rule:
    """Return a single aggregate whose arguments are read by these methods; arguments up to `most` are ignored."""

    def rule(asked: AskedAggregate) -> LoweredAggregates:
        asked.take(len(takes), max(most, len(takes)))
        return one(function, *(take(asked, argument) for take, argument in zip(takes, asked.arguments, strict=False)))

    return rule


def _of_doubles(function: str, count: int) -> Rule:
    """Return a function of this many columns of DOUBLE."""
    return _of(function, *[AskedAggregate.double] * count)


def _of_maps(rule: Rule) -> Rule:
    """Return a rule whose first argument may have maps, too."""

    def over_entries(asked: AskedAggregate) -> LoweredAggregates:
        maps: list[Type] = []

        def value(node: exp.Expression) -> Typed:
            result = asked.value(node)
            if result.is_null or result.type.type.is_ordered or node is not asked.arguments[0]:
                return result
            maps.append(result.type.type)
            return as_entries(comparable(result) if asked.is_distinct or asked.name == "mode" else result)

        found = rule(replace(asked, value=value))
        if not maps:
            return found
        return replace(found, result=lambda results: of_entries(found.result(results), maps[0]))

    return over_entries


def _collect(asked: AskedAggregate) -> LoweredAggregates:
    asked.take(1, 1)
    function = "collect_set" if asked.is_distinct else asked.name
    return one(function, asked.ordered(asked.arguments[0]))


def _collect_union(asked: AskedAggregate) -> LoweredAggregates:
    """Return the different elements of all arrays, without NULL."""
    asked.take(1, 1)
    (argument,) = asked.arguments
    found = one("collect_set", asked.one_of(argument, "an array", lambda t: t.kind is Kind.ARRAY, _NO_ARRAY))

    def result(results: Sequence[Typed]) -> Typed:
        united = RULES["flatten"](results[0])
        return RULES["array_distinct"](RULES["array_compact"](united))

    return replace(found, result=result)


_NO_ARRAY = Type.array(Type.BOOLEAN.or_null)


def _extreme_by(asked: AskedAggregate) -> LoweredAggregates:
    asked.take(2, 3)
    value, key = map(asked.ordered, asked.arguments[:2])
    if not asked.arguments[2:]:
        return one(asked.name, value, key)
    count = asked.constant(asked.arguments[2], Type.INT32, "the number of values")
    if not isinstance(count, int) or not 0 < count <= _MOST_BY:
        raise asked.error(f"the number of values of {asked.name} is from 1 to {_MOST_BY:,}")
    return _several_by(asked.name == "max_by", value, key, count)


_MOST_BY = 100_000


def _several_by(falls: bool, value: Typed, key: Typed, count: int) -> LoweredAggregates:
    """Return the array of n values with the least or greatest keys, the extreme first."""
    pair = struct(["key", "value"], [key, value])
    found = one("collect_list", case([(operators.logic(exp.Not, [is_null(key)]), pair)], None))

    def result(results: Sequence[Typed]) -> Typed:
        pairs = attempt("array_reverse", results[0]) if falls else results[0]
        bounds = (constant(number, Type.INT32) for number in (1, count))
        return field(attempt("slice", pairs, *bounds), "value")

    return replace(found, result=result)


def _string_agg(asked: AskedAggregate) -> LoweredAggregates:
    asked.take(1, 2)
    text, *separators = asked.arguments
    result = asked.value(text)
    type_ = Type.BINARY if result.type.type is Type.BINARY else Type.STRING
    if result.type.type.is_composite:
        raise asked.mismatch(text, "texts", result)
    separator = asked.constant(separators[0], type_, "the delimiter") if separators else None
    if asked.is_distinct and any(ordered.this != text for ordered in asked.order):
        raise asked.error("with DISTINCT, the texts themselves are ordered", "order by the first argument")
    orders = [comparable(asked.ordered(ordered.this)) for ordered in asked.order]
    directions = tuple(map(direction, asked.order))
    if type_ is Type.STRING:
        return one("string_agg", coerced(result, type_), *orders, parameters=(str(separator or ""), *directions))
    between = separator.hex().upper() if isinstance(separator, bytes) else ""
    found = one("string_agg", attempt("hex_bytes", result), *orders, parameters=(between, *directions))
    return replace(found, result=lambda results: attempt("unhex", results[0]))


def direction(ordered: exp.Ordered) -> str:
    """Return the direction of a sort key as text."""
    way = "DESC" if ordered.args.get("desc") else "ASC"
    return f"{way} NULLS {'FIRST' if ordered.args.get('nulls_first') else 'LAST'}"


def _bitmap(asked: AskedAggregate) -> LoweredAggregates:
    """Return a bitmap of positions, or the union or intersection of bitmaps."""
    asked.take(1, 1)
    (argument,) = asked.arguments
    if asked.name == "bitmap_construct_agg":
        value = asked.typed(argument, Type.INT64)
    else:
        value = asked.one_of(argument, "bitmaps", lambda type_: type_ is Type.BINARY, Type.BINARY)
    found = one("collect_set", value)
    return replace(found, result=lambda results: apply(asked.name, *results))


def _approx_count(asked: AskedAggregate) -> LoweredAggregates:
    """Return the exact count; the error that it may have is checked alone."""
    asked.take(1, 2)
    column, *errors = asked.arguments
    for node in errors:
        value = asked.constant(node, Type.FLOAT64, "the error")
        if not isinstance(value, float) or not 0 < value <= 0.39:
            raise asked.source.error(node, f"the error of {asked.name} is above 0, and at most 0.39")
    return one("count_distinct", asked.ordered(column))


def _mode(asked: AskedAggregate) -> LoweredAggregates:
    if asked.order:
        asked.take(0, 0)
        (ordered, *others) = asked.order
        if others:
            raise asked.error("mode takes one column to order by", "WITHIN GROUP (ORDER BY column)")
        return one("mode", asked.ordered(ordered.this), parameters=(bool(ordered.args.get("desc")),))
    asked.take(1, 2)
    for is_least in asked.arguments[1:]:
        asked.constant(is_least, Type.BOOLEAN, "the second argument")
    return one("mode", asked.ordered(asked.arguments[0]), parameters=(False,))


def _own(asked: AskedAggregate) -> LoweredAggregates:
    """Return a user-defined aggregate."""
    own = aggregate_called(asked.name)
    assert own is not None
    asked.take(len(own.of), len(own.of))
    column = next((column for column in own.of if column.nullable), None)
    if column is not None:
        message = f"{asked.name} takes NULL in {column.name}, and in SQL aggregates pass over NULL"
        raise asked.error(message, f"declare its type without ?, and write coalesce({column.name}, …)")
    pairs = zip(asked.arguments, own.of, strict=True)
    return one(own.accumulator, *(asked.typed(argument, column.type) for argument, column in pairs))


_ORDERED = ("mode", "percentile_cont", "percentile_disc", "string_agg")
_RULES: dict[str, Rule] = {
    "count": _count,
    "count_if": _count_if,
    "approx_count_distinct": _approx_count,
    **dict.fromkeys(("sum", "try_sum"), _sum),
    **dict.fromkeys(("avg", "try_avg"), _avg),
    "min": _of("min", AskedAggregate.ordered),
    "max": _of("max", AskedAggregate.ordered),
    **dict.fromkeys(("first", "any_value"), _of_maps(_of("min", AskedAggregate.ordered, most=2))),
    "last": _of_maps(_of("max", AskedAggregate.ordered, most=2)),
    "bool_and": _of("min", AskedAggregate.condition_of),
    "bool_or": _of("max", AskedAggregate.condition_of),
    **{name: _of(name, AskedAggregate.integer) for name in ("bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(("bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg"), _bitmap),
    **{name: _of_doubles(name, 1) for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")},
    **{name: _of_doubles(name, 1) for name in ("skewness", "kurtosis")},
    **{
        name: _of_doubles(name, 2)
        for name in ("covar_pop", "covar_samp", "corr", *(n for n in ACCUMULATORS if n.startswith("regr_")))
    },
    "regr_count": _of_doubles("count", 2),
    "collect_list": _of_maps(_collect),
    "collect_set": _collect,  # of maps refused, as by Spark
    "collect_union": _collect_union,
    **dict.fromkeys(("min_by", "max_by"), _of_maps(_extreme_by)),
    "string_agg": _string_agg,
    "percentile": percentiles.percentile,
    "median": percentiles.median,
    "percentile_cont": percentiles.within_group("percentile"),
    "percentile_disc": percentiles.within_group("percentile_disc"),
    "approx_percentile": percentiles.approx_percentile,
    "mode": _of_maps(_mode),
}
AGGREGATES = tuple(sorted(_RULES))
"""The names of the aggregates, for the documentation."""
_REFUSED = {
    "histogram_numeric": "count by intervals: GROUP BY floor(x / width)",
    "count_min_sketch": "exact counts are maintained: GROUP BY",
}
"""Aggregates that are no others under another name, with what to write instead."""
_CALLED = {*ANONYMOUS, *_RULES, *_REFUSED}
"""The names of aggregates that sqlglot may not know."""

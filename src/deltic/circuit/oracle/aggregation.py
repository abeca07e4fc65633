"""The meaning of aggregates on one group: what every engine must agree with, to the last bit.

Sums and means of floats do not depend on any order, nor on what was there before: they are the exact values, rounded
once to the nearest float.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from deltic.algebra.indexed import IndexedZSet
from deltic.algebra.zset import ZSet
from deltic.circuit.operators.aggregate import Aggregate, AggregateCall
from deltic.circuit.types import Schema, Type
from deltic.circuit.values import in_order
from deltic.circuit.values.numbers import wrap

Row = tuple[Any, ...]
Rows = ZSet[Row]
Totals = Mapping[Any, int]  # the values of a column, NULL left out, with their weights added up; no zeros


def aggregate(op: Aggregate, rows: Rows, schema: Schema) -> Rows:
    """The set of the groups of `rows`, which are of `schema`: their keys and aggregates."""
    positions = [schema.index(key) for key in op.keys]
    groups = IndexedZSet.by(rows, lambda row: tuple(row[i] for i in positions))
    there = ((key, group) for key, group in groups if sum(weight for _, weight in group) > 0)
    return ZSet.of((*key, *(_value(call, group, schema) for call in op.calls)) for key, group in there)


def _value(call: AggregateCall, group: Rows, schema: Schema) -> Any:
    if not call.column:
        return sum(weight for _, weight in group)
    index = schema.index(call.column)
    totals = _totals((row[index], weight) for row, weight in group if row[index] is not None)
    if call.function != "count" and not totals:
        return None
    return VALUES[call.function](totals, schema.columns[index].type)


def _totals(pairs: Iterable[tuple[Any, int]]) -> Totals:
    totals: dict[Any, int] = defaultdict(int)
    for value, weight in pairs:
        totals[value] += weight
    return {value: weight for value, weight in totals.items() if weight}


def _sum(totals: Totals, type_: Type) -> Any:
    if type_ is not Type.FLOAT64:
        return wrap(sum(value * weight for value, weight in totals.items()), type_)
    return _rounded(totals, 1)


def _mean(totals: Totals, type_: Type) -> float | None:
    count = sum(totals.values())
    return _rounded(totals, count) if count > 0 else None


def _rounded(totals: Totals, divisor: int) -> float:
    """The weighted sum, divided, as the nearest float; infinite where that is out of range, as IEEE 754 has it."""
    special = [value * weight for value, weight in totals.items() if not math.isfinite(value)]
    if special:
        return math.nan if math.isnan(sum(special)) else sum(special)
    exact = sum((Fraction(value) * weight for value, weight in totals.items()), Fraction()) / divisor
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _extreme(pick: Callable[..., Any]) -> Callable[[Totals, Type], Any]:
    def of(totals: Totals, type_: Type) -> Any:
        present = [value for value, weight in totals.items() if weight > 0]
        return _plain(pick(present, key=in_order)) if present else None

    return of


def _plain(value: Any) -> Any:
    """The value; zero for the negative zero, which is equal to it."""
    return value + 0.0 if isinstance(value, float) and not math.isnan(value) else value


VALUES: dict[str, Callable[[Totals, Type], Any]] = {
    "count": lambda totals, type_: sum(totals.values()),
    "sum": _sum,
    "min": _extreme(min),
    "max": _extreme(max),
    "mean": _mean,
}

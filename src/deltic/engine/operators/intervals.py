"""From a change to the intervals of another relation's values whose rows it affects; see `plan.intervals`."""

from __future__ import annotations

import numpy as np

from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.operators.numbers import Array
from deltic.engine.plan.plan import Intervals, ValueBound
from deltic.engine.storage.columns import GREATEST, LEAST, Values
from deltic.engine.storage.run import NO_TIMES, Run, Weights, Words, are_new
from deltic.program.queries import variable_name
from deltic.values.types import Kind, Type


def intervals_of(intervals: Intervals, columns: Columns, groups: Words, weights: Weights) -> Run:
    """Return the intervals of changed rows; `groups` are the offsets of the columns that are kept."""
    least, greatest = np.full(columns.count, LEAST), np.full(columns.count, GREATEST)
    there = np.ones(columns.count, bool)
    unit = columns.types[variable_name(intervals.least)]
    for bound in intervals.bounds:
        ends, known = _ends(bound, columns, unit)
        there &= known
        if bound.above:
            np.maximum(least, ends, out=least, where=known)
        else:
            np.minimum(greatest, ends, out=greatest, where=known)
    rows = np.flatnonzero(there & (least <= greatest))
    return _summed(groups[:, rows], least[rows], greatest[rows], weights[rows])


def _ends(bound: ValueBound, columns: Columns, unit: Type) -> tuple[Values, Array]:
    """Return the last value of a type that meets the bound in each row, and where there is one."""
    array, nulls = scalar.evaluate(bound.value, columns)
    digits = _scale(unit) - _scale(columns.node(bound.value).result)
    is_safe = digits <= 0 and array.dtype != object and array.min(initial=0) > LEAST and array.max(initial=0) < GREATEST
    exact = array.astype(np.int64) if is_safe else array.astype(object) * 10 ** max(0, digits)
    divisor = 10 ** max(0, -digits)
    if bound.above:
        ends = exact // divisor + 1 if bound.strict else -(-exact // divisor)
    else:
        ends = -(-exact // divisor) - 1 if bound.strict else exact // divisor
    known = (ends <= GREATEST) if bound.above else (ends >= LEAST)
    return np.clip(ends, LEAST, GREATEST).astype(np.int64), known.astype(bool) & (True if nulls is None else ~nulls)


def _scale(type_: Type) -> int:
    return type_.scale if type_.kind is Kind.DECIMAL else 0


def _summed(groups: Words, least: Values, greatest: Values, weights: Weights) -> Run:
    """Return the intervals with the sums of their weights where these are not 0, disjoint within a group of rows.

    The weight of a row begins at its least value, and ends after its greatest.
    """
    ends = np.flatnonzero(greatest < GREATEST)
    groups = np.concatenate([groups, groups[:, ends]], axis=1)
    values = np.concatenate([least, greatest[ends] + 1])
    weights = np.concatenate([weights, -weights[ends]])
    order = np.lexsort((values, *groups[::-1]))
    groups, values, weights = groups[:, order], values[order], weights[order]
    first = are_new(tuple(groups)) if len(groups) else np.arange(len(values)) == 0
    sums = np.cumsum(weights)
    sums -= np.repeat((sums - weights)[first], np.diff(np.flatnonzero(np.append(first, True))))
    until, ended = np.full(len(values), GREATEST), np.flatnonzero(~first[1:])
    until[ended] = values[ended + 1] - 1
    kept = sums != 0
    kept[ended] &= values[ended] < values[ended + 1]
    offsets = (column[kept].view(np.uint64) ^ np.uint64(1 << 63) for column in (values, until))
    return Run(np.vstack([groups[:, kept], *offsets]), NO_TIMES, sums[kept])

"""The rows of a group that determine a result: those with the extreme, in a window frame, or before a row of top-k.

Window functions number the rows, and find the first and the last row of each frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from deltic.circuit import operators as ops
from deltic.circuit.operators.over import PARTITION, SHIFTS, Frame, Unit, WindowCall
from deltic.values.types import Column, Schema, Type
from deltic.why.bound import Row, Rows, same

Evaluate = Callable[[ops.Operator, Rows, Schema], Rows]
"""Applies an operator to rows with these columns."""

_AT = "%at"


def deciding(operator: ops.Operator, row: Row, group: Rows, schema: Schema, evaluate: Evaluate) -> tuple[str, Rows]:
    """Return the rows of a group that determine a row of the operator's output, and a text about them.

    `schema` is that of the group's rows; `evaluate` applies an operator to rows.
    """
    if isinstance(operator, ops.Top):
        stretch = _leading(operator, row, group, schema, evaluate)
        return f"; this is row {stretch.at:,}", Counter(stretch.rows)
    if isinstance(operator, ops.Over):
        stretch, own = _seen(operator, row, group, schema, evaluate), row[: len(schema)]
        last = stretch.first + len(stretch.rows) - 1
        message = f"; this is row {stretch.at:,}, its frames are rows {stretch.first:,} to {last:,}"
        return message, {own: 0} | Counter(stretch.rows)
    if isinstance(operator, ops.Aggregate):
        chosen = _extreme(operator, row, group, schema)
        return f", {len(chosen):,} decide" if len(chosen) < len(group) else "", chosen
    return "", group


def _extreme(operator: ops.Aggregate, row: Row, group: Rows, schema: Schema) -> Rows:
    """Return the rows with an extreme value of one of the calls, once each; all rows if other functions are called."""
    if not operator.calls or not all(call.function in ("min", "max") for call in operator.calls):
        return group
    extremes = list(zip((schema.index(call.column) for call in operator.calls), row[len(operator.keys) :], strict=True))
    return {each: 1 for each in group if any(same(each[place], value) for place, value in extremes)}


class _Stretch(NamedTuple):
    """Consecutive rows of a partition, from number `first` on; the row itself has number `at`."""

    rows: list[Row]
    first: int
    at: int


def _seen(operator: ops.Over, row: Row, group: Rows, schema: Schema, evaluate: Evaluate) -> _Stretch:
    """Return the consecutive rows that contain all window frames of a row."""
    numbered = _numbered(operator, group, schema, evaluate)
    ends = [
        WindowCall(function, (_AT,), f"%{function}{i}", frame=_frame(call))
        for i, call in enumerate(operator.calls)
        for function in ("min", "max")
    ]
    framed = ops.Over(operator.keys, operator.order, (*operator.calls, *ends))
    columns = Schema((*schema.columns, Column(_AT, Type.INT32)))
    width, values = len(schema) + 1, len(schema) + 1 + len(operator.calls)
    own = (each for each in evaluate(framed, numbered, columns) if (*each[: width - 1], *each[width:values]) == row)
    result = next(own)
    places = [result[width - 1], *(place for place in result[values:] if place is not None)]
    return _stretch(numbered, min(places), max(places), result[width - 1])


def _leading(operator: ops.Top, row: Row, group: Rows, schema: Schema, evaluate: Evaluate) -> _Stretch:
    """Return the row itself with the rows before it that the offset skips."""
    numbered = _numbered(operator, group, schema, evaluate)
    at = next(
        number for *own, number in sorted(numbered, key=lambda each: each[-1] <= operator.offset) if (*own,) == row
    )
    return _stretch(numbered, at - operator.offset, at, at)


def _numbered(operator: ops.Over | ops.Top, group: Rows, schema: Schema, evaluate: Evaluate) -> Rows:
    """Return the rows of a partition with their numbers, from one on."""
    number = WindowCall("row_number", (), _AT)
    return evaluate(ops.Over(operator.keys, operator.order, (number,)), group, schema)


def _stretch(numbered: Rows, first: int, last: int, at: int) -> _Stretch:
    rows = sorted((row for row in numbered if first <= row[-1] <= last), key=lambda row: row[-1])
    return _Stretch([row[:-1] for row in rows], first, at)


def _frame(call: WindowCall) -> Frame:
    """Return the rows on which the value of a call depends, as a frame."""
    if call.frame is not None:
        return call.frame
    if call.function in ("row_number", "rank", "dense_rank"):
        return Frame(Unit.ROWS, None, 0)
    if call.function in SHIFTS and call.reach is not None:
        back, ahead = call.reach
        return Frame(Unit.ROWS, -back, ahead)
    return PARTITION

"""Window functions of SQL as functions of circuits: names, arguments, default frames, and what is refused where.

Catches a frame that is not SQL's own, a number that is read as another, and an error that points to the wrong place.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
import sqlglot

from deltic.circuit import operators as ops
from deltic.errors import ProgramError
from deltic.sql.scalars import Typed, typed
from deltic.sql.text import SourceText
from deltic.sql.windows import lowered_window
from deltic.values.types import Schema, Type

COLUMNS = Schema.of(
    x=Type.INT32.or_null, f=Type.FLOAT64, d=Type.DATE.or_null, t=Type.TIMESTAMP, n=Type.decimal(5, 2), s=Type.STRING
).value_types


def window(text):
    """What a window function becomes, each call with its columns by their numbers."""
    whole = f"SELECT {text} FROM r"
    node = sqlglot.parse_one(whole, dialect="spark").expressions[0]
    source = SourceText(whole)

    def value(part):
        return typed(part, lambda c: Typed(c, COLUMNS[c.name]), source)

    order = [value(key.this) for key in node.args["order"].expressions] if node.args.get("order") else []
    found = lowered_window(node, order, value, source)
    return found, [str(call.over([f"c{i}" for i in call.inputs], "r")) for call in found.calls]


SHAPES = {
    "row_number() OVER (ORDER BY x)": "row_number() AS r",
    "ntile(4) OVER (ORDER BY x)": "ntile(; 4) AS r",
    "lag(s) OVER (ORDER BY x)": "lag(c0; 1) AS r",
    "lag(x, 1 + 1, 0) OVER (ORDER BY x)": "lag(c0, c1; 2) AS r",
    "lead(x, 3) IGNORE NULLS OVER (ORDER BY x)": "lead(c0; 3) IGNORE NULLS AS r",
    "first(s) OVER ()": "first_value(c0) ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING AS r",
    "last_value(s) OVER (ORDER BY x)": "last_value(c0) RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS r",
    "nth_value(s, 2) OVER (ORDER BY x ROWS 3 PRECEDING)": (
        "nth_value(c0; 2) ROWS BETWEEN 3 PRECEDING AND CURRENT ROW AS r"
    ),
    "count(*) OVER (PARTITION BY s)": "count(*) ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING AS r",
    "max(f) OVER (ORDER BY n RANGE BETWEEN 1.5 PRECEDING AND 2 FOLLOWING)": (
        "max(c0) RANGE BETWEEN 1.5 PRECEDING AND 2 FOLLOWING AS r"
    ),
    "max(f) OVER (ORDER BY d RANGE BETWEEN INTERVAL '7' DAY PRECEDING AND CURRENT ROW)": (
        "max(c0) RANGE BETWEEN 7 PRECEDING AND CURRENT ROW AS r"
    ),
    "max(f) OVER (ORDER BY t RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)": (
        "max(c0) RANGE BETWEEN 3600000000 PRECEDING AND CURRENT ROW AS r"
    ),
    "max(f) OVER (ORDER BY t RANGE BETWEEN INTERVAL '2' MONTH PRECEDING AND UNBOUNDED FOLLOWING)": (
        "max(c0) RANGE MONTHS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING AS r"
    ),
}


@pytest.mark.parametrize("text", SHAPES)
def test_what_windows_become(text):
    found, calls = window(text)
    assert calls == [SHAPES[text]]
    assert len(found.inputs) == len(found.calls[0].inputs)


def test_a_distance_is_read_exactly():
    found, _ = window("sum(x) OVER (ORDER BY f RANGE BETWEEN 0.1 PRECEDING AND 1e0 FOLLOWING)")
    assert found.calls[0].frame == ops.Frame(ops.Unit.RANGE, Decimal("-0.1"), Decimal(1))


REFUSED = {
    "rank() OVER (PARTITION BY x)": (8, "rank needs an order"),
    "lag(x, x) OVER (ORDER BY x)": (15, "the number of rows is a constant that is not NULL"),
    "lag(x, 1, d) OVER (ORDER BY x)": (18, "the default of lag has to be INT, and d is DATE"),
    "ntile(0) OVER (ORDER BY x)": (14, "the number of buckets is above zero"),
    "count(DISTINCT x) OVER (ORDER BY x)": (8, "cannot be DISTINCT"),
    "first(x) FILTER (WHERE x > 1) OVER (ORDER BY x)": (8, "FILTER of first(x) is not supported"),
    "upper(s) OVER (ORDER BY x)": (8, "upper is not a window function"),
    "sum(x) OVER (ORDER BY x, s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)": (49, "needs one column to order by"),
    "sum(x) OVER (ORDER BY s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)": (46, "in values of STRING cannot be that"),
    "sum(x) OVER (ORDER BY x ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING)": (45, "the frame ends before it starts"),
    "sum(x) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND 1 FOLLOWING)": (55, "by months or by days"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_have_a_place(text):
    with pytest.raises(ProgramError) as error:
        window(text)
    (diagnostic,) = error.value.diagnostics
    column, message = REFUSED[text]
    assert message in diagnostic.message
    assert diagnostic.column == column

"""Functions of SQL over random rows against what Spark answered, see ask_spark.py: as views, and for single values.

Catches a function that is wrong for an edge of its arguments, a kernel that sees a value otherwise than the
definition for single values, and NULL or an error in the place of one another.
"""

from __future__ import annotations

import math

import pytest

from tests.sql.scalars.ask_spark import ROWS, recorded
from tests.sql.scalars.calls import CALLS, rows_for
from tests.sql.scalars.replayed import UNDEFINED, agree, as_view, one_by_one, spelled_by_spark

ANSWERS = recorded()
# What stays another, see "Limits" in docs/sql-functions.md.
DIFFERENT = {
    **dict.fromkeys(
        ("format_string('%s|%10s|%-8s', s, k, t)", "format_string('%S|%10S|%2$s', s, t)"),
        "a letter beyond the first 65,536 fills one place, in Java two",
    ),
    **dict.fromkeys(
        ("try_to_number(num, 'S9,999')", "decimal(num)", "cast(num as decimal(10, 2))"), "digits are ASCII's"
    ),
    **dict.fromkeys(("from_unixtime(l)", "unix_timestamp(day, 'yyyy-MM-dd')"), "times are of the years 1 to 9999"),
    "string(a)": "texts are in UTF-8, so other bytes are none",
}


def known(call: str) -> tuple[str, list[tuple[tuple[object, ...], object]]]:
    """The type of a call, and rows with Spark's values; without those that PySpark cannot show, and without -0.0."""
    _, type_, answers = ANSWERS[call]
    rows = zip(rows_for(call, ROWS), (answer[-1] for answer in answers), strict=True)
    return type_, [
        (row, value) for row, value in rows if value != {"error": "YEAR"} and not any(map(_is_minus_zero, row))
    ]


def _is_minus_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_what_it_is_in_spark(call: str) -> None:
    type_, rows = known(call)
    found, values = as_view(call, [row for row, _ in rows])
    different = [(row, spark, ours) for (row, spark), ours in zip(rows, values, strict=True) if not agree(spark, ours)]
    assert found == spelled_by_spark(type_)
    assert bool(different) == (call in DIFFERENT), different[:3]
    single = one_by_one(call, [row for row, _ in rows])
    assert [given for given in zip(rows, values, single, strict=True) if given[1] != given[2]] == []


def test_conv_ends_for_a_number_of_more_than_64_bits() -> None:
    # Spark: ARITHMETIC_OVERFLOW. The value behind the check is computed, too.
    assert as_view("conv(num, 16, -10)", [("18446744073709551615",)])[1] == [UNDEFINED]

"""Parsing and formatting intervals: `1-2` as YEAR TO MONTH, `1 02:03:04.5` as DAY TO SECOND, and shorter forms."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from functools import cache

from deltic.functions.function import FUNCTIONS, Function, by_rows
from deltic.functions.times import SPANS
from deltic.values.types import Type

FIELDS = ("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND")
"""The fields of the two kinds of intervals, the greatest first."""
_SEPARATORS = {"MONTH": "-", "HOUR": r"[ T]", "MINUTE": ":", "SECOND": ":"}
_MICROSECOND = timedelta(microseconds=1)
MONTHS = {"YEAR": 12, "MONTH": 1}
UNITS = {**MONTHS, **{name: SPANS[name] // _MICROSECOND for name in FIELDS[1]}}
"""How many months or microseconds a field counts."""


def between(first: str, last: str) -> tuple[str, ...]:
    """Return the fields of an interval type from first to last; empty where there is no such type."""
    kind = next((fields for fields in FIELDS if first in fields and last in fields), ())
    return kind[kind.index(first) : kind.index(last) + 1] if kind else ()


@cache
def pattern_of(first: str, last: str) -> str:
    """Return the regular expression of a text with these fields."""
    fields = between(first, last)
    numbers = ["([0-9]+(?:[.][0-9]+)?)" if field == "SECOND" else "([0-9]+)" for field in fields]
    rest = (_SEPARATORS[field] + number for field, number in zip(fields[1:], numbers[1:], strict=True))
    return rf"\s*([+-]?){numbers[0]}{''.join(rest)}\s*"


@cache
def _form(first: str, last: str) -> re.Pattern[str]:
    """Return the text of an interval, or its literal, whose own sign may stand before it."""
    fields = first if first == last else rf"{first}\s+TO\s+{last}"
    own = pattern_of(first, last)
    return re.compile(rf"{own}|\s*INTERVAL\s*([+-]?)\s*'{own}'\s*{fields}\s*", re.IGNORECASE | re.ASCII)


def _units(text: str, first: str, last: str) -> int | None:
    """Parse an interval to months or microseconds; None for another form."""
    result = _form(first, last).fullmatch(text)
    if result is None:
        return None
    fields = between(first, last)
    groups = result.groups()
    plain, outer, quoted = groups[: len(fields) + 1], groups[len(fields) + 1], groups[len(fields) + 2 :]
    sign, *amounts = plain if plain[1] is not None else quoted
    if any(int(amount) >= MOST[field] for field, amount in zip(fields[1:], map(_whole, amounts[1:]), strict=True)):
        return None
    total = sum(Decimal(amount) * UNITS[field] for field, amount in zip(fields, amounts, strict=True))
    return int(-total if (sign == "-") is not (outer == "-") else total)


MOST = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}
"""What fields after the first are below."""


def _whole(amount: str) -> int:
    return int(Decimal(amount))


def _months(text: str, first: str, last: str) -> int | None:
    months = _units(text, first, last)
    return months if months is not None and -(2**31) <= months < 2**31 else None


def _span(text: str, first: str, last: str) -> timedelta | None:
    units = _units(text, first, last)
    return timedelta(microseconds=units) if units is not None and -(2**63) <= units < 2**63 else None


def written(span: int | timedelta, first: str, last: str) -> str:
    """Format an interval with these fields; the first one absorbs greater units."""
    units = span if isinstance(span, int) else span // _MICROSECOND
    rest, text = abs(units), "-" if units < 0 else ""
    for field in between(first, last):
        amount, rest = divmod(rest, UNITS[field])
        sign = "" if field == first else _SIGNS[field]
        text += f"{sign}{amount:02}" if field in _OF_TWO_DIGITS else f"{sign}{amount}"
    fraction = f".{rest:06}".rstrip("0") if last == "SECOND" and rest else ""
    return f"INTERVAL '{text}{fraction}' {first}" + (f" TO {last}" if first != last else "")


_SIGNS = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}
_OF_TWO_DIGITS = ("HOUR", "MINUTE", "SECOND")

FUNCTIONS |= by_rows(
    "no library reads the SQL standard's intervals as Spark does",
    {
        "read_months": Function(Type.YEAR_MONTH_INTERVAL, python=_months, partial=True),
        "written_interval": Function(Type.STRING, python=written),
        "read_span": Function(Type.DAY_TIME_INTERVAL, python=_span, partial=True),
    },
)

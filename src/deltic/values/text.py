"""Values of rows as Python literals, in which the text of a circuit writes constants.

Numbers, texts, bytes and truth values are literals themselves; dates, times and decimals are written as texts,
day-time intervals as a number of microseconds; arrays, structs and maps are tuples of their parts.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from deltic.values.python import of_python
from deltic.values.types import Column, Kind, Type

_MICROSECOND = timedelta(microseconds=1)
_TIMES: dict[Kind, type[date] | type[time]] = {
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
    Kind.TIMESTAMP_NTZ: datetime,
    Kind.TIME: time,
}


def to_literal(value: Any, type_: Type) -> Any:
    """Return a value from a row as a literal."""
    if value is None or not isinstance(value, date | time | timedelta | Decimal | tuple):
        return value
    if isinstance(value, tuple):
        return tuple(to_literal(part, of) for part, of in zip(value, _parts(type_, len(value)), strict=True))
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    return value.isoformat() if isinstance(value, date | time) else str(value)


def of_literal(literal: Any, type_: Type) -> Any:
    """Return the inverse of `to_literal`; ValueError for a text that is no date or time."""
    if literal is None:
        return None
    if isinstance(literal, tuple):
        return tuple(of_literal(part, of) for part, of in zip(literal, _parts(type_, len(literal)), strict=True))
    if type_.kind in _TIMES and isinstance(literal, str):
        return of_python(_TIMES[type_.kind].fromisoformat(literal), type_)
    if type_ is Type.DAY_TIME_INTERVAL:
        return literal * _MICROSECOND
    return Decimal(literal) if type_.kind is Kind.DECIMAL else literal


@lru_cache(maxsize=4096)
def of_exact_text(text: str, type_: Type) -> Any:
    """The decimal of exactly this type, date or time that `str` writes so; None where the text is another one."""
    try:
        if type_.kind is Kind.DECIMAL:
            number = Decimal(text)
            exact = number.is_finite() and number.as_tuple().exponent == -type_.scale and f"{number:f}" == text
            return number if exact and len(number.as_tuple().digits) <= type_.precision else None
        if (of_text := _TIMES.get(type_.kind)) is None:
            return None
        value, zone = of_text.fromisoformat(text), UTC if type_ is Type.TIMESTAMP else None
        return value if str(value) == text and getattr(value, "tzinfo", None) == zone else None
    except (ValueError, InvalidOperation):
        return None


def _parts(type_: Type, count: int) -> list[Type]:
    """Return the types of the `count` parts of a composite value."""
    if type_.kind is Kind.STRUCT:
        return [column.type for column in type_.fields]
    if type_.kind is Kind.ARRAY:
        return [type_.element.type] * count
    return [Type.struct(_entry(type_))] * count


def _entry(type_: Type) -> list[Column]:
    """Return the two fields of a map's entries."""
    return [Column("key", type_.key), Column("value", type_.value.type, type_.value.nullable)]

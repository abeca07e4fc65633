"""Rounds values to the nearest ones that a column holds: what `coerce=True` asks for.

Numbers go to the nearest one, halves away from zero; a float has the value of its shortest decimal text. A time becomes
its date, or loses its nanoseconds. Texts are read as in files of delimited text. A value that has no nearest one, such
as a number out of range, becomes null, and its row is refused.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.errors import count_of
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.text_fields import BLANKS, DECIMAL, TextField, convert, pattern_of
from deltic.pipeline.io.values import problem
from deltic.values import to_arrow
from deltic.values.numbers import round_float, to_decimal
from deltic.values.python import as_decimal
from deltic.values.types import Column, Kind, Type

_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
_AT_ONCE = 9
_GUARD = 18
"""Digits after a decimal's last one that decide how it is rounded: a float has 17 digits."""


@dataclass(frozen=True)
class RoundedValues:
    """How many values of a column were rounded, and the first of them before and after."""

    count: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{count_of(self.count, 'value')} rounded, such as {self.before} to {self.after}"


class Rounding:
    """Rounds values, and counts by column those that it changes."""

    def __init__(self) -> None:
        self.columns: dict[str, RoundedValues] = {}

    @classmethod
    def total(cls, parts: Iterable[Mapping[str, RoundedValues] | None]) -> dict[str, RoundedValues]:
        """Return the counts of several parts together."""
        result = cls()
        for part in parts:
            result.add(part or {})
        return result.columns

    def add(self, others: Mapping[str, RoundedValues]) -> None:
        """Count the rounded values of other columns, or of other rows."""
        for column, more in others.items():
            known = self.columns.get(column)
            self.columns[column] = more if known is None else replace(known, count=known.count + more.count)

    def taken(self) -> dict[str, RoundedValues]:
        """Return the counts, and begin again."""
        result, self.columns = self.columns, {}
        return result

    def nearest(self, values: Any, column: Column) -> Any:
        """Return the nearest values that the column holds, null where there is none.

        Values of types that the column never holds stay the same.
        """
        if not can_round(values.type, column.type):
            return values
        try:
            result, changed = _nearest(values, column.type)
        except pa.ArrowException:
            return values
        count = pc.sum(changed).as_py() or 0
        if count:
            first = pc.index(changed, True).as_py()
            shown = RoundedValues(count, str(values[first].as_py()), str(result[first].as_py()))
            self.add({column.name: shown})
        return result

    def near(self, value: Any, column: Column) -> Any:
        """Return the result of `nearest` for a Python value; the value itself if it has no nearest one."""
        result, is_other = _near(value, column.type)
        if is_other:
            self.add({column.name: RoundedValues(1, str(value), str(result))})
        return value if result is None else result


def fitted(value: Any, column: Column, rounding: Rounding | None) -> tuple[Any, str | None]:
    """Return a value of Python, rounded if it must and may be, and why it does not fit the column; None if it does."""
    reason = problem(value, column)
    if reason is None or rounding is None:
        return value, reason
    near = rounding.near(value, column)
    return near, problem(near, column)


def can_round(arrow: pa.DataType, type_: Type) -> bool:
    """Return whether values of an Arrow type are rounded to those of a column."""
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return can_round(arrow.value_type, type_)
    if _is_text(arrow):
        return type_ is Type.BOOLEAN or type_ in _TIMES or _is_number(type_)
    if _is_number(type_):
        return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow))
    return bool(
        type_ in _TIMES and pa.types.is_timestamp(arrow) and (arrow.tz is None) is (type_ is not Type.TIMESTAMP)
    )


def _is_number(type_: Type) -> bool:
    return type_.is_integer or type_.is_float or type_.kind is Kind.DECIMAL


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def _near(value: Any, type_: Type) -> tuple[Any, bool]:
    """Return the nearest value, None if there is none, and whether it differs."""
    if isinstance(value, str):
        value = _of_text(value.strip(BLANKS), type_)
    if isinstance(value, datetime.datetime) and type_ in _TIMES:
        return _near_time(value, type_) if (value.tzinfo is None) is (type_ is not Type.TIMESTAMP) else (None, False)
    if _is_number(type_) and _is_numeric(value):
        if type_.is_float and isinstance(value, float | np.floating):
            return value, False
        is_float = type_.is_integer and isinstance(value, float | np.floating)
        exact = Decimal(float(value)) if is_float else as_decimal(value)
        result = _near_number(exact, type_)
        return result, result is not None and as_decimal(result) != exact
    return value, False


def _is_numeric(value: Any) -> bool:
    return isinstance(value, numbers.Number) and not isinstance(value, bool)


def _of_text(text: str, type_: Type) -> Any:
    """Return what a text stands for, None if it stands for nothing."""
    if type_.is_integer or type_.kind is Kind.DECIMAL:
        return Decimal(text) if re.fullmatch(DECIMAL, text) else None
    if type_ is Type.BOOLEAN or type_.is_float or type_ in _TIMES:
        return _value(text, Type.TIMESTAMP_NTZ if type_ is Type.DATE else type_)
    return None


def _near_time(value: datetime.datetime, type_: Type) -> tuple[Any, bool]:
    has_more = bool(getattr(value, "nanosecond", 0))
    if type_ is Type.DATE:
        return value.date(), has_more or value.time() != datetime.time.min
    return (value.floor("us"), True) if has_more else (value, False)  # type: ignore[attr-defined]


def _near_number(exact: Decimal, type_: Type) -> Any:
    if type_.is_float:
        try:
            result = round_float(float(exact), type_)
        except OverflowError:
            return None
        return result if math.isfinite(result) else None
    if not exact.is_finite():
        return None
    if type_.kind is Kind.DECIMAL:
        return to_decimal(exact, type_)
    least, greatest = type_.range
    near = exact.to_integral_value(ROUND_HALF_UP)
    return int(near) if least <= near <= greatest else None


def _nearest(values: Any, type_: Type) -> tuple[Any, Any]:
    """Return the nearest values of a type, and which of them differ from the given ones. Raises ArrowException."""
    if _is_text(values.type):
        texts = pc.utf8_trim(values.cast(pa.string()), BLANKS)
        if type_ is Type.DATE:
            return _nearest_time(_read(texts, Type.TIMESTAMP_NTZ), type_)
        return _of_texts(texts, type_)
    return _nearest_number(values, type_) if _is_number(type_) else _nearest_time(values, type_)


def _of_texts(texts: Any, type_: Type) -> tuple[Any, Any]:
    if type_.is_integer or type_.kind is Kind.DECIMAL:
        return _nearest_number(_matching(texts, DECIMAL), type_)
    result = _read(texts, type_)
    return result, pc.and_(pc.is_valid(result), False)


def _read(texts: Any, type_: Type) -> Any:
    """Return the values that texts stand for, null where they stand for none."""
    matched = _matching(texts, pattern_of(type_) or "")
    if type_ is Type.BOOLEAN:
        return pc.equal(pc.utf8_lower(matched), "true")
    if type_ is not Type.FLOAT32:
        try:
            return matched.cast(type_.arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    return to_arrow([_value(text, type_) for text in matched.to_pylist()], type_)


def _value(text: str | None, type_: Type) -> Any:
    try:
        return None if text is None else convert(TextField(text, 0, len(text)), Column("", type_))
    except Malformed:
        return None


def _matching(texts: Any, pattern: str) -> Any:
    return pc.if_else(pc.match_substring_regex(texts, f"^(?:{pattern})$"), texts, pa.scalar(None, pa.string()))


def _nearest_time(values: Any, type_: Type) -> tuple[Any, Any]:
    floor = pc.floor_temporal(values, unit="day" if type_ is Type.DATE else "microsecond")
    return floor.cast(type_.arrow), pc.not_equal(floor, values)


def _nearest_number(values: Any, type_: Type) -> tuple[Any, Any]:
    if type_.is_float:
        if pa.types.is_floating(values.type):
            return values, pc.and_(pc.is_valid(values), False)
        return _nearest_float(values, type_)
    if type_.is_integer:
        if pa.types.is_floating(values.type):
            return _nearest_integer(values.cast(pa.float64()), type_)
        (least, greatest), scale = map(Decimal, type_.range), 0
    else:
        scale = type_.scale
        greatest = Decimal((0, (9,) * type_.precision, -scale))
        least = greatest.copy_negate()
    wide, is_tiny = _wide(values, scale, float(greatest))
    rounded = pc.round(_cut(wide, scale + 1), scale, "half_towards_infinity")
    is_in = pc.and_(
        pc.greater_equal(rounded, pa.scalar(least, rounded.type)),
        pc.less_equal(rounded, pa.scalar(greatest, rounded.type)),
    )
    result = pc.if_else(is_in, rounded, pa.scalar(None, rounded.type))
    return result.cast(type_.arrow), pc.and_(is_in, pc.or_(is_tiny, pc.not_equal(wide, rounded.cast(wide.type))))


def _nearest_integer(values: Any, type_: Type) -> tuple[Any, Any]:
    """Return floats as integers; large floats are whole."""
    rounded = pc.round(values, 0, "half_towards_infinity")
    least, greatest = type_.range
    is_in = pc.and_(pc.greater_equal(rounded, float(least)), pc.less(rounded, float(greatest + 1)))
    result = pc.if_else(is_in, rounded, pa.scalar(None, pa.float64()))
    return result.cast(type_.arrow), pc.not_equal(result, values)


def _wide(values: Any, scale: int, greatest: float) -> tuple[Any, Any]:
    """Return numbers as decimals of 76 digits, and which were so small that they are 0 there.

    Numbers far out of range are null.
    """
    never = pc.and_(pc.is_valid(values), False)
    if pa.types.is_integer(values.type):
        return values.cast(pa.decimal256(76, scale)), never
    if pa.types.is_decimal(values.type):
        return values.cast(pa.decimal256(76, max(scale, values.type.scale))), never
    numbers = values.cast(pa.float64())
    texts = numbers.cast(pa.string()) if pa.types.is_floating(values.type) else values
    size = pc.abs(numbers)
    texts = pc.if_else(pc.less(size, 2 * greatest + 2), texts, pa.scalar(None, pa.string()))
    is_tiny = pc.and_(pc.less(size, 10.0 ** -(scale + 1)), pc.not_equal(numbers, 0.0))
    texts = pc.if_else(is_tiny, pa.scalar("0", pa.string()), texts)
    texts = pc.replace_substring_regex(texts, rf"(\.[0-9]{{{scale + _GUARD}}})[0-9]+", r"\1")
    return texts.cast(pa.decimal256(76, scale + _GUARD)), is_tiny


def _cut(wide: Any, scale: int) -> Any:
    """Return decimals without the digits after `scale`: the first one left out decides how they are rounded.

    Arrow's division of decimals by 10^10 and more is wrong for some numbers, so that at most 9 digits go at once.
    """
    for step in range(wide.type.scale - _AT_ONCE, scale, -_AT_ONCE):
        wide = wide.cast(pa.decimal256(76, step), safe=False)
    return wide.cast(pa.decimal256(76, scale), safe=False)


def _nearest_float(values: Any, type_: Type) -> tuple[Any, Any]:
    """Return integers and decimals as floats."""
    exact = values.cast(pa.decimal256(76, values.type.scale if pa.types.is_decimal(values.type) else 0))
    result = exact.cast(pa.string()).cast(pa.float64()).cast(type_.arrow, safe=False)
    result = pc.if_else(pc.is_finite(result), result, pa.scalar(None, result.type))
    return result, pc.not_equal(result.cast(pa.float64()).cast(pa.string()).cast(exact.type), exact)

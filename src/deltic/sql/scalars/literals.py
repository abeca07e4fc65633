"""Literals with Spark's types: 1 is an INT, 1.5 a DECIMAL(2,1), 1e0 a DOUBLE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from sqlglot import exp

from deltic.circuit.expressions.arithmetic import fitting
from deltic.functions.intervals import FIELDS, MONTHS, MOST, between, pattern_of
from deltic.functions.times import SPANS
from deltic.sql.scalars.typed import Fields, Typed, constant
from deltic.sql.text import SourceText, span_of
from deltic.sql.types import type_of, written
from deltic.values.numbers import round_float
from deltic.values.types import Type
from deltic.values.types.value import MAX_PRECISION

_MICROSECOND = timedelta(microseconds=1)
_STRING = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_TEXT = re.compile(rf"(?i)\s*(?:INTERVAL\s)?(?:\s*[+-]?\s*[0-9.]+\s+(?:{'|'.join([*MONTHS, *SPANS])})S?\b)+\s*")
_PARTS = re.compile(r"\s*([+-]?\s*[0-9]+(?:[.][0-9]+)?)\s*([a-zA-Z]+)")


def adjacent(parts: Sequence[str], node: exp.Expression, source: SourceText) -> str:
    """Return the text of string literals side by side: one after the other, with a quote where two quotes meet."""
    span = span_of(node)
    end = 0 if span is None else span[0]
    text, before = "", -1
    for part in parts:
        result = _STRING.match(source.text, end)
        start, end = (result.start(1), result.end()) if result else (end + 1, end)
        text += (source.text[start] if start == before else "") + part
        before = end
    return text


def is_number(node: exp.Expression) -> bool:
    """Return whether the node is a number, maybe with the letter of its type: 3, 1.5, 3L."""
    if isinstance(node, exp.TryCast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        span = span_of(node.this)  # a letter belongs to the number, the type of a cast does not
        return span is not None and span[1] - span[0] > len(node.this.this)
    return isinstance(node, exp.Literal) and not node.is_string


def number(node: exp.Expression, source: SourceText, sign: str = "") -> Typed:
    """Return a literal number of its suffix's type, or of the smallest of INT, BIGINT and DECIMAL that holds it.

    One with an exponent is a DOUBLE. The sign is part of the number: -128Y is a TINYINT.
    """
    if isinstance(node, exp.TryCast):
        return _of_type(node, type_of(node.to, source), sign, source)
    text = sign + node.this
    if "e" in text.lower():
        return constant(_finite(node, text, Type.FLOAT64, source), Type.FLOAT64)
    value = Decimal(text)
    if "." not in text:
        for type_ in (Type.INT32, Type.INT64):
            if type_.range[0] <= value <= type_.range[1]:
                return replace(constant(int(value), type_), is_number=True)
    return constant(value, _digits(node, value, source))


def _finite(node: exp.Expression, text: str, type_: Type, source: SourceText) -> float:
    value = round_float(float(text), type_)
    if value in (float("inf"), float("-inf")):
        raise source.error(node, f"{_short(text)} is beyond the range of a {written(type_)}")
    return value


def _short(text: str) -> str:
    """Return a number as a message shows it."""
    return text if len(text) <= 60 else f"{text[:60]}…"


def _of_type(node: exp.TryCast, type_: Type, sign: str, source: SourceText) -> Typed:
    """Return a number with the letter of its type."""
    text = sign + node.this.this
    if type_.is_float:
        return constant(_finite(node, text, type_, source), type_)
    if not type_.is_integer or not re.fullmatch("-?[0-9]{1,40}", text) or fitting(int(text), type_) is None:
        raise source.error(node, f"{sign}{_short(source.written(node))} is no {written(type_)}")
    return replace(constant(int(text), type_), is_number=type_ is not Type.INT8)


def _digits(node: exp.Expression, value: Decimal, source: SourceText) -> Type:
    """Return the decimal type with the digits of a number, without leading zeros."""
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > MAX_PRECISION:
        hint = "write it with an exponent, as a DOUBLE"
        raise source.error(node, f"{_short(node.this)} has more than {MAX_PRECISION} digits", hint)
    return Type.decimal(precision, scale)


def interval(node: exp.Interval, source: SourceText) -> Typed:
    """Return an interval of years and months, or of days and times, as it is written."""
    if node.this is None or (isinstance(node.this, exp.Expression) and not _is_number(node.this)):
        hint = "multiply: x * INTERVAL 1 DAY"
        raise source.error(node, "an INTERVAL is written with a number", hint)
    if not _TEXT.fullmatch(node.meta.get("text", "1 DAY")):
        raise source.error(node, f"{node.meta['text']!r} is not an interval", "write, for example, INTERVAL '3 DAYS'")
    text, unit = node.this.name if isinstance(node.this, exp.Literal) else "-" + node.this.name, node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _span(node, text, unit.this.name.upper(), unit.expression.name.upper(), source)
    parts = [(text, unit.name)] if unit is not None else _PARTS.findall(text)
    if not parts or (unit is None and _PARTS.sub("", text).strip()):
        raise source.error(node, f"{text!r} is not an interval", "write, for example, INTERVAL 3 DAYS")
    return _sum(node, [(amount.replace(" ", ""), name.upper().removesuffix("S")) for amount, name in parts], source)


def _is_number(node: exp.Expression) -> bool:
    return isinstance(node.this if isinstance(node, exp.Neg) else node, exp.Literal)


def _sum(node: exp.Interval, parts: list[tuple[str, str]], source: SourceText) -> Typed:
    """Return the sum of amounts of units, all of them months and years, or all of them shorter."""
    try:
        if all(unit in MONTHS for _, unit in parts):
            months = sum(int(amount) * MONTHS[unit] for amount, unit in parts)
            return replace(constant(_within(31, months), Type.YEAR_MONTH_INTERVAL), modifier=_fields(parts))
        if all(unit in SPANS for _, unit in parts):
            counts = (Decimal(amount) if unit == "SECOND" else int(amount) for amount, unit in parts)
            spans = (count * (SPANS[unit] // _MICROSECOND) for count, (_, unit) in zip(counts, parts, strict=True))
            length = _within(63, int(sum(spans))) * _MICROSECOND
            return replace(constant(length, Type.DAY_TIME_INTERVAL), modifier=_fields(parts))
    except OverflowError:
        raise source.error(
            node, "this interval is too long", "it counts months in 32 bits, or microseconds in 64"
        ) from None
    except (ArithmeticError, ValueError):
        pass
    hint = "years and months are one kind of interval, days to microseconds another"
    raise source.error(node, "this is not an interval", hint)


def _fields(parts: Sequence[tuple[str, str]]) -> Fields:
    """Return the fields from the greatest unit to the smallest."""
    named = {_COARSER.get(unit, unit) for _, unit in parts}
    result = [field for fields in FIELDS for field in fields if field in named]
    return result[0], result[-1]


_COARSER = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
"""Units that literals have, with the fields that they count."""


def _within(bits: int, count: int) -> int:
    """Return the count, which this many bits and a sign have. Raises OverflowError."""
    if not -(1 << bits) <= count < 1 << bits:
        raise OverflowError
    return count


def _span(node: exp.Interval, text: str, first: str, last: str, source: SourceText) -> Typed:
    """`'1-2' YEAR TO MONTH`, `'1 2:03:04.5' DAY TO SECOND` and the spans between."""
    units = between(first, last) if first != last else ()
    if not units:
        raise source.error(node, f"there is no INTERVAL {first} TO {last}")
    result = re.fullmatch(pattern_of(first, last), text)
    if result is None:
        raise source.error(node, f"{text!r} is not an INTERVAL {first} TO {last}")
    sign, *amounts = result.groups()
    if any(Decimal(amount) >= MOST[unit] for amount, unit in zip(amounts[1:], units[1:], strict=True)):
        hint = "months are below 12, hours below 24, minutes and seconds below 60"
        raise source.error(node, f"{text!r} is not an INTERVAL {first} TO {last}", hint)
    return _sum(node, [(sign + amount, unit) for amount, unit in zip(amounts, units, strict=True)], source)

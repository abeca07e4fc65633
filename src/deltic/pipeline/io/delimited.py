"""Reads many lines of delimited text at once, by Arrow's CSV reader, as far as it agrees with `parse_line`."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from deltic.functions.conversions import converted
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import arrow_schema, table_of
from deltic.pipeline.io.text_fields import BLANKS, SPECIAL, pattern_of
from deltic.values.types import Column, Type

# Arrow's reader requires a delimiter of one byte. A longer one is replaced by this one, which text does not contain.
_STAND_IN = b"\x1f"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def at_once(data: bytes, layout: FileLayout) -> pa.Table | None:
    """Return the rows of whole lines, each with its newline; None if a line may be malformed or ambiguous."""
    has_returns, delimiter = b"\r" in data, layout.delimiter.encode()
    data = data.replace(b"\r\n", b"\n") if has_returns else data
    quoted = layout.rfc4180 and b'"' in data
    if not layout.width or (has_returns and b"\r" in data) or data.startswith(_BYTE_ORDER_MARK):
        return None
    over_lines = quoted and not is_well_quoted(data, layout)
    if over_lines and (has_returns or not is_well_quoted(data, layout, over_lines=True)):
        return None
    if layout.has_brackets and b"[" in data:
        return None
    if len(delimiter) > 1:
        if quoted or _STAND_IN in data:
            return None
        data, delimiter = data.replace(delimiter, _STAND_IN), _STAND_IN
    table = _read(data, delimiter, layout, over_lines)
    if table is None and layout.signed and not over_lines:
        table = _read(_with_signs_apart(data, delimiter), delimiter, layout, over_lines)
    return table


def is_well_quoted(data: bytes, layout: FileLayout, over_lines: bool = False) -> bool:
    """Return whether quotes only enclose whole fields in every line; Arrow's reader would accept others.

    With `over_lines`, quoted text may extend over lines.
    """
    delimiter, inside = re.escape(layout.delimiter), '[^"]' if over_lines else '[^"\\n]'
    field = f'(?:"(?:{inside}|"")*"|[^"{delimiter}\\n][^{delimiter}\\n]*|)'
    line = f"{'[+-]' if layout.signed else ''}{field}(?:{delimiter}{field})*\\n"
    whole = pc.match_substring_regex(pa.array([data], pa.large_binary()), f"^(?:{line})*$")
    return bool(whole[0].as_py())


def _with_signs_apart(data: bytes, delimiter: bytes) -> bytes:
    """Return the lines with a delimiter after each sign."""
    data = b"\n" + data
    for sign in (b"\n+", b"\n-"):
        data = data.replace(sign, sign + delimiter)
    return data[1:]


def _read(data: bytes, delimiter: bytes, layout: FileLayout, over_lines: bool) -> pa.Table | None:
    """Return the rows of lines whose signs, if any, are separate fields; with `over_lines`, fields may contain
    newlines.
    """
    types = [column.type if column.type in _ARROWS else Type.STRING for column in layout.schema]
    signs = [Type.STRING] if layout.signed else []
    columns = _columns(data, delimiter, layout, [*signs, *types], over_lines)
    if columns is None:
        return None
    values = columns[len(signs) :]
    if _is_doubtful(data, types, values):
        texts = _columns(data, delimiter, layout, [Type.STRING] * len(columns), over_lines)
        if texts is None or not all(map(_agrees, texts[len(signs) :], values, types)):
            return None
    try:
        values = [_typed(result, column) for result, column in zip(values, layout.schema, strict=True)]
    except pa.ArrowInvalid:
        return None
    if any(result.null_count and not c.nullable for result, c in zip(values, layout.schema, strict=True)):
        return None
    if layout.signed:
        weights = _weights(columns[0])
        if weights is None:
            return None
        values = [*values, weights]
    return table_of(values, arrow_schema(layout.schema, layout.signed), len(columns[0]))


_ARROWS = (Type.STRING, Type.INT64, Type.UINT64, Type.FLOAT64)
"""The types that Arrow's reader reads correctly. It reads the others as text, which is then converted."""


def _typed(found: Any, column: Column) -> Any:
    """Return a column's values, converted if Arrow's reader has read them as text. ArrowInvalid for doubtful ones."""
    if column.type in _ARROWS and not (column.nullable and column.type is Type.STRING):
        return found
    if column.nullable:
        found = pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
    if column.type is Type.STRING:
        return found
    if pc.all(pc.match_substring_regex(found, f"^(?:{pattern_of(column.type)})$")).as_py() is False:
        raise pa.ArrowInvalid("a field does not look like one of its type")
    texts = pc.utf8_trim(found, BLANKS)
    if column.type is Type.BOOLEAN:
        return pc.equal(pc.utf8_lower(texts), "true")
    if column.type is Type.FLOAT32:
        values = texts.cast(pa.float64()).cast(pa.float32(), safe=False)
        if pc.all(pc.is_finite(values)).as_py() is False:
            raise pa.ArrowInvalid("a number may be out of range")
        return values
    if column.type is not Type.TIME:
        return texts.cast(column.type.arrow)
    clocks = converted(texts, Type.STRING, Type.TIME)  # which Arrow does not read
    if clocks.null_count > texts.null_count:
        raise pa.ArrowInvalid("a time may be out of range")
    return clocks


def _columns(
    data: bytes, delimiter: bytes, layout: FileLayout, types: list[Type], over_lines: bool
) -> list[Any] | None:
    """Return the fields of all lines as columns of these types, null where a field is empty; None if Arrow fails."""
    names = [str(index) for index in range(len(types))]
    there = _names_of_fields(data, delimiter, names, layout) if layout.places or layout.as_souffle else names
    quote = '"' if layout.rfc4180 else False
    keeps = layout.keeps_blank_lines
    parsing = pv.ParseOptions(
        delimiter=delimiter.decode(), quote_char=quote, ignore_empty_lines=not keeps, newlines_in_values=over_lines
    )
    fields = {name: type_.arrow for name, type_ in zip(names, types, strict=True)}
    converting = pv.ConvertOptions(
        column_types=fields, null_values=[""], strings_can_be_null=False, include_columns=names
    )
    reading = pv.ReadOptions(column_names=there)
    try:
        result = pv.read_csv(pa.BufferReader(data), reading, parsing, converting)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    return list(result.columns)


def _names_of_fields(data: bytes, delimiter: bytes, names: list[str], layout: FileLayout) -> list[str]:
    """Return names for all fields of the lines, as many as the first has; columns keep theirs."""
    signs = len(names) - layout.width
    places = layout.places or range(layout.width)
    fields = [f"other {index}" for index in range(data.partition(b"\n")[0].count(delimiter) + 1)]
    for place, name in zip((*range(signs), *(signs + place for place in places)), names, strict=True):
        if place < len(fields):
            fields[place] = name
    return fields


def _is_doubtful(data: bytes, types: list[Type], values: list[Any]) -> bool:
    """Return whether Arrow may have read a number that is not one here: 0x10, nan(1), or 1e999 as infinite."""
    if any(type_.is_integer for type_ in types) and (b"0x" in data or b"0X" in data):
        return True
    floats = (column for column, type_ in zip(values, types, strict=True) if type_ is Type.FLOAT64)
    return not all(pc.all(pc.is_finite(column)).as_py() for column in floats)


def _agrees(texts: Any, values: Any, type_: Type) -> bool:
    """Return whether all texts of a column are values of its type."""
    if type_ is Type.STRING:
        return True
    is_value = pc.match_substring_regex(texts, f"^(?:{pattern_of(type_)})$")
    if type_ is Type.FLOAT64:
        fits = pc.or_(pc.is_finite(values), pc.match_substring_regex(texts, f"^(?:{SPECIAL})$"))
        is_value = pc.and_(is_value, fits)
    return bool(pc.all(is_value).as_py())


def _weights(signs: Any) -> Any:
    """Return the signs as weights; None if one is neither + nor -."""
    inserted, deleted = pc.equal(signs, "+"), pc.equal(signs, "-")
    if not pc.all(pc.or_(inserted, deleted)).as_py():
        return None
    return pc.if_else(inserted, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))

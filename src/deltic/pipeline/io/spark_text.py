"""Delimited text in Spark SQL, in parallel; agrees with `parse_line` line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.types import Column, Type
from deltic.engine.protocol import WEIGHT
from deltic.pipeline.io.layout import Layout
from deltic.pipeline.io.parsed import arrow_schema, table_of
from deltic.pipeline.io.spark_lines import LINE_ID
from deltic.pipeline.io.text import PATTERNS, SPECIAL, check_types
from deltic.pipeline.spark import SQL_TYPES, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collect_rows(lines: DataFrame, layout: Layout) -> tuple[pa.Table, list[int]]:
    """The rows of the lines, and the LINE_ID of each malformed one."""
    check_types(layout)
    found = typed_rows(lines, layout).toArrow()
    bad = pc.drop_null(found[LINE_ID]).to_pylist()
    good = found.filter(pc.is_null(found[LINE_ID])) if bad else found
    fields = arrow_schema(layout.schema, layout.signed)
    columns = [good[index].cast(field.type) for index, field in enumerate(fields)]
    return table_of(columns, fields, len(good)), bad


def typed_rows(lines: DataFrame, layout: Layout) -> DataFrame:
    """The rows of the lines, with LINE_ID null; and for each malformed line a row that has nothing but its LINE_ID."""
    lines = lines.selectExpr(LINE_ID, f"{_WITHOUT_RETURN} AS line")
    if not layout.keeps_blank_lines:
        lines = lines.where("line <> ''")
    lines = lines.selectExpr(LINE_ID, "line", f"{_body(layout)} AS body")
    lines = lines.selectExpr(LINE_ID, "line", f"{_fields(layout)} AS fields")
    ok = [f"is_valid_utf8(line) AND {_has_width(layout)}", *(_is_value(i, c) for i, c in enumerate(layout.schema))]
    lines = lines.selectExpr(LINE_ID, "line", "fields", " AND ".join(ok) + " AS ok")
    values = [f"IF(ok, {_value(i, c)}, NULL) AS {quoted(c.name)}" for i, c in enumerate(layout.schema)]
    if layout.signed:
        values.append(f"IF(ok, IF(startswith(line, '-'), -1L, 1L), NULL) AS {WEIGHT}")
    return lines.selectExpr(*values, f"IF(ok, NULL, {LINE_ID}) AS {LINE_ID}")


_END = r"\z"
_WITHOUT_RETURN = "IF(endswith(value, '\\r'), left(value, length(value) - 1), value)"


def _literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    return "'" + "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in text) + "'"


def _body(layout: Layout) -> str:
    """The line without its sign; null when the sign is missing."""
    if not layout.signed:
        return "line"
    return "IF(left(line, 1) IN ('+', '-'), substring(line, 2), NULL)"


def _fields(layout: Layout) -> str:
    """The fields as an array, null when quotes do not pair; without the empty one that a sign apart leaves."""
    fields = _quoted_fields(layout) if layout.rfc4180 else f"split(body, {_literal(_exactly(layout.delimiter))}, -1)"
    if not layout.signed:
        return fields
    width = max(layout.width, 1)
    apart = f"size({fields}) = {width + 1} AND startswith(body, {_literal(layout.delimiter)})"
    return f"IF({apart}, slice({fields}, 2, {width}), {fields})"


def _quoted_fields(layout: Layout) -> str:
    """Fields of which some may be in quotes."""
    delimiter = _exactly(layout.delimiter)
    field = f'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")(?:(?!{delimiter}).)*+)'
    well_formed = f"rlike(body, {_literal(f'(?s)^{field}(?:{delimiter}{field})*+' + _END)})"
    fields = f"regexp_extract_all(body, {_literal(f'(?s)(?:^|(?<={delimiter})){field}')}, 0)"
    unquoted = """IF(startswith(f, '"'), replace(substring(f, 2, length(f) - 2), '""', '"'), f)"""
    return f"IF({well_formed}, transform({fields}, f -> {unquoted}), NULL)"


def _exactly(text: str) -> str:
    """The regular expression of Java that matches this text."""
    return "\\Q" + text + "\\E"


def _has_width(layout: Layout) -> str:
    right = "size(fields) = {} AND fields IS NOT NULL"
    return right.format(layout.width) if layout.width else right.format(1) + " AND fields[0] = '()'"


def _is_value(index: int, column: Column) -> str:
    """Whether field `index` is a value of the column."""
    if column.type is Type.STRING:
        return "true"
    field = f"get(fields, {index})"
    matches = _matches(field, PATTERNS[column.type])
    fits = f"{_value(index, column)} IS NOT NULL"
    if column.type is Type.UINT64:
        fits = f"coalesce({_value(index, column)} BETWEEN 0 AND 18446744073709551615BD, false)"
    if column.type is Type.FLOAT64:
        infinite = f"abs({_value(index, column)}) = double('Infinity')"
        fits = f"coalesce(NOT {infinite} OR {_matches(field, SPECIAL)}, false)"
    return f"{matches} AND {fits}"


def _matches(field: str, pattern: str) -> str:
    return f"coalesce(rlike({field}, {_literal(f'^(?:{pattern})' + _END)}), false)"


def _value(index: int, column: Column) -> str:
    field = f"get(fields, {index})"
    return field if column.type is Type.STRING else f"try_cast({field} AS {SQL_TYPES[column.type]})"

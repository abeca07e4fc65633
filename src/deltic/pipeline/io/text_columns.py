"""Many lines of delimited text at once, with Arrow's kernels; agrees with `parse_line` line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.types import Type
from deltic.engine.protocol import WEIGHT
from deltic.pipeline.io.layout import Layout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.parsed import Parsed, arrow_schema, concatenated, rows_to_table, table_of
from deltic.pipeline.io.text import BLANKS, PATTERNS, SPECIAL, parse_line

_TEXT, _POSITION, _OK = "text", "position", "ok"


def parse_lines(lines: pa.Array, layout: Layout) -> Parsed:
    """The rows of `lines`, an array of strings, null where a line is not UTF-8; any order of the rows."""
    batch = pa.table({_TEXT: without_return(lines), _POSITION: np.arange(len(lines))})
    batch, not_text = _partition(batch, pc.is_valid(batch[_TEXT]))
    if not layout.keeps_blank_lines:
        batch = batch.filter(pc.not_equal(batch[_TEXT], ""))
    quoted = batch.slice(0, 0)
    if layout.rfc4180:
        batch, quoted = _partition(batch, pc.invert(pc.match_substring(batch[_TEXT], '"')))
    plain, slow = _plain(batch, layout), _one_by_one(quoted, layout)
    bad = [*not_text[_POSITION].to_pylist(), *plain.bad, *slow.bad]
    return Parsed(concatenated([plain.table, slow.table]), sorted(bad))


def without_return(lines: pa.Array) -> pa.Array:
    """Lines without the carriage return that files from Windows leave at their ends."""
    returns = pc.ends_with(lines, "\r")
    if not pc.any(returns).as_py():
        return lines
    return pc.if_else(returns, pc.utf8_slice_codeunits(lines, 0, -1), lines)


def _partition(batch: pa.Table, mask: Any) -> tuple[pa.Table, pa.Table]:
    """The rows where `mask` holds, and the others."""
    if pc.all(mask).as_py():
        return batch, batch.slice(0, 0)
    return batch.filter(mask), batch.filter(pc.invert(mask))


def _plain(batch: pa.Table, layout: Layout) -> Parsed:
    """Lines whose fields are what stands between delimiters."""
    bad: list[int] = []
    if layout.signed:
        batch, unsigned = _partition(batch, pc.match_substring_regex(batch[_TEXT], r"^[+-]"))
        bad += unsigned[_POSITION].to_pylist()
        batch = _without_sign(batch, layout)
    batch, miscounted = _partition(batch, _has_width(batch[_TEXT], layout))
    bad += miscounted[_POSITION].to_pylist()
    columns, wrong = _columns(batch[_TEXT], layout)
    columns = [*columns, batch[WEIGHT]] if layout.signed else columns
    table = table_of(columns, arrow_schema(layout.schema, layout.signed), len(batch))
    if wrong is not None:
        bad += batch.filter(wrong)[_POSITION].to_pylist()
        table = table.filter(pc.invert(wrong))
    return Parsed(table, bad)


def _without_sign(batch: pa.Table, layout: Layout) -> pa.Table:
    """The lines behind their signs, and the signs as weights."""
    text, delimiter = batch[_TEXT], layout.delimiter
    weight = pc.if_else(pc.starts_with(text, "+"), pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    rest = pc.utf8_slice_codeunits(text, 1)
    apart = pc.equal(pc.count_substring(rest, delimiter), max(layout.width, 1))
    apart = pc.and_(apart, pc.starts_with(rest, delimiter))
    rest = pc.if_else(apart, pc.utf8_slice_codeunits(rest, len(delimiter)), rest)
    return pa.table({_TEXT: rest, _POSITION: batch[_POSITION], WEIGHT: weight})


def _has_width(text: Any, layout: Layout) -> Any:
    if layout.width == 0:
        return pc.equal(text, "()")
    return pc.equal(pc.count_substring(text, layout.delimiter), layout.width - 1)


def _columns(text: Any, layout: Layout) -> tuple[list[Any], Any]:
    """The typed columns of lines of the right width, and where some value is malformed (None: nowhere)."""
    fields = pc.split_pattern(text, layout.delimiter) if layout.width > 1 else None
    columns, wrong = [], None
    for index, column in enumerate(layout.schema):
        texts = text if fields is None else pc.list_element(fields, index)
        values = _convert(texts, column.type)
        columns.append(values)
        if values.null_count:
            wrong = pc.is_null(values) if wrong is None else pc.or_(wrong, pc.is_null(values))
    return columns, wrong


def _convert(texts: Any, type_: Type) -> Any:
    """The values of one column, null where the text is not one of its type."""
    if type_ is Type.STRING:
        return texts.cast(pa.string())
    matching = pc.match_substring_regex(texts, f"^(?:{PATTERNS[type_]})$")
    if not pc.all(matching).as_py():
        texts = pc.if_else(matching, texts, pa.scalar(None, texts.type))
    trimmed = pc.utf8_ltrim(pc.utf8_trim(texts, BLANKS), "+")
    try:
        values = trimmed.cast(type_.arrow)
    except pa.ArrowInvalid:
        values = _cast_one_by_one(trimmed, type_)
    return _without_overflow(values, texts) if type_ is Type.FLOAT64 else values


def _cast_one_by_one(texts: Any, type_: Type) -> Any:
    """For integers of which some are out of range."""
    least, greatest = (-(2**63), 2**63 - 1) if type_ is Type.INT64 else (0, 2**64 - 1)
    values = (None if text is None else int(text) if len(text) < 4000 else 2**64 for text in texts.to_pylist())
    return pa.array([v if v is not None and least <= v <= greatest else None for v in values], type_.arrow)


def _without_overflow(values: Any, texts: Any) -> Any:
    """Floats with null for the infinities that come from too many digits."""
    infinite = pc.fill_null(pc.is_inf(values), False)
    if not pc.any(infinite).as_py():
        return values
    overflow = pc.and_(infinite, pc.invert(pc.match_substring_regex(texts, f"^(?:{SPECIAL})$")))
    return pc.if_else(overflow, pa.scalar(None, values.type), values)


def _one_by_one(batch: pa.Table, layout: Layout) -> Parsed:
    """Lines with quotes."""
    rows, bad = [], []
    for text, position in zip(batch[_TEXT].to_pylist(), batch[_POSITION].to_pylist(), strict=True):
        try:
            rows.append(parse_line(text, layout))
        except Malformed:
            bad.append(position)
    return Parsed(rows_to_table(rows, layout.schema, layout.signed), bad)

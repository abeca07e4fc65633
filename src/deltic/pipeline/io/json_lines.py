"""Many lines of JSON at once, with Arrow's reader; agrees with `parse_json` line by line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from deltic.engine.protocol import WEIGHT
from deltic.pipeline.io.columns import conform
from deltic.pipeline.io.layout import Layout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import parse_json, weight_columns
from deltic.pipeline.io.parsed import Parsed, rows_to_table


def parse_json_lines(lines: pa.Array, layout: Layout) -> Parsed:
    """The rows of `lines`, an array of strings, null where a line is not UTF-8; blank lines are skipped."""
    parsed = _all_at_once(lines, layout) if lines.null_count == 0 else None
    return parsed or _one_by_one(lines, layout)


def _all_at_once(lines: pa.Array, layout: Layout) -> Parsed | None:
    """The rows, or None when one of the lines may be malformed."""
    lines = lines.filter(pc.match_substring_regex(lines, r"[^ \t\r]"))
    if len(lines) == 0 or layout.width == 0 or not _is_safe(lines):
        return None
    fields = [pa.field(column.name, column.type.arrow) for column in layout.schema]
    if layout.signed:
        fields += [pa.field(name, pa.int64() if name == WEIGHT else pa.string()) for name in weight_columns(layout)]
    try:
        table = _read(lines, pa.schema(fields))
    except pa.ArrowInvalid:
        return None
    parsed = conform(table, layout)
    return parsed if len(table) == len(lines) and not parsed.bad else None


# Arrow's reader crashes on a null that is not inside of an object. Lines are given to it when each begins with an
# object and nothing but the end of an enclosing value, or a comma, follows a closing brace.
_OBJECT = r"^[ \t]*\{"
_SECOND_VALUE = r"\}[ \t\r]*[^,\]} \t\r]"


def _is_safe(lines: pa.Array) -> bool:
    objects = pc.all(pc.match_substring_regex(lines, _OBJECT)).as_py()
    return bool(objects and not pc.any(pc.match_substring_regex(lines, _SECOND_VALUE)).as_py())


def _read(lines: pa.Array, fields: pa.Schema) -> pa.Table:
    stretch = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    data = pc.binary_join(stretch, pa.scalar("\n", lines.type)).cast(pa.large_binary())[0].as_py()
    options = pj.ParseOptions(fields, unexpected_field_behavior="ignore")
    return pj.read_json(pa.BufferReader(data), pj.ReadOptions(block_size=len(data) + 1), options)


def _one_by_one(lines: pa.Array, layout: Layout) -> Parsed:
    rows, bad = [], []
    for position, line in enumerate(lines.to_pylist()):
        if line is not None and not line.strip(" \t\r"):
            continue
        try:
            rows.append(parse_json(line or "", layout))
        except Malformed:
            bad.append(position)
    return Parsed(rows_to_table(rows, layout.schema, layout.signed), bad)

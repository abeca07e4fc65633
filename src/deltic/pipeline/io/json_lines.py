"""Reads many lines of JSON at once, by Arrow's reader, as far as it agrees with `parse_json`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from deltic.circuit.tables import WEIGHT
from deltic.pipeline.io.columns import conform
from deltic.pipeline.io.layout import FileLayout
from deltic.values.types import Type


def at_once(data: bytes, layout: FileLayout) -> pa.Table | None:
    """Return the rows of whole lines, each with its newline; None if a line may be malformed or ambiguous."""
    text = _text(data)
    lines = 0 if text is None else _lines(text)
    if not lines or not layout.width or not all(map(_is_plain, layout.schema.types.values())):
        return None
    fields = [pa.field(column.name, column.type.arrow) for column in layout.schema]
    fields += [pa.field(name, pa.int64() if name == WEIGHT else pa.string()) for name in layout.sign_columns]
    options = pj.ParseOptions(
        pa.schema(fields), unexpected_field_behavior="ignore" if layout.optional is None else "error"
    )
    try:
        table = pj.read_json(pa.BufferReader(data), pj.ReadOptions(block_size=len(data) + 1), options)
    except pa.ArrowInvalid:
        return None
    parsed = conform(table, layout)
    may_lack = [] if layout.signed else [name for name, value in (layout.optional or {}).items() if value is None]
    with_nulls = [name for name in layout.schema.names if table.column(name).null_count and name not in may_lack]
    if len(table) != lines or parsed.bad or (with_nulls and not _has_all(text, lines, with_nulls)):
        return None
    return parsed.table


def _is_plain(type_: Type) -> bool:
    """Return whether JSON has values of the type, so that Arrow's reader and `of_json` must agree."""
    return type_.is_integer or type_.is_float or type_ in (Type.BOOLEAN, Type.STRING)


# Arrow's reader crashes on a null that is not inside of an object. Lines are given to it when each begins with an
# object and nothing but the end of an enclosing value, or a comma, follows a closing brace.
_OBJECT = r"(?m)^[ \t]*\{"
_NO_OBJECT = r"(?m)^[ \t\r]*[^ \t\r\n{]"
_SECOND_VALUE = r"\}[ \t\r]*[^,\]} \t\r\n]"


def _text(data: bytes) -> pa.Array | None:
    """Return the data as one text; None if it is not UTF-8."""
    try:
        return pa.array([data], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return None


def _lines(text: pa.Array) -> int:
    """Return the number of lines with an object; 0 if a line may be neither an object nor blank."""
    if any(pc.match_substring_regex(text, pattern)[0].as_py() for pattern in (_NO_OBJECT, _SECOND_VALUE)):
        return 0
    return int(pc.count_substring_regex(text, _OBJECT)[0].as_py())


def _has_all(text: pa.Array, lines: int, names: Sequence[str]) -> bool:
    """Return whether each line surely has these columns; Arrow's reader fills those that a line lacks with NULL.

    It has, if there are no inner objects, and as many keys of each name as lines. A quote in a text is escaped.
    """
    return pc.count_substring(text, "{")[0].as_py() == lines and all(
        "\\" not in name and pc.count_substring_regex(text, rf'"\Q{name}\E"[ \t\r]*:')[0].as_py() == lines
        for name in names
    )

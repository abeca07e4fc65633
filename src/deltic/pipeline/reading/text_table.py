"""Rows as lines of text with aligned columns, for people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltic.errors import count_of

_WIDEST = 60


def text_table(rows: pa.Table) -> str:
    """Return the column names and the rows, numbers to the right; long values are cut."""
    if not rows.num_columns:
        return f"{count_of(rows.num_rows, 'row')} without columns"
    columns = [_aligned(field, column) for field, column in zip(rows.schema, rows.columns, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def value_text(value: Any) -> str:
    """Return a value as SQL writes it, texts without quotes."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    return str(value)


def is_number(type_: pa.DataType) -> bool:
    """Return whether values of the type are aligned to the right."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def _aligned(field: pa.Field, values: pa.ChunkedArray) -> list[str]:
    cells = [_cut(text) for text in (field.name, *map(value_text, values.to_pylist()))]
    width = max(map(len, cells))
    return [cell.rjust(width) if is_number(field.type) else cell.ljust(width) for cell in cells]


def _cut(text: str) -> str:
    line = "⏎".join(text.splitlines())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"

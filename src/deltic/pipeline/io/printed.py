"""Values as Soufflé prints them in delimited text: floats with 17 digits, those of 32 bits with 9, and symbols in
structures without quotes, but in quotes where fields may stand in quotes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from deltic.datalog.souffle.functions.structures import quoted, rewritten
from deltic.pipeline.io.render import map_distinct

_DIGITS = {"f": 17, "g": 9}
"""The number of digits of each kind of float."""


def printed(rows: pa.Table, structures: Mapping[str, str], rfc4180: bool) -> pa.Table:
    """Return the rows with floats and structures as text; `structures` are columns with their families."""
    field_of = _quoted_field if rfc4180 else _field
    for place, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            digits = _DIGITS["g" if field.type == pa.float32() else "f"]
            texts = map_distinct(rows[field.name], lambda value, digits=digits: f"{value:.{digits}g}")
            rows = rows.set_column(place, field.name, texts)
        elif (family := structures.get(field.name)) and _may_differ(family):
            texts = map_distinct(
                rows[field.name], lambda text, family=family: rewritten(family, text, field_of) or text
            )
            rows = rows.set_column(place, field.name, texts)
    return rows


def _may_differ(family: str) -> bool:
    """Return whether the values of a family contain symbols or floats."""
    return "symbol" in family or "float" in family


def _field(letter: str, value: Any) -> str:
    return f"{value:.{_DIGITS[letter]}g}" if letter in _DIGITS else str(value)


def _quoted_field(letter: str, value: Any) -> str:
    return quoted(value) if letter == "s" else _field(letter, value)

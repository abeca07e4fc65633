"""Patterns of rows from JSON, for lookups and explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.names import find
from deltic.values.types import Schema


def pattern_of(name: str, schema: Schema, value: Any) -> dict[str, Any]:
    """Values by column from an object of JSON, or a list with a value of each column; raises DelticError.

    Integers and decimals may be texts, as answers have them.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(schema):
            raise DataError([Diagnostic(f"{name} has the columns {', '.join(schema.names)}: give as many values")])
        value = dict(zip(schema.names, value, strict=True))
    if not isinstance(value, Mapping):
        raise DataError([Diagnostic(f"a row of {name} is an object with values of its columns, or a list of all")])
    columns = {column.name: column for column in schema}
    result = {}
    for each, given in value.items():
        column = find(each, "column", columns, within=name)
        try:
            is_text = column.type.is_integer and isinstance(given, str)
            result[each] = int(given) if is_text else of_json(given, column.type)
        except ValueError:
            raise DataError([Diagnostic(f"{name}, column {each}: {given!r} is no {column.type}")]) from None
    return result

"""Parses one row of named values, from Parquet or JSON. The fast readers must agree with this definition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from deltic.circuit.tables import WEIGHT
from deltic.engine.keyed import BY_KEY, MOST
from deltic.errors import did_you_mean, nearest
from deltic.pipeline.io.envelopes import Signed, is_envelope, opened
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.io.layout import FEED_COLUMNS, OP, WITHOUT_KEY, FileLayout, needs_key
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.rounding import fitted
from deltic.pipeline.io.values import shown


def parse_json(line: str, layout: FileLayout) -> list[Signed]:
    """Return the row and weight of a line of JSON, or the rows of a change. Raises Malformed."""
    try:
        value = json.loads(line, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON: {error.msg[0].lower()}{error.msg[1:]}", error.colno) from None
    except RecursionError:
        raise Malformed("not a row: brackets are nested too deeply", 1) from None
    if layout.signed and is_envelope(value, layout):
        return opened(value, layout)
    if not isinstance(value, dict):
        raise Malformed("expected a JSON object, with the names of the columns as its keys", 1)
    try:
        return [of_json_object(value, layout)]
    except Malformed as error:
        column, length = _key_place(line, error)
        raise Malformed(error.reason, column, length, error.hint) from None


def of_json_object(row: Mapping[str, Any], layout: FileLayout) -> Signed:
    """Return the row and weight of a JSON object. Raises Malformed."""
    return parse_object(_of_json(row, layout), layout)


def _of_json(row: Mapping[str, Any], layout: FileLayout) -> dict[str, Any]:
    """Convert the values of the columns. Values that do not fit their column stay the same."""
    result = dict(row)
    for column in layout.schema:
        if column.name in row:
            with suppress(ValueError):
                result[column.name] = of_json(row[column.name], column.type)
    return result


def parse_object(row: Mapping[str, Any], layout: FileLayout) -> Signed:
    """Return the row and weight of named values. Raises Malformed."""
    weight = _weight(row, layout) if layout.signed else 1
    if layout.optional is not None:
        _refuse_others(row, layout)
    if weight == BY_KEY:
        row = {**dict.fromkeys(column.name for column in layout.others), **row}
    elif layout.optional and weight is not None and 0 < weight <= MOST:
        row = {**layout.optional, **row}
    check_names(row, layout)
    values = []
    for column in layout.schema:
        value, reason = fitted(row[column.name], column, layout.rounding)
        values.append(value)
        if reason is not None and (weight != BY_KEY or column.name in layout.key):
            raise Malformed(f"column {column.name}: {reason}")
    if weight is None:
        raise _without_weight(row, layout)
    return tuple(values), weight


def _refuse_others(names: Iterable[str], layout: FileLayout) -> None:
    """Raise Malformed for a name that is neither a column's nor that of a weight."""
    passed = (*layout.schema.names, *layout.sign_columns, *(FEED_COLUMNS if layout.signed else ()))
    for name in names:
        if name not in passed:
            hint = did_you_mean(str(name), layout.schema.names)
            raise Malformed(f"there is no column {name}", hint=hint)


def check_names(names: Iterable[str], layout: FileLayout) -> None:
    """Raise Malformed unless `names` has every column, and one that tells insertions from deletions if needed."""
    known = list(names)
    for column in layout.schema.names:
        if column not in known:
            spare = [name for name in known if name not in layout.schema.names]
            result = nearest(column, spare)
            raise Malformed(f"column {column} is missing", hint=f"there is a column {result}" if result else "")
    if layout.signed and not any(name in known for name in layout.sign_columns):
        raise Malformed(f"neither an insertion nor a deletion: expected {_signs_wanted(layout)}")


def _signs_wanted(layout: FileLayout) -> str:
    if OP in layout.schema.names:
        return f"a column {WEIGHT} with 1 or -1"
    return f"a column {OP} with + or -, or {WEIGHT} with 1 or -1"


def _weight(row: Mapping[str, Any], layout: FileLayout) -> int | None:
    """Return the weight of a row, UPSERT or BY_KEY; None if there is none, or it is invalid."""
    name, value = _weight_field(row, layout)
    weight = layout.words(name).get(value.lower()) if isinstance(value, str) else None
    if name == WEIGHT and isinstance(value, int) and not isinstance(value, bool) and 0 < abs(value) <= MOST:
        weight = value
    is_key = weight == -1 and layout.has_key_alone and all(row.get(c.name) is None for c in layout.others)
    return BY_KEY if is_key else weight


def _weight_field(row: Mapping[str, Any], layout: FileLayout) -> tuple[str, Any]:
    """Return the first column with a weight, and its value."""
    return next(((name, row[name]) for name in layout.sign_columns if row.get(name) is not None), ("", None))


def _without_weight(row: Mapping[str, Any], layout: FileLayout) -> Malformed:
    name, value = _weight_field(row, layout)
    if not name:
        return Malformed(f"neither an insertion nor a deletion: expected {_signs_wanted(layout)}")
    if name == OP and isinstance(value, str) and needs_key(value):
        return Malformed(f"column {name}: found {shown(value)}, and the table has no key", hint=WITHOUT_KEY)
    known = layout.words(name)
    wanted = f"one of {', '.join(known)}" if known else f"an integer other than 0, from -{MOST} to {MOST}"
    return Malformed(f"column {name}: expected {wanted}, found {shown(value)}")


def _key_place(line: str, error: Malformed) -> tuple[int, int]:
    """Return the position of the key that the finding is about; the start of the line if it is not found."""
    name = re.match(r"(?:there is no )?column (\w+)(?:: |$)", error.reason)
    match = re.search(rf'"{re.escape(name[1])}"\s*:', line) if name else None
    return (match.start() + 1, match.end() - match.start() - 1) if match else (1, 1)

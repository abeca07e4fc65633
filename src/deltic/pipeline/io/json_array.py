"""JSON files with one array of rows, lists or objects, as Soufflé reads and writes them.

A record is a list of its fields or an object with their names, nil is null. Soufflé has no JSON of algebraic data
types: here a value is a list of its branch and the fields, ["$Pair", 1, 2], without fields the branch alone, "$Point".
The text of a structure is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from deltic.datalog.souffle.functions.structures import (
    FLOATS,
    KINDS,
    LETTERS,
    NIL,
    family_types,
    field_of_text,
    tokens,
    written,
)
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.envelopes import Signed
from deltic.pipeline.io.layout import FileLayout, Records
from deltic.pipeline.io.objects import of_json_object
from deltic.pipeline.io.parsed import Malformed, ParsedRows, rows_to_table
from deltic.pipeline.io.render import json_rows, map_distinct
from deltic.pipeline.io.values import shown

if TYPE_CHECKING:
    from deltic.pipeline.io.directives import Output


def is_array(data: bytes) -> bool:
    """Return whether a text with this start is an array, not lines of objects."""
    return data.lstrip(b" \t\r\n").startswith(b"[")


def read_array(data: bytes, layout: FileLayout, file: str) -> ParsedRows:
    """Return the rows of a file. Findings have the number of the row, from 1. DataError if it is not an array."""
    try:
        result = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise DataError([Diagnostic(f"not JSON: {error}", file)]) from error
    rows, rejects = list[Signed](), list[Diagnostic]()
    for number, value in enumerate(result, 1):
        try:
            rows.append(of_json_object(_with_structures(_named(value, layout), layout), layout))
        except Malformed as error:
            error.reason = f"row {number}, {error.reason}"
            rejects.append(error.at(file, number, json.dumps(value, default=str, ensure_ascii=False)))
    return ParsedRows(rows_to_table(rows, layout.schema, layout.signed), tuple(rejects))


def _named(value: Any, layout: FileLayout) -> dict[str, Any]:
    """Return a row by column name. Raises Malformed."""
    if isinstance(value, dict):
        return value
    if value is None and not layout.width:
        return {}
    if not isinstance(value, list):
        raise Malformed("expected a list of the columns' values, or an object with their names")
    if len(value) != layout.width:
        raise Malformed(f"expected {layout.width} values, found {len(value)}")
    return dict(zip(layout.schema.names, value, strict=True))


def _with_structures(row: dict[str, Any], layout: FileLayout) -> dict[str, Any]:
    """Return a row with the texts of its structures. Raises Malformed."""
    result = dict(row)
    for name, family in layout.structures:
        try:
            result |= {name: structure_of_json(family, row[name], layout.records)} if name in row else {}
        except ValueError as error:
            raise Malformed(f"column {name}: {error}") from None
    return result


def write_array(rows: pa.Table, output: Output, stream: IO[bytes]) -> None:
    """Write the rows as one array of objects or lists, one row on a line; null for rows without columns."""
    if not rows.num_columns:
        stream.write(b"[" + b",\n".join([b"null\n"] * len(rows)) + b"]\n")
        return
    ready = {
        name: map_distinct(
            rows[name], partial(structure_to_json, family, records=output.records if output.objects else None)
        )
        for name, family in (output.structures or {}).items()
    }
    lines = json_rows(rows, output.objects, ready)
    stream.write(b"[" + b",\n".join(line.as_py().encode() for line in lines) + b"]\n")


_SIGN, _TEXT, _VALUE = "'sign", "'text", "'value"
"""The kind of the next step: skip a sign of the text, write a text, or convert a value of a type."""


def structure_to_json(family: str, text: str, records: Records | None) -> str:
    """Return the JSON of a structure of a family. Records are lists, or objects if their names are given."""
    types, root = family_types(family)
    names = None if records is None else dict(records)
    given, result = tokens(text), list[str]()
    pending = [(_VALUE, root)]
    while pending:
        kind, wanted = pending.pop()
        if kind == _TEXT:
            result.append(wanted)
        elif kind == _SIGN:
            next(given)
        elif wanted in LETTERS:
            result.append(json.dumps(field_of_text(LETTERS[wanted], next(given)), ensure_ascii=False))
        else:
            head = next(given)
            keys = None if names is None else names.get(wanted, ())
            pending += reversed(_begun(head, types[wanted][head], keys))
    return "".join(result)


def _begun(head: str, parts: Sequence[str], names: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return what follows the head of a value: text to skip, text to write, and the fields."""
    if head == NIL:
        return [(_TEXT, "null")]
    fields = [part for part in parts if not part.startswith("'")]
    if not fields:
        text = json.dumps(head) if head != "[" else "[]" if names is None else "{}"
        return [(_TEXT, text), *((_SIGN, part) for part in parts)]
    is_record = head == "["
    is_object = is_record and names is not None
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in names or ()] if is_object else [""] * len(fields)
    first = "{" if is_object else "[" if is_record else f"[{json.dumps(head)}, "
    result = [(_TEXT, first)] if is_record else [(_TEXT, first), (_SIGN, "(")]
    for place, (field, key) in enumerate(zip(fields, keys, strict=True)):
        result += [(_SIGN, ","), (_TEXT, ", ")] if place else []
        result += [(_TEXT, key), (_VALUE, field)]
    return [*result, (_SIGN, "]"), (_TEXT, "}" if is_object else "]")]


def structure_of_json(family: str, value: Any, records: Records) -> str:
    """Return the text of a structure of a family. ValueError names an invalid part."""
    if isinstance(value, str):
        return value
    types, root = family_types(family)
    names, result = dict(records), list[str]()
    pending: list[tuple[str, Any]] = [(root, value)]
    while pending:
        wanted, given = pending.pop()
        if wanted == _TEXT:
            result.append(given)
        elif wanted in LETTERS:
            result.append(_field(wanted, given))
        else:
            head, fields = _taken_apart(wanted, types[wanted], given, names.get(wanted, ()))
            kinds = [part for part in types[wanted][head] if not part.startswith("'")]
            if len(fields) != len(kinds):
                raise ValueError(f"expected {len(kinds)} fields of a {wanted}, found {shown(given)}")
            parts = [part for pair in zip(kinds, fields, strict=True) for part in ((_TEXT, ", "), pair)][1:]
            begin, end = ("[", "]") if head == "[" else (f"{head}(", ")") if kinds else (head, "")
            pending += reversed([(_TEXT, begin), *parts, (_TEXT, end)])
    return "".join(result)


def _taken_apart(
    type_: str, branches: Mapping[str, Sequence[str]], value: Any, names: Sequence[str]
) -> tuple[str, Sequence[Any]]:
    """Return the head of a value of a type, and its fields."""
    if value is None and NIL in branches:
        return NIL, ()
    if isinstance(value, str) and value in branches:
        return value, ()
    if isinstance(value, list) and "[" in branches:
        return "[", value
    if isinstance(value, list) and value and isinstance(value[0], str) and value[0] in branches:
        return value[0], value[1:]
    if isinstance(value, dict) and "[" in branches and value.keys() == {*names}:
        return "[", [value[name] for name in names]
    raise ValueError(f"expected a value of type {type_}, found {shown(value)}")


def _field(type_: str, value: Any) -> str:
    """Return the text of a field that is not a structure."""
    letter = LETTERS[type_]
    if letter in FLOATS and isinstance(value, int | Decimal) and not isinstance(value, bool):
        return written(letter, float(value))
    if letter == "s" and isinstance(value, str):
        return written(letter, value)
    if letter in "ijuv" and isinstance(value, int) and not isinstance(value, bool):
        least, greatest = KINDS[letter].range
        if least <= value <= greatest:
            return str(value)
    raise ValueError(f"expected a value of type {type_}, found {shown(value)}")

"""Structures in JSON, as Soufflé has them: a record is a list of its fields or an object with their names, nil is null.

Soufflé has none of algebraic data types: here a value is a list of its branch and the fields, ["$Pair", 1, 2], without
fields the branch alone, "$Point". The text of a structure is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

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
from deltic.pipeline.io.layout import Records
from deltic.pipeline.io.values import shown

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
        return [(_TEXT, json.dumps(head)), *((_SIGN, part) for part in parts)] if head != "[" else _empty(names, parts)
    is_record = head == "["
    is_object = is_record and names is not None
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in names or ()] if is_object else [""] * len(fields)
    first = "{" if is_object else "[" if is_record else f"[{json.dumps(head)}, "
    result = [(_TEXT, first)] if is_record else [(_TEXT, first), (_SIGN, "(")]
    for place, (field, key) in enumerate(zip(fields, keys, strict=True)):
        result += [(_SIGN, ","), (_TEXT, ", ")] if place else []
        result += [(_TEXT, key), (_VALUE, field)]
    return [*result, (_SIGN, "]"), (_TEXT, "}" if is_object else "]")]


def _empty(names: Sequence[str] | None, parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the steps for a record without fields."""
    return [(_TEXT, "[]" if names is None else "{}"), *((_SIGN, part) for part in parts)]


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

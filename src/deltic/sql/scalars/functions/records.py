"""Rules of functions that turn values into JSON, and JSON into values of a type that is named."""

from __future__ import annotations

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from deltic.errors import ProgramError
from deltic.functions.records import schema_of
from deltic.sql.scalars.functions.rules import attempt, literal_of, rule, to
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant
from deltic.sql.text import SourceText
from deltic.sql.types import type_of
from deltic.values.types import Kind, Type
from deltic.values.types.names import type_name

TEXT = Type.STRING
_ROOTS = (Kind.STRUCT, Kind.ARRAY, Kind.MAP)
_INSIDE = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


@rule("to_json")
def to_json(value: Typed) -> Typed:
    """A struct, an array or a map as JSON."""
    type_ = value.type.type
    if value.is_null or type_.kind not in _ROOTS or _has(type_, _INSIDE):
        raise Mismatch("to_json takes a struct, an array or a map without intervals, and no options")
    return attempt("to_json", value, constant(type_name(type_), TEXT))


@rule("from_json")
def from_json(text: Typed, schema: Typed) -> Typed:
    """The value of a JSON text, of a type that is written as in a table's declaration."""
    type_ = _schema(literal_of(schema, "the schema of from_json"))
    if type_.kind not in _ROOTS or _has(type_, _INSIDE) or (type_.kind is Kind.MAP and type_.key is not TEXT):
        raise Mismatch("the schema of from_json is that of a struct, an array, or a map of STRING to something")
    return attempt("from_json", to(text, TEXT), constant(type_name(type_), TEXT))


@rule("schema_of_json")
def schema_of_json(text: Typed) -> Typed:
    """The type of a JSON text, which is written here, as a schema of from_json."""
    found = schema_of(literal_of(text, "the text of schema_of_json"))
    if found is None:
        raise Mismatch("the text is no JSON")
    return constant(found, TEXT)


def _has(type_: Type, kinds: tuple[Kind, ...]) -> bool:
    """Whether values of a type have parts of some kinds."""
    match type_.kind:
        case Kind.ARRAY:
            return _has(type_.element.type, kinds)
        case Kind.MAP:
            return _has(type_.key, kinds) or _has(type_.value.type, kinds)
        case Kind.STRUCT:
            return any(_has(column.type, kinds) for column in type_.fields)
    return type_.kind in kinds


def _schema(written: str) -> Type:
    """The type that a text names: columns with their types, or one type."""
    for text in (f"STRUCT<{written}>", written):
        try:
            return type_of(parse_one(text, into=exp.DataType, dialect="spark"), SourceText(text))
        except (ParseError, ProgramError, ValueError):
            continue
    raise Mismatch(f"{written!r} is no schema; write 'a INT, b ARRAY<STRING>' or another type")

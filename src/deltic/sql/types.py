"""The types of SQL: from their names in statements, and back."""

from __future__ import annotations

import re

from sqlglot import exp

from deltic.sql.collations import HINT, Collation, Modifier, part, texts_of, within
from deltic.sql.remedies import of_type
from deltic.sql.text import SourceText
from deltic.values.types import Column, Kind, Type

VOID = Type._of(Kind.BOOLEAN, ("void",))
"""What NULL is of as it is written, and an empty array's elements; no value of a circuit has it."""
_D = exp.DataType.Type
_SIMPLE = {
    _D.BOOLEAN: Type.BOOLEAN,
    _D.TINYINT: Type.INT8,
    _D.SMALLINT: Type.INT16,
    _D.INT: Type.INT32,
    _D.BIGINT: Type.INT64,
    _D.FLOAT: Type.FLOAT32,
    _D.DOUBLE: Type.FLOAT64,
    _D.TEXT: Type.STRING,
    _D.BINARY: Type.BINARY,
    _D.DATE: Type.DATE,
    _D.TIME: Type.TIME,
    _D.TIMESTAMP: Type.TIMESTAMP,
    _D.TIMESTAMPTZ: Type.TIMESTAMP,
    _D.TIMESTAMPLTZ: Type.TIMESTAMP,
    _D.TIMESTAMPNTZ: Type.TIMESTAMP_NTZ,
}
_WRITTEN = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT8: "TINYINT",
    Kind.INT16: "SMALLINT",
    Kind.INT32: "INT",
    Kind.INT64: "BIGINT",
    Kind.UINT8: "SMALLINT",
    Kind.UINT16: "INT",
    Kind.UINT32: "BIGINT",
    Kind.UINT64: "DECIMAL(20,0)",
    Kind.FLOAT32: "FLOAT",
    Kind.FLOAT64: "DOUBLE",
    Kind.STRING: "STRING",
    Kind.BINARY: "BINARY",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME(6)",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    Kind.YEAR_MONTH_INTERVAL: "INTERVAL YEAR TO MONTH",
    Kind.DAY_TIME_INTERVAL: "INTERVAL DAY TO SECOND",
}
_NO_VARIANT = "its values have no order to be kept by: keep JSON as a STRING, and read it by from_json"
_HINT = (
    "the types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, BINARY, DATE, "
    "TIME, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL, ARRAY<…>, STRUCT<…> and MAP<…, …>"
)


def check_order(type_: Type, node: exp.Expression | None, what: str, source: SourceText) -> None:
    """Raise ProgramError where values of a type without an order would be compared."""
    if not type_.is_ordered:
        message = f"{what} compares values, and this has type {written(type_)}: maps have no order"
        raise source.error(node, message, "compare map_entries of them, or GROUP BY the map")


def type_of(data_type: exp.DataType, source: SourceText) -> Type:
    """Return the type that a statement names, what it holds may be NULL; ProgramError for an unknown type.

    VARCHAR(n) and CHAR(n) are those of columns alone, which have a bound for what is stored in them.
    """
    kind, parameters = data_type.this, data_type.expressions
    if isinstance(kind, exp.Interval):
        return _interval(data_type, kind, source)
    if kind is _D.INTERVAL:
        raise source.error(
            data_type, "an INTERVAL has fields", "write INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND"
        )
    if kind is _D.DECIMAL:
        return _decimal(data_type, source)
    if kind is _D.ARRAY and parameters:
        return Type.array(type_of(parameters[0], source).or_null)
    if kind is _D.MAP and len(parameters) == 2:
        return Type.map(type_of(parameters[0], source), type_of(parameters[1], source).or_null)
    if kind is _D.STRUCT:
        return _struct(data_type, source)
    if kind in (_D.VARCHAR, _D.CHAR, _D.NCHAR, _D.NVARCHAR):
        length = "".join(f"({part.name})" for part in parameters)
        raise source.error(data_type, f"{kind.value}{length} is not supported here", "use STRING")
    if kind not in _SIMPLE:
        name = source.written(data_type) if kind is _D.USERDEFINED else data_type.sql()
        hint = _NO_VARIANT if kind is _D.VARIANT else of_type(name) or _HINT
        raise source.error(data_type, f"there is no type {name}", hint)
    return _SIMPLE[kind]


def modifier_of(part: exp.Expression, source: SourceText) -> Modifier | None:
    """Return the collations that a type names, or that of a field: STRING COLLATE UNICODE_CI. Raises ProgramError for
    an unknown one.
    """
    kind = part.args.get("kind") if isinstance(part, exp.ColumnDef) else part
    own = (constraint.args.get("kind") for constraint in part.args.get("constraints") or ())
    named = next(
        (one.this for one in own if isinstance(one, exp.CollateColumnConstraint)), kind and kind.args.get("collate")
    )
    if named is None:
        return within(*(modifier_of(each, source) for each in kind.expressions)) if kind else None
    result = Collation.named(named.name)
    if result is None:
        raise source.error(part, f"there is no collation {named.name}", HINT)
    return result


def collated(type_: Type, modifier: Modifier | None) -> str:
    """Return collations as catalogs keep them: the name of a text's, the type of other values; "" for none."""
    if all(collation is None or collation.is_plain for collation in texts_of(type_, modifier)):
        return ""
    return modifier.name if isinstance(modifier, Collation) else simple_string(type_, modifier)


def collated_as(type_: Type, text: str | None) -> Modifier | None:
    """Return the collations of a type that `collated` has written."""
    if not text or type_ is Type.STRING:
        return Collation.named(text) if text else None
    names = iter(_TEXTS.findall(text))

    def read(own: Type) -> Modifier | None:
        return Collation.named(next(names)) if own is Type.STRING else within(*(read(one.type) for one in own.parts))

    return read(type_)


_TEXTS = re.compile(r"(?<=[<:,])string(?: collate (\w+))?(?=[,>])")


def written(type_: Type) -> str:
    """Return the name of a type in SQL; that of the next wider one for an unsigned integer."""
    match type_.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({type_.precision},{type_.scale})"
        case Kind.ARRAY:
            return f"ARRAY<{written(type_.element.type)}>"
        case Kind.MAP:
            return f"MAP<{written(type_.key)}, {written(type_.value.type)}>"
        case Kind.STRUCT:
            return f"STRUCT<{', '.join(f'{column.name}: {written(column.type)}' for column in type_.fields)}>"
        case _:
            return "VOID" if type_ is VOID else _WRITTEN[type_.kind]


def simple_string(type_: Type, modifier: Modifier | None = None) -> str:
    """Return the name of a type as Spark's `typeof` and DESCRIBE have it: in lower case, except for the names of
    fields.
    """
    if isinstance(modifier, Collation):
        return f"string collate {modifier.name}" if modifier.name != "UTF8_BINARY" else "string"
    if isinstance(modifier, tuple):
        return f"interval {' to '.join(dict.fromkeys(modifier))}".lower()
    parts = [simple_string(own.type, part(modifier, place)) for place, own in enumerate(type_.parts)]
    if type_.kind is Kind.STRUCT:
        parts = [f"{field.name}:{own}" for field, own in zip(type_.fields, parts, strict=True)]
    return f"{type_.kind.value}<{','.join(parts)}>" if type_.is_composite else written(type_).lower()


def _decimal(data_type: exp.DataType, source: SourceText) -> Type:
    digits = [int(p.name) for p in data_type.expressions if p.name.isdecimal()]
    if len(digits) < len(data_type.expressions):
        raise source.error(data_type, "DECIMAL takes the number of digits, and of those after the point")
    try:
        return Type.decimal(*(digits or (10, 0)))
    except (ValueError, TypeError) as error:
        raise source.error(data_type, str(error)) from None


def _struct(data_type: exp.DataType, source: SourceText) -> Type:
    fields = [_field(part, source) for part in data_type.expressions]
    try:
        return Type.struct(fields)
    except ValueError as error:
        raise source.error(data_type, str(error)) from None


def _field(part: exp.Expression, source: SourceText) -> Column:
    kind = part.args.get("kind")
    if not isinstance(kind, exp.DataType):
        raise source.error(part, "a field of a STRUCT has a name and a type", "write STRUCT<name: TYPE, …>")
    required = any(
        isinstance(c.args.get("kind"), exp.NotNullColumnConstraint) for c in part.args.get("constraints") or ()
    )
    return Column(part.name, type_of(kind, source), nullable=not required)


def _interval(data_type: exp.DataType, interval: exp.Interval, source: SourceText) -> Type:
    unit = interval.args.get("unit")
    fields = {
        part.name.upper().rstrip("S")
        for part in ([unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit])
        if part
    }
    if fields and fields <= {"YEAR", "MONTH"}:
        return Type.YEAR_MONTH_INTERVAL
    if fields and fields <= {"DAY", "HOUR", "MINUTE", "SECOND"}:
        return Type.DAY_TIME_INTERVAL
    raise source.error(data_type, "no such INTERVAL", "write INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND")

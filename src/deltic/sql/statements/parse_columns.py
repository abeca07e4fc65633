"""The columns of a definition: names, types, constraints, defaults, and how late their values may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlglot import exp

from deltic.catalog.lateness import TYPES, ColumnStorage, Lateness, in_units
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError, ProgramError, did_you_mean
from deltic.sql.scalars import Typed, typed
from deltic.sql.scalars.coercion import is_assignable
from deltic.sql.scalars.functions.texts import within_bound
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import Tokens, data_type, expression, is_type, split, token_error, tree
from deltic.sql.text import SourceText
from deltic.sql.types import collated, modifier_of, type_of, written
from deltic.values.types import Column, Schema, Type

_CONSTRAINTS = ("CHECK", "UNIQUE", "REFERENCES", "FOREIGN", "GENERATED", "IDENTITY")
_AFTER_TYPE = ("NOT", "NULL", "PRIMARY", "COMMENT", "CONSTRAINT", "LATENESS", "DEFAULT", *_CONSTRAINTS)


@dataclass
class ColumnDefinitions:
    """The columns between parentheses, those of the primary key, how late rows may come, and how values are stored."""

    columns: list[tuple[exp.Identifier, Column]] = field(default_factory=list)
    key: list[exp.Identifier] = field(default_factory=list)
    lateness: Lateness | None = None
    storing: list[ColumnStorage] = field(default_factory=list)


def parse_columns(cursor: Cursor) -> ColumnDefinitions:
    """Return what stands between the parentheses."""
    if not cursor.sees("("):
        cursor.refuse("expected the columns in parentheses, as in (id INT NOT NULL, name STRING)")
    made = ColumnDefinitions()
    watermarks: list[tuple[exp.Identifier, Tokens]] = []
    for tokens in cursor.parts():
        inner = Cursor(tokens, cursor.source)
        if inner.sees("WATERMARK", "FOR"):
            watermarks.append(parse_watermark(inner))
            continue
        if inner.take("CONSTRAINT"):
            inner.name("the name of the constraint")
        if inner.take("PRIMARY", "KEY"):
            result = [Cursor(part, cursor.source).name("the name of a column") for part in inner.parts()]
            inner.end()
        else:
            result = parse_column(inner, made)
        if made.key and result:
            raise cursor.source.error(
                result[0], "there are two primary keys", "write PRIMARY KEY (a, b) for one of two"
            )
        made.key += result
    for name, tokens in watermarks:
        column = _named_column(name, made.columns, cursor)
        _set_lateness(made, lateness_of(column, tokens, cursor, True), tokens, cursor)
    return made


def _named_column(name: exp.Identifier, columns: Sequence[tuple[exp.Identifier, Column]], cursor: Cursor) -> Column:
    """Return the column of that name; raises ProgramError where there is none."""
    result = next((column for own, column in columns if own.name.lower() == name.name.lower()), None)
    if result is None:
        hint = did_you_mean(name.name, [own.name for own, _ in columns]) or "name a column of the table"
        raise cursor.source.error(name, f"there is no column {name.name}", hint)
    return result


def _set_lateness(made: ColumnDefinitions, found: Lateness, tokens: Tokens, cursor: Cursor) -> None:
    if made.lateness is not None:
        message = f"{made.lateness.column} says already how late rows may come"
        raise token_error(cursor.source, tokens[0], message, "a table has one LATENESS or WATERMARK FOR")
    made.lateness = found


def parse_column(cursor: Cursor, made: ColumnDefinitions, ends: Sequence[str] = ()) -> list[exp.Identifier]:
    """One column, up to one of the words that may follow it: it is added; its name where it is the key by itself."""
    _refuse_constraint(cursor)
    name = cursor.name("the name of a column")
    type_, storing = parse_type(cursor, name, ends)
    nullable, is_key = True, False
    while not (cursor.at_end or any(map(cursor.sees, ends))):
        if cursor.take("NOT", "NULL"):
            nullable = False
        elif cursor.take("PRIMARY", "KEY"):
            is_key = True
        elif cursor.take("COMMENT"):
            cursor.text("a comment")
        elif cursor.sees("LATENESS"):
            tokens = parse_lateness(cursor)
            _set_lateness(made, lateness_of(Column(name.name, type_), tokens, cursor, False), tokens, cursor)
        elif cursor.sees("DEFAULT"):
            storing = parse_default(cursor, Column(name.name, type_), storing)
        elif not cursor.take("NULL"):
            _refuse_constraint(cursor)
            cursor.refuse("expected a comma, NOT NULL, PRIMARY KEY, DEFAULT, LATENESS or COMMENT")
    made.columns.append((name, Column(name.name, type_, nullable)))
    made.storing.append(storing)
    return [name] if is_key else []


def parse_type(cursor: Cursor, name: exp.Identifier, ends: Sequence[str] = ()) -> tuple[Type, ColumnStorage]:
    """Skip the longest type that comes next."""
    after = [*_AFTER_TYPE, *ends]
    width = next((n for n, t in enumerate(cursor.rest) if t.text.upper().partition(" ")[0] in after), len(cursor.rest))
    if not width:
        cursor.refuse(f"expected the type of {name.name}")
    result = next((n for n in range(width, 0, -1) if is_type(cursor.rest[:n], cursor.source)), 1)
    named = stored_type(data_type(cursor.rest[:result], cursor.source), name.name, cursor.source)
    cursor.position += result
    return named


def _refuse_constraint(cursor: Cursor) -> None:
    result = cursor.rest[0].text.upper() if cursor.rest else ""
    if result.split()[:1] and result.split()[0] in _CONSTRAINTS:
        raise token_error(cursor.source, cursor.rest[0], f"{result} is not supported", "NOT NULL and PRIMARY KEY are")


def checked_schema(cursor: Cursor, columns: Sequence[tuple[exp.Identifier, Column]], key: Sequence[str] = ()) -> Schema:
    """Return the columns as a schema; those of the key are never NULL."""
    seen: set[str] = set()
    for name, _ in columns:
        if name.name.lower() in seen:
            raise cursor.source.error(name, f"there are two columns {name.name}; case makes no difference")
        seen.add(name.name.lower())
    if not columns:
        raise token_error(cursor.source, cursor.tokens[-1], "a table has at least one column")
    return Schema(tuple(Column(c.name, c.type, c.nullable and c.name.lower() not in key) for _, c in columns))


# How values are stored


_FIXED = (exp.DataType.Type.CHAR, exp.DataType.Type.NCHAR)
_TEXTS = (exp.DataType.Type.VARCHAR, *_FIXED)
_AFTER = ("NOT", "PRIMARY", "COMMENT", "LATENESS", "CHECK", "UNIQUE", "REFERENCES", "FIRST", "AFTER")


def stored_type(data_type: exp.DataType, name: str, source: SourceText) -> tuple[Type, ColumnStorage]:
    """Return the type of a column, and how values are stored in it; VARCHAR(n) and CHAR(n) are texts of bounded
    length.
    """
    parameters = data_type.expressions
    if data_type.this not in _TEXTS or (data_type.this in _FIXED and not parameters):
        type_ = type_of(data_type, source)
        return type_, ColumnStorage(name, collation=collated(type_, modifier_of(data_type, source)))
    limit = int(parameters[0].name) if parameters else None
    return Type.STRING, ColumnStorage(name, limit, data_type.this in _FIXED)


def parse_default(cursor: Cursor, column: Column, storing: ColumnStorage) -> ColumnStorage:
    """Skip DEFAULT and its value, which is a constant that fits the column."""
    cursor.need("DEFAULT")
    tokens = cursor.up_to("the value of DEFAULT", *_AFTER)
    _fitting(tokens, column, cursor.source)
    return replace(storing, default=cursor.source.text[tokens[0].start : tokens[-1].end + 1])


def _fitting(tokens: Tokens, column: Column, source: SourceText) -> Typed:
    """Return the value of a DEFAULT of a column. Raises ProgramError for one that is no constant, or none of the
    column.
    """
    result = default_value(expression(tokens, source), source)
    if not (result.is_null or is_assignable(result.type.type, column.type)):
        message = f"column {column.name} is {written(column.type)}, and its DEFAULT is {written(result.type.type)}"
        raise token_error(source, tokens[0], message, f"convert it: CAST(… AS {written(column.type)})")
    return result


def default_value(node: exp.Expression, source: SourceText) -> Typed:
    """Return the value of a DEFAULT. Raises ProgramError for one that is no constant."""

    def resolve(reference: exp.Column) -> Typed:
        raise source.error(reference, "a DEFAULT must be a constant", "give the value in INSERT")

    return typed(node, resolve, source)


def existing_value(column: Column, storing: ColumnStorage) -> Any:
    """Return the value of present rows in a new column: its DEFAULT as INSERT would store it, None for NULL.

    Raises ProgramError for one that is no constant, or no value of the column.
    """
    if not storing.default:
        return None
    source = SourceText(storing.default, f"<DEFAULT of {column.name}>")
    tokens = split(source)[0]
    given = _fitting(tokens, column, source)
    cast = exp.cast(exp.column("value"), written(column.type), dialect="spark")
    result = typed(cast, lambda _: given, source)
    try:
        bounded = result if storing.limit is None else within_bound(result, storing.limit, storing.fixed)
        return evaluate(bounded.expression, {}, {})
    except EvaluationError as error:
        raise token_error(source, tokens[0], f"column {column.name}: {error}") from None


# How late rows may come


_ENDS = [[word] for word in ("NOT", "NULL", "PRIMARY", "COMMENT", "LATENESS")]
_WATERMARK = "write WATERMARK FOR ts AS ts - INTERVAL 1 HOUR"


def parse_lateness(cursor: Cursor) -> Tokens:
    """Skip LATENESS and the length that follows it: the length, as it is written."""
    cursor.need("LATENESS")
    count = next((n for n, t in enumerate(cursor.rest) if t.text.upper().split()[:1] in _ENDS), len(cursor.rest))
    if not count:
        cursor.refuse("expected a length", "write LATENESS INTERVAL 1 HOUR, or of integers LATENESS 100")
    result = cursor.rest[:count]
    cursor.position += count
    return result


def parse_watermark(cursor: Cursor) -> tuple[exp.Identifier, Tokens]:
    """Return the column of WATERMARK FOR, and the expression after AS."""
    cursor.need("WATERMARK", "FOR")
    name = cursor.name("the name of a column")
    cursor.need("AS")
    if cursor.at_end:
        cursor.refuse("expected the column less an interval", _WATERMARK)
    return name, cursor.rest


def lateness_of(column: Column, tokens: Tokens, cursor: Cursor, is_watermark: bool) -> Lateness:
    """Return what is written of a column. Raises ProgramError for a column, or a length, that cannot be."""
    if column.type not in TYPES:
        message = f"{column.name} is {written(column.type)}, which is no time that rows could be late by"
        raise _error(cursor, tokens, message, "a lateness is one of a TIMESTAMP, a DATE or an integer")
    node: exp.Expression | None = tree(tokens, cursor.source)
    if is_watermark:
        node = _behind(node, column, tokens, cursor)
    length = 0 if node is None else _length(node, column, tokens, cursor)
    if length < 0:
        raise _error(cursor, tokens, "the length is below zero", "write how late rows may come")
    return Lateness(column.name, length)


def _behind(node: exp.Expression | None, column: Column, tokens: Tokens, cursor: Cursor) -> exp.Expression | None:
    """By how much an expression is behind the column; None for the column itself."""
    if _is(node, column):
        return None
    if isinstance(node, exp.Sub) and _is(node.this, column):
        result: exp.Expression = node.expression
        return result
    raise _error(cursor, tokens, f"a watermark is {column.name}, or {column.name} less a length", _WATERMARK)


def _is(node: exp.Expression | None, column: Column) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.lower() == column.name.lower()


def _length(node: exp.Expression, column: Column, tokens: Tokens, cursor: Cursor) -> int:
    """Return the length in the unit of the column."""

    def refuse(_: exp.Column) -> Typed:
        raise _error(cursor, tokens, "the length is a constant", "write LATENESS INTERVAL 1 HOUR")

    result = typed(node, refuse, cursor.source)
    try:
        value: Any = evaluate(result.expression, {}, {})
    except EvaluationError as error:
        raise _error(cursor, tokens, str(error), "write LATENESS INTERVAL 1 HOUR") from None
    units = in_units(column.type, value) if isinstance(value, timedelta) else None
    if column.type not in _MEANT and isinstance(value, int) and not isinstance(value, bool):
        units = value
    if units is None:
        shown = cursor.source.text[tokens[0].start : tokens[-1].end + 1]
        meant = _MEANT.get(column.type, "an integer")
        raise _error(cursor, tokens, f"{shown} is no length of times that are {written(column.type)}", f"write {meant}")
    return units


_MEANT = {
    Type.DATE: "an interval of whole days",
    **dict.fromkeys((Type.TIMESTAMP, Type.TIMESTAMP_NTZ), "an interval of weeks, days, hours or less"),
}


def _error(cursor: Cursor, tokens: Tokens, message: str, hint: str) -> ProgramError:
    return ProgramError([cursor.source.at(tokens[0].start, tokens[-1].end + 1, message, hint)])

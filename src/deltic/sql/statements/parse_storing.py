"""VARCHAR(n), CHAR(n) and DEFAULT of a column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from deltic.catalog.storing import ColumnStorage
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError
from deltic.sql.scalars import Typed, typed
from deltic.sql.scalars.coercion import is_assignable
from deltic.sql.scalars.functions.texts import within_bound
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import Tokens, expression, split, token_error
from deltic.sql.text import SourceText
from deltic.sql.types import collated, modifier_of, type_of, written
from deltic.values.types import Column, Type

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
    begin = cursor.position
    while not cursor.at_end and not any(cursor.sees(word) for word in _AFTER):
        if not cursor.group():
            cursor.position += 1
    tokens = cursor.tokens[begin : cursor.position]
    if not tokens:
        cursor.refuse("expected the value of DEFAULT")
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

"""How late rows may come: LATENESS after a column, or WATERMARK FOR column AS column - INTERVAL … among them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlglot import exp

from deltic.catalog.lateness import TYPES, Lateness, in_units
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError, ProgramError
from deltic.sql.scalars import Typed, typed
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import Tokens, tree
from deltic.sql.types import written
from deltic.values.types import Column, Type

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

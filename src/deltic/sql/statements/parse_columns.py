"""The columns of a definition: names, types, constraints, defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from deltic.catalog.lateness import Lateness
from deltic.catalog.storing import ColumnStorage
from deltic.errors import did_you_mean
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_lateness import lateness_of, parse_lateness, parse_watermark
from deltic.sql.statements.parse_storing import parse_default, stored_type
from deltic.sql.statements.reading import Tokens, data_type, is_type, token_error
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
    for name, written in watermarks:
        column = _named_column(name, made.columns, cursor)
        _set_lateness(made, lateness_of(column, written, cursor, True), written, cursor)
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

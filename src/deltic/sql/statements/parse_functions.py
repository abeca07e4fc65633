"""CREATE FUNCTION and DROP FUNCTION."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from deltic.sql.scalars.functions.written import Parameter, SqlFunction
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_columns import ColumnDefinitions, parse_column, parse_type
from deltic.sql.statements.reading import expression, query, token_error
from deltic.sql.statements.statements import CreateFunction, DropFunction
from deltic.values.types import Column

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_ENDS = ("RETURN", "LANGUAGE", "DETERMINISTIC", "CONTAINS", "READS", "SQL")


def parse_function(cursor: Cursor, replaces: bool) -> CreateFunction:
    """Return what follows CREATE [OR REPLACE] [TEMPORARY] FUNCTION."""
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the function")
    if not cursor.sees("("):
        remedy = "functions of Java and Python are not created so: give one of Python to pipeline.function"
        cursor.refuse("expected parameters in parentheses", remedy)
    parameters = tuple(_parameters(cursor))
    returns, columns = None, None
    if cursor.take("RETURNS"):
        if cursor.take("TABLE"):
            columns = tuple(_columns(cursor))
        else:
            returns, _ = parse_type(cursor, name, _ENDS)
    _characteristics(cursor)
    cursor.need("RETURN")
    if cursor.at_end:
        cursor.refuse("expected an expression" if columns is None else "expected a query")
    is_query = cursor.rest[0].text.upper() in _QUERIES
    is_bracketed = cursor.rest[0].text == "(" and columns is not None
    body = (query if is_query or is_bracketed else expression)(cursor.rest, cursor.source)
    if columns is not None and not (is_query or is_bracketed):
        raise token_error(cursor.source, cursor.rest[0], "expected a query, for the function returns a table")
    source, start, end = cursor.span
    place = source.at(start, end, "")
    made = SqlFunction(
        name.name,
        parameters,
        returns,
        columns,
        exp.Subquery(this=body) if is_query and columns is None else body,
        source,
        source.text[start:end],
        f"{place.file}:{place.line}:{place.column}",
    )
    return CreateFunction(source, start, end, name, made, replaces, unless_there)


def parse_drop_function(cursor: Cursor) -> DropFunction:
    """Return what follows DROP [TEMPORARY] FUNCTION."""
    if_there = cursor.take("IF", "EXISTS")
    name = cursor.name("the name of a function")
    cursor.end()
    return DropFunction(*cursor.span, name, if_there)


def _parameters(cursor: Cursor) -> Iterator[Parameter]:
    seen: set[str] = set()
    has_default = False
    for tokens in cursor.parts():
        inner = Cursor(tokens, cursor.source)
        name = inner.name("the name of a parameter")
        if name.name.lower() in seen:
            raise cursor.source.error(name, f"there are two parameters {name.name}; case makes no difference")
        seen.add(name.name.lower())
        type_, _ = parse_type(inner, name)
        default = None
        if inner.take("DEFAULT"):
            begin = inner.position
            while not (inner.at_end or inner.sees("COMMENT")):
                if not inner.group():
                    inner.position += 1
            if begin == inner.position:
                inner.refuse("expected the value of DEFAULT")
            default = expression(inner.tokens[begin : inner.position], cursor.source)
        elif has_default:
            raise cursor.source.error(name, f"{name.name} has no DEFAULT, and a parameter before it has one")
        has_default = default is not None
        if inner.take("COMMENT"):
            inner.text("a comment")
        inner.end()
        yield Parameter(name.name, type_, default)


def _columns(cursor: Cursor) -> Iterator[Column]:
    """Yield the columns after RETURNS TABLE; none where they are those of the query."""
    for tokens in cursor.parts():
        made = ColumnDefinitions()
        inner = Cursor(tokens, cursor.source)
        parse_column(inner, made)
        inner.end()
        yield made.columns[0][1]


def _characteristics(cursor: Cursor) -> None:
    """Skip the characteristics of a function that mean nothing here."""
    while not (cursor.at_end or cursor.sees("RETURN")):
        if cursor.take("LANGUAGE"):
            cursor.need("SQL")
        elif cursor.take("COMMENT"):
            cursor.text("a comment")
        elif cursor.sees("NOT", "DETERMINISTIC"):
            cursor.refuse("a function that is not deterministic is not supported", "rows that go are computed again")
        elif not any(
            cursor.take(*words) for words in (("DETERMINISTIC",), ("CONTAINS", "SQL"), ("READS", "SQL", "DATA"))
        ):
            cursor.refuse("expected RETURN, RETURNS, DETERMINISTIC or COMMENT")

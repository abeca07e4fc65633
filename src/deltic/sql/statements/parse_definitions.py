"""CREATE and DROP of tables, views and functions, DECLARE RECURSIVE VIEW."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from deltic.catalog import CatalogTable, External
from deltic.catalog.lateness import ColumnStorage
from deltic.errors import CatalogError
from deltic.sql.scalars.functions.written import Parameter, SqlFunction
from deltic.sql.statements import statements as st
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_columns import (
    ColumnDefinitions,
    checked_schema,
    parse_column,
    parse_columns,
    parse_type,
)
from deltic.sql.statements.reading import expression, query, token_error
from deltic.values.types import Column, Schema

_TABLE_CLAUSES = {
    "AS": "leave the columns out: the query defines them",
    "LIKE": "write the columns",
    "PARTITIONED": "Deltic keeps the rows itself: leave it out",
    "CLUSTERED": "Deltic keeps the rows itself: leave it out",
    "STORED": "Deltic keeps the rows itself: leave it out",
    "ROW": "Deltic keeps the rows itself: leave it out",
    "TBLPROPERTIES": "leave it out",
}
_REFUSED = {
    **dict.fromkeys(("GLOBAL", "EXTERNAL"), "leave the word out"),
    **dict.fromkeys(("INDEX", "UNIQUE INDEX"), "leave it out: Deltic keeps the column orders that views need"),
    **dict.fromkeys(("SCHEMA", "DATABASE"), "leave it out: names have one part"),
}
_POLICIES: dict[tuple[str, ...], st.Refresh] = {
    ("AUTO",): "auto",
    ("INCREMENTAL", "STRICT"): "incremental strict",
    ("INCREMENTAL",): "incremental",
    ("FULL",): "full",
}


def parse_create(cursor: Cursor) -> st.CreateTable | st.CreateTableAs | st.CreateView | st.CreateFunction:
    """CREATE of a table, a view or a function."""
    cursor.need("CREATE")
    replaces = cursor.take("OR", "REPLACE")
    begun = cursor.position
    is_temporary = cursor.take("TEMPORARY") or cursor.take("TEMP")
    if cursor.take("FUNCTION"):
        return _function(cursor, replaces)
    if is_temporary and not cursor.sees("VIEW"):
        message, remedy = f"CREATE {cursor.tokens[begun].text.upper()} TABLE", "leave the word out"
        raise token_error(cursor.source, cursor.tokens[begun], f"{message} is not supported", remedy)
    cursor.refuse_words("CREATE", _REFUSED)
    materialized = cursor.take("MATERIALIZED")
    if cursor.sees("RECURSIVE"):
        remedy = "use WITH RECURSIVE, or DECLARE RECURSIVE VIEW before CREATE VIEW"
        raise token_error(cursor.source, cursor.rest[0], "CREATE RECURSIVE VIEW is not supported", remedy)
    if cursor.take("VIEW"):
        return _view(cursor, replaces)
    if materialized or not cursor.take("TABLE"):
        cursor.refuse("expected VIEW" if materialized else "expected TABLE or VIEW")
    if replaces:
        raise token_error(
            cursor.source, cursor.tokens[1], "CREATE OR REPLACE TABLE is not supported", "DROP TABLE first"
        )
    return _table(cursor)


def parse_declare(cursor: Cursor) -> st.DeclareView:
    """DECLARE RECURSIVE VIEW name (columns)."""
    cursor.need("DECLARE", "RECURSIVE", "VIEW")
    name = cursor.name("the name of a view")
    result = parse_columns(cursor)
    if result.key:
        raise cursor.source.error(result.key[0], "a view has no key", "leave PRIMARY KEY out")
    if result.lateness is not None:
        raise cursor.source.error(name, "a view has no lateness", "declare it where the table is made")
    cursor.end()
    return st.DeclareView(*cursor.span, name, checked_schema(cursor, result.columns))


def parse_drop(cursor: Cursor) -> st.Drop | st.DropFunction:
    """DROP [MATERIALIZED] TABLE or VIEW [IF EXISTS] name [CASCADE | RESTRICT], or of a function."""
    cursor.need("DROP")
    if cursor.take("FUNCTION") or cursor.take("TEMPORARY", "FUNCTION"):
        if_there = cursor.take("IF", "EXISTS")
        name = cursor.name("the name of a function")
        cursor.end()
        return st.DropFunction(*cursor.span, name, if_there)
    materialized = cursor.take("MATERIALIZED")
    is_view = cursor.take("VIEW")
    if not is_view and (materialized or not cursor.take("TABLE")):
        cursor.refuse("expected TABLE or VIEW")
    if_there = cursor.take("IF", "EXISTS")
    name = cursor.name("the name of a table or view")
    cascade = cursor.take("CASCADE")
    if not cascade:
        cursor.take("RESTRICT")
    cursor.end()
    return st.Drop(*cursor.span, "view" if is_view else "table", name, if_there, cascade)


def _view(cursor: Cursor, replaces: bool) -> st.CreateView:
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the view")
    columns = tuple(_named(cursor))
    if cursor.take("COMMENT"):
        cursor.text("a comment")
    refresh = _policy(cursor)
    cursor.need("AS")
    body = cursor.rest
    for number in range(len(body)):
        if [token.text.upper() for token in body[number : number + 2]] == ["REFRESH", "POLICY"]:
            cursor.position += number
            refresh, body = _policy(cursor), body[:number]
            cursor.end()
    if not body:
        cursor.refuse("expected a query")
    result = query(body, cursor.source)
    return st.CreateView(*cursor.span, name, columns, result, replaces, unless_there, refresh)


def _named(cursor: Cursor) -> Iterator[exp.Identifier]:
    """Yield the names of a view's columns, each with a comment or without."""
    for tokens in cursor.parts():
        inner = Cursor(tokens, cursor.source)
        yield inner.name("the name of a column")
        if inner.take("COMMENT"):
            inner.text("a comment")
        if not inner.at_end:
            inner.refuse("a view's columns have names alone here", "the query defines their types")


def _policy(cursor: Cursor) -> st.Refresh:
    if not cursor.take("REFRESH"):
        return ""
    cursor.need("POLICY")
    result = next((policy for words, policy in _POLICIES.items() if cursor.take(*words)), None)
    if result is None:
        cursor.refuse("expected AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")
    return result


def _table(cursor: Cursor) -> st.CreateTable | st.CreateTableAs:
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the table")
    if cursor.take("AS"):
        return st.CreateTableAs(*cursor.span, name, cursor.query(), unless_there)
    cursor.refuse_words("CREATE TABLE …", _TABLE_CLAUSES)
    inside = cursor.rest[0].end + 1 if cursor.sees("(") else None
    result = ColumnDefinitions() if cursor.sees("USING") else parse_columns(cursor)
    is_inferred = cursor.sees("USING") and not result.columns and bool(result.key or inside is None)
    key = () if is_inferred else result.key
    outside = _clauses(cursor)
    schema = Schema(()) if is_inferred else checked_schema(cursor, result.columns, [part.name.lower() for part in key])
    spelt = {column.name.lower(): column.name for column in schema}
    source, start, end = cursor.span
    try:
        table = CatalogTable(
            name.name,
            schema,
            tuple(spelt.get(part.name.lower(), part.name) for part in key),
            is_bag=not key,
            lateness=result.lateness,
            storing=tuple(one for one in result.storing if one != ColumnStorage(one.column)),
            place=source.at(start, end, "").place,
            text=source.text[start:end],
            source=outside,
        )
    except CatalogError as error:
        raise source.error(name, str(error)) from None
    return st.CreateTable(source, start, end, name, table, unless_there, inside)


def _clauses(cursor: Cursor) -> External | None:
    """Skip what follows the columns: comments, and where the rows come from."""
    kind, options, places = "", dict[str, str](), list[Token]()
    while not cursor.at_end:
        cursor.refuse_words("CREATE TABLE …", _TABLE_CLAUSES)
        first = cursor.rest[0]
        if cursor.take("COMMENT"):
            cursor.text("a comment")
        elif cursor.take("USING"):
            kind = cursor.name("the kind of a source, such as parquet").name.lower()
        elif cursor.take("LOCATION"):
            options["path"] = cursor.text("a path")
        elif cursor.take("OPTIONS"):
            options |= _options(cursor)
        else:
            cursor.refuse("the statement should end here")
        places.append(first)
    if not kind:
        if options:
            remedy = "write USING and a kind before it, such as parquet"
            raise token_error(cursor.source, places[0], "LOCATION and OPTIONS need a source", remedy)
        return None
    try:
        result = External(kind, **options)
        result.check("source")
        return result
    except CatalogError as error:
        raise token_error(cursor.source, places[0], str(error)) from None


def _options(cursor: Cursor) -> dict[str, str]:
    """Options in parentheses: names, each with a value."""
    result: dict[str, str] = {}
    if not cursor.sees("("):
        cursor.refuse("expected options in parentheses, as in (path '/data/orders')")
    for tokens in cursor.parts():
        inner = Cursor(tokens, cursor.source)
        name = inner.name("the name of an option").name.lower()
        inner.take("=")
        if inner.at_end:
            inner.refuse(f"expected the value of {name}")
        result[name] = inner.rest[0].text
        inner.position += 1
        inner.end()
    return result


# Functions


_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_ENDS = ("RETURN", "LANGUAGE", "DETERMINISTIC", "CONTAINS", "READS", "SQL")


def _function(cursor: Cursor, replaces: bool) -> st.CreateFunction:
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
    made = SqlFunction(
        name.name,
        parameters,
        returns,
        columns,
        exp.Subquery(this=body) if is_query and columns is None else body,
        source,
        source.text[start:end],
        source.at(start, end, "").place,
    )
    return st.CreateFunction(source, start, end, name, made, replaces, unless_there)


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
            default = expression(inner.up_to("the value of DEFAULT", "COMMENT"), cursor.source)
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

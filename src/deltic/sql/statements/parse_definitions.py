"""CREATE TABLE, CREATE VIEW, DECLARE RECURSIVE VIEW, DROP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from deltic.catalog import Table
from deltic.circuit.types import Column, Schema, Type
from deltic.errors import CatalogError
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import data_type, divided, is_type, query, token_error
from deltic.sql.statements.statements import CreateTable, CreateView, DeclareView, Drop, Refresh
from deltic.sql.types import type_of

_TABLE_CLAUSES = {
    "USING": "Deltic keeps the rows itself: leave it out",
    "AS": "create the table with its columns, then INSERT INTO it; or CREATE VIEW, which stays fresh",
    "LIKE": "write the columns",
    "PARTITIONED": "Deltic keeps the rows itself: leave it out",
    "CLUSTERED": "Deltic keeps the rows itself: leave it out",
    "STORED": "Deltic keeps the rows itself: leave it out",
    "ROW": "Deltic keeps the rows itself: leave it out",
    "LOCATION": "Deltic keeps the rows itself: leave it out",
    "OPTIONS": "leave it out",
    "TBLPROPERTIES": "leave it out",
}
_CONSTRAINTS = ("DEFAULT", "CHECK", "UNIQUE", "REFERENCES", "FOREIGN", "GENERATED", "COLLATE", "IDENTITY")
_LATE = "a view that needs recent rows alone can say so: WHERE ts > current_timestamp - INTERVAL 1 HOUR"
_POLICIES: dict[tuple[str, ...], Refresh] = {
    ("AUTO",): "auto",
    ("INCREMENTAL", "STRICT"): "incremental strict",
    ("INCREMENTAL",): "incremental",
    ("FULL",): "full",
}


def parse_create(cursor: Cursor) -> CreateTable | CreateView:
    """CREATE of a table or a view."""
    cursor.need("CREATE")
    replaces = cursor.take("OR", "REPLACE")
    for other in ("TEMPORARY", "TEMP", "GLOBAL", "EXTERNAL"):
        if cursor.sees(other):
            raise token_error(cursor.source, cursor.rest[0], f"CREATE {other} is not supported", "leave the word out")
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


def parse_declare(cursor: Cursor) -> DeclareView:
    """DECLARE RECURSIVE VIEW name (columns)."""
    cursor.need("DECLARE", "RECURSIVE", "VIEW")
    name = cursor.name("the name of a view")
    columns, key = _columns(cursor)
    if key:
        raise cursor.source.error(key[0], "a view has no key", "leave PRIMARY KEY out")
    cursor.end()
    return DeclareView(*cursor.span, name, _schema(cursor, columns))


def parse_drop(cursor: Cursor) -> Drop:
    """DROP [MATERIALIZED] TABLE or VIEW [IF EXISTS] name [CASCADE | RESTRICT]."""
    cursor.need("DROP")
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
    return Drop(*cursor.span, "view" if is_view else "table", name, if_there, cascade)


def _view(cursor: Cursor, replaces: bool) -> CreateView:
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
    found = query(body, cursor.source)
    return CreateView(*cursor.span, name, columns, found, replaces, unless_there, refresh)


def _named(cursor: Cursor) -> Iterator[exp.Identifier]:
    """The names of a view's columns, each with a comment or without."""
    for tokens in divided(cursor.group()):
        inner = Cursor(tokens, cursor.source)
        yield inner.name("the name of a column")
        if inner.take("COMMENT"):
            inner.text("a comment")
        if not inner.at_end:
            inner.refuse("a view's columns have names alone here", "their types are those of the query")


def _policy(cursor: Cursor) -> Refresh:
    if not cursor.take("REFRESH"):
        return ""
    cursor.need("POLICY")
    found = next((policy for words, policy in _POLICIES.items() if cursor.take(*words)), None)
    if found is None:
        cursor.refuse("expected AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL")
    return found


def _table(cursor: Cursor) -> CreateTable:
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the table")
    _refuse_clause(cursor)
    columns, key = _columns(cursor)
    if cursor.take("COMMENT"):
        cursor.text("a comment")
    _refuse_clause(cursor)
    cursor.end()
    schema = _schema(cursor, columns, [part.name.lower() for part in key])
    spelt = {column.name.lower(): column.name for column in schema}
    source, start, end = cursor.span
    place = source.at(start, end, "")
    try:
        table = Table(
            name.name,
            schema,
            tuple(spelt.get(part.name.lower(), part.name) for part in key),
            is_bag=not key,
            place=f"{place.file}:{place.line}:{place.column}",
            text=source.text[start:end],
        )
    except CatalogError as error:
        raise source.error(name, str(error)) from None
    return CreateTable(source, start, end, name, table, unless_there)


def _refuse_clause(cursor: Cursor) -> None:
    for clause, remedy in _TABLE_CLAUSES.items():
        if cursor.sees(clause):
            raise token_error(cursor.source, cursor.rest[0], f"CREATE TABLE … {clause} is not supported", remedy)


def _columns(cursor: Cursor) -> tuple[list[tuple[exp.Identifier, Column]], list[exp.Identifier]]:
    """The columns between parentheses, and those of the primary key."""
    if not cursor.sees("("):
        cursor.refuse("expected the columns in parentheses, as in (id INT NOT NULL, name STRING)")
    columns: list[tuple[exp.Identifier, Column]] = []
    key: list[exp.Identifier] = []
    for tokens in divided(cursor.group()):
        inner = Cursor(tokens, cursor.source)
        if inner.sees("WATERMARK", "FOR"):
            raise token_error(cursor.source, tokens[0], "WATERMARK FOR is not supported: no row is too late", _LATE)
        if inner.take("CONSTRAINT"):
            inner.name("the name of the constraint")
        if inner.take("PRIMARY", "KEY"):
            found = [Cursor(part, cursor.source).name("the name of a column") for part in divided(inner.group())]
            inner.end()
        else:
            name, column, is_key = _column(inner)
            columns.append((name, column))
            found = [name] if is_key else []
        if key and found:
            raise cursor.source.error(found[0], "there are two primary keys", "write PRIMARY KEY (a, b) for one of two")
        key += found
    return columns, key


def _column(cursor: Cursor) -> tuple[exp.Identifier, Column, bool]:
    """One column, and whether it is the key by itself."""
    _refuse_constraint(cursor)
    name = cursor.name("the name of a column")
    type_ = _type(cursor, name)
    nullable, is_key = True, False
    while not cursor.at_end:
        if cursor.take("NOT", "NULL"):
            nullable = False
        elif cursor.take("PRIMARY", "KEY"):
            is_key = True
        elif cursor.take("COMMENT"):
            cursor.text("a comment")
        elif not cursor.take("NULL"):
            _refuse_constraint(cursor)
            if cursor.sees("LATENESS"):
                raise token_error(cursor.source, cursor.rest[0], "LATENESS is not supported: no row is too late", _LATE)
            cursor.refuse("expected a comma, NOT NULL, PRIMARY KEY or COMMENT")
    return name, Column(name.name, type_, nullable), is_key


def _type(cursor: Cursor, name: exp.Identifier) -> Type:
    """Go behind the longest type that comes next."""
    width = next((n for n, t in enumerate(cursor.rest) if t.text.upper().split()[:1] in _AFTER_TYPE), len(cursor.rest))
    if not width:
        cursor.refuse(f"expected the type of {name.name}")
    found = next((n for n in range(width, 0, -1) if is_type(cursor.rest[:n], cursor.source)), 1)
    type_ = type_of(data_type(cursor.rest[:found], cursor.source), cursor.source)
    cursor.position += found
    return type_


_AFTER_TYPE = [[word] for word in ("NOT", "NULL", "PRIMARY", "COMMENT", "CONSTRAINT", "LATENESS", *_CONSTRAINTS)]


def _refuse_constraint(cursor: Cursor) -> None:
    found = cursor.rest[0].text.upper() if cursor.rest else ""
    if found.split()[:1] and found.split()[0] in _CONSTRAINTS:
        raise token_error(cursor.source, cursor.rest[0], f"{found} is not supported", "NOT NULL and PRIMARY KEY are")


def _schema(cursor: Cursor, columns: Sequence[tuple[exp.Identifier, Column]], key: Sequence[str] = ()) -> Schema:
    """The columns as a schema; those of the key are never NULL."""
    seen: set[str] = set()
    for name, _ in columns:
        if name.name.lower() in seen:
            raise cursor.source.error(name, f"there are two columns {name.name}; case makes no difference")
        seen.add(name.name.lower())
    if not columns:
        raise token_error(cursor.source, cursor.tokens[-1], "a table has at least one column")
    return Schema(tuple(Column(c.name, c.type, c.nullable and c.name.lower() not in key) for _, c in columns))

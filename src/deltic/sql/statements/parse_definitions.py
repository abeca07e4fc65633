"""CREATE TABLE, CREATE VIEW, DECLARE RECURSIVE VIEW, DROP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from deltic.catalog import External, Table
from deltic.catalog.lateness import Lateness
from deltic.catalog.storing import Storing
from deltic.errors import CatalogError, did_you_mean
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_lateness import lateness_of, parse_lateness, parse_watermark
from deltic.sql.statements.parse_storing import parse_default, stored_type
from deltic.sql.statements.reading import Tokens, data_type, divided, is_type, query, token_error
from deltic.sql.statements.statements import (
    CreateFunction,
    CreateTable,
    CreateTableAs,
    CreateView,
    DeclareView,
    Drop,
    DropFunction,
    Refresh,
)
from deltic.values.types import Column, Schema, Type

_TABLE_CLAUSES = {
    "AS": "leave the columns out: they are those of the query",
    "LIKE": "write the columns",
    "PARTITIONED": "Deltic keeps the rows itself: leave it out",
    "CLUSTERED": "Deltic keeps the rows itself: leave it out",
    "STORED": "Deltic keeps the rows itself: leave it out",
    "ROW": "Deltic keeps the rows itself: leave it out",
    "TBLPROPERTIES": "leave it out",
}
_REFUSED = {
    **dict.fromkeys(("GLOBAL", "EXTERNAL"), "leave the word out"),
    **dict.fromkeys(("INDEX", "UNIQUE INDEX"), "leave it out: the column orders that views need are there"),
    **dict.fromkeys(("SCHEMA", "DATABASE"), "leave it out: names have one part"),
}
_CONSTRAINTS = ("CHECK", "UNIQUE", "REFERENCES", "FOREIGN", "GENERATED", "COLLATE", "IDENTITY")
_POLICIES: dict[tuple[str, ...], Refresh] = {
    ("AUTO",): "auto",
    ("INCREMENTAL", "STRICT"): "incremental strict",
    ("INCREMENTAL",): "incremental",
    ("FULL",): "full",
}


def parse_create(cursor: Cursor) -> CreateTable | CreateTableAs | CreateView | CreateFunction:
    """CREATE of a table, a view or a function."""
    cursor.need("CREATE")
    replaces = cursor.take("OR", "REPLACE")
    begun = cursor.position
    is_temporary = cursor.take("TEMPORARY") or cursor.take("TEMP")
    if cursor.take("FUNCTION"):
        from deltic.sql.statements.parse_functions import parse_function

        return parse_function(cursor, replaces)
    if is_temporary and not cursor.sees("VIEW"):
        told, remedy = f"CREATE {cursor.tokens[begun].text.upper()} TABLE", "leave the word out"
        raise token_error(cursor.source, cursor.tokens[begun], f"{told} is not supported", remedy)
    for other, remedy in _REFUSED.items():
        if cursor.sees(*other.split()):
            raise token_error(cursor.source, cursor.rest[0], f"CREATE {other} is not supported", remedy)
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
    found = _columns(cursor)
    if found.key:
        raise cursor.source.error(found.key[0], "a view has no key", "leave PRIMARY KEY out")
    if found.lateness is not None:
        raise cursor.source.error(name, "a view has no lateness", "declare it where the table is made")
    cursor.end()
    return DeclareView(*cursor.span, name, _schema(cursor, found.columns))


def parse_drop(cursor: Cursor) -> Drop | DropFunction:
    """DROP [MATERIALIZED] TABLE or VIEW [IF EXISTS] name [CASCADE | RESTRICT], or of a function."""
    cursor.need("DROP")
    if cursor.take("FUNCTION") or cursor.take("TEMPORARY", "FUNCTION"):
        from deltic.sql.statements.parse_functions import parse_drop_function

        return parse_drop_function(cursor)
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


def _table(cursor: Cursor) -> CreateTable | CreateTableAs:
    unless_there = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.name("the name of the table")
    if cursor.take("AS"):
        return CreateTableAs(*cursor.span, name, query(cursor.rest, cursor.source), unless_there)
    _refuse_clause(cursor)
    is_inferred = cursor.sees("USING")
    found = Columns() if is_inferred else _columns(cursor)
    key = found.key
    outside = _clauses(cursor)
    schema = Schema(()) if is_inferred else _schema(cursor, found.columns, [part.name.lower() for part in key])
    spelt = {column.name.lower(): column.name for column in schema}
    source, start, end = cursor.span
    place = source.at(start, end, "")
    try:
        table = Table(
            name.name,
            schema,
            tuple(spelt.get(part.name.lower(), part.name) for part in key),
            is_bag=not key,
            lateness=found.lateness,
            storing=tuple(one for one in found.storing if one != Storing(one.column)),
            place=f"{place.file}:{place.line}:{place.column}",
            text=source.text[start:end],
            source=outside,
        )
    except CatalogError as error:
        raise source.error(name, str(error)) from None
    return CreateTable(source, start, end, name, table, unless_there)


def _clauses(cursor: Cursor) -> External | None:
    """Go behind what follows the columns: comments, and where the rows come from."""
    kind, options, places = "", dict[str, str](), list[Token]()
    while not cursor.at_end:
        _refuse_clause(cursor)
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
            remedy = "write USING and a kind, such as parquet, in front of it"
            raise token_error(cursor.source, places[0], "LOCATION and OPTIONS are those of a source", remedy)
        return None
    try:
        found = External(kind, **options)
        found.check("source")
        return found
    except CatalogError as error:
        raise token_error(cursor.source, places[0], str(error)) from None


def _options(cursor: Cursor) -> dict[str, str]:
    """Options in parentheses: names, each with a value."""
    found: dict[str, str] = {}
    if not cursor.sees("("):
        cursor.refuse("expected options in parentheses, as in (path '/data/orders')")
    for tokens in divided(cursor.group()):
        inner = Cursor(tokens, cursor.source)
        name = inner.name("the name of an option").name.lower()
        inner.take("=")
        if inner.at_end:
            inner.refuse(f"expected the value of {name}")
        found[name] = inner.rest[0].text
        inner.position += 1
        inner.end()
    return found


def _refuse_clause(cursor: Cursor) -> None:
    for clause, remedy in _TABLE_CLAUSES.items():
        if cursor.sees(clause):
            raise token_error(cursor.source, cursor.rest[0], f"CREATE TABLE … {clause} is not supported", remedy)


@dataclass
class Columns:
    """The columns between parentheses, those of the primary key, how late rows may come, and how values are stored."""

    columns: list[tuple[exp.Identifier, Column]] = field(default_factory=list)
    key: list[exp.Identifier] = field(default_factory=list)
    lateness: Lateness | None = None
    storing: list[Storing] = field(default_factory=list)


def _columns(cursor: Cursor) -> Columns:
    """What stands between the parentheses."""
    if not cursor.sees("("):
        cursor.refuse("expected the columns in parentheses, as in (id INT NOT NULL, name STRING)")
    made = Columns()
    watermarks: list[tuple[exp.Identifier, Tokens]] = []
    for tokens in divided(cursor.group()):
        inner = Cursor(tokens, cursor.source)
        if inner.sees("WATERMARK", "FOR"):
            watermarks.append(parse_watermark(inner))
            continue
        if inner.take("CONSTRAINT"):
            inner.name("the name of the constraint")
        if inner.take("PRIMARY", "KEY"):
            found = [Cursor(part, cursor.source).name("the name of a column") for part in divided(inner.group())]
            inner.end()
        else:
            found = parse_column(inner, made)
        if made.key and found:
            raise cursor.source.error(found[0], "there are two primary keys", "write PRIMARY KEY (a, b) for one of two")
        made.key += found
    for name, written in watermarks:
        column = _named_column(name, made.columns, cursor)
        _set_lateness(made, lateness_of(column, written, cursor, True), written, cursor)
    return made


def _named_column(name: exp.Identifier, columns: Sequence[tuple[exp.Identifier, Column]], cursor: Cursor) -> Column:
    """The column of that name; raises ProgramError where there is none."""
    found = next((column for own, column in columns if own.name.lower() == name.name.lower()), None)
    if found is None:
        hint = did_you_mean(name.name, [own.name for own, _ in columns]) or "name a column of the table"
        raise cursor.source.error(name, f"there is no column {name.name}", hint)
    return found


def _set_lateness(made: Columns, found: Lateness, tokens: Tokens, cursor: Cursor) -> None:
    if made.lateness is not None:
        told = f"{made.lateness.column} says already how late rows may come"
        raise token_error(cursor.source, tokens[0], told, "a table has one LATENESS or WATERMARK FOR")
    made.lateness = found


def parse_column(cursor: Cursor, made: Columns, ends: Sequence[str] = ()) -> list[exp.Identifier]:
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


def parse_type(cursor: Cursor, name: exp.Identifier, ends: Sequence[str] = ()) -> tuple[Type, Storing]:
    """Go behind the longest type that comes next."""
    after = [*_AFTER_TYPE, *ends]
    width = next((n for n, t in enumerate(cursor.rest) if t.text.upper().partition(" ")[0] in after), len(cursor.rest))
    if not width:
        cursor.refuse(f"expected the type of {name.name}")
    found = next((n for n in range(width, 0, -1) if is_type(cursor.rest[:n], cursor.source)), 1)
    named = stored_type(data_type(cursor.rest[:found], cursor.source), name.name, cursor.source)
    cursor.position += found
    return named


_AFTER_TYPE = ("NOT", "NULL", "PRIMARY", "COMMENT", "CONSTRAINT", "LATENESS", "DEFAULT", *_CONSTRAINTS)


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

"""SELECT, EXPLAIN, SHOW, DESCRIBE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.statements import Describe, Explain, Select, Show, UseSchema
from deltic.sql.text import SourceText

_OF_ROWS: Mapping[tuple[str, ...], Literal["why", "why not", "lineage"]] = {
    ("WHY", "NOT"): "why not",
    ("WHY",): "why",
    ("LINEAGE",): "lineage",
}
_NOT_EXPLAINED = dict.fromkeys(
    ("CODEGEN", "COST", "FORMATTED", "ANALYZE"), "write EXPLAIN, or EXPLAIN EXTENDED for the circuits"
)
_RELATION = "the name of a table or view"


def parse_query(cursor: Cursor) -> Select:
    """Return a query by itself."""
    return Select(*cursor.span, cursor.query())


def parse_explain(cursor: Cursor) -> Explain:
    """EXPLAIN [EXTENDED] of a query, or of a view by its name; EXPLAIN WHY, WHY NOT and LINEAGE of a query."""
    cursor.need("EXPLAIN")
    if len(cursor.rest) > 1:
        for words, of_rows in _OF_ROWS.items():
            if cursor.take(*words):
                made = cursor.query(f"a query after EXPLAIN {' '.join(words)}")
                return Explain(*cursor.span, made, False, of_rows)
    extended = cursor.take("EXTENDED")
    cursor.refuse_words("EXPLAIN", _NOT_EXPLAINED)
    cursor.take("VIEW")
    if len(cursor.rest) == 1:
        name = cursor.name("the name of a view, or a query")
        return Explain(*cursor.span, name, extended)
    return Explain(*cursor.span, cursor.query("the name of a view, or a query"), extended)


def parse_show(cursor: Cursor) -> Show:
    """SHOW TABLES, VIEWS, FUNCTIONS, SCHEMAS, CATALOGS, each [LIKE] a pattern; COLUMNS, TBLPROPERTIES, CREATE TABLE."""
    cursor.need("SHOW")
    cursor.refuse_words("SHOW", _NOT_SHOWN)
    if (what := next((what for words, what in _LISTS.items() if cursor.take(*words.split())), None)) is not None:
        _schema(cursor)
        pattern = "*"
        if cursor.take("LIKE") or not cursor.at_end:
            pattern = cursor.text("a pattern such as 't*'")
        result = Show(*cursor.span, what, pattern=pattern)
    elif any(cursor.take("CURRENT", word) for word in ("NAMESPACE", "SCHEMA", "DATABASE")):
        result = Show(*cursor.span, "namespace")
    elif cursor.take("COLUMNS", "IN") or cursor.take("COLUMNS", "FROM"):
        result = Show(*cursor.span, "columns", cursor.name(_RELATION))
        _schema(cursor)
    elif cursor.take("CREATE", "TABLE") or cursor.take("CREATE", "VIEW"):
        result = Show(*cursor.span, "create", cursor.name(_RELATION))
    elif cursor.take("TBLPROPERTIES"):
        result = Show(*cursor.span, "properties", cursor.name(_RELATION))
        cursor.group()
    else:
        cursor.refuse(f"expected {', '.join(_SHOWN)} after SHOW")
    cursor.end()
    return result


_LISTS: Mapping[str, Literal["tables", "views", "functions", "schemas", "catalogs"]] = {
    "TABLES": "tables",
    "VIEWS": "views",
    **dict.fromkeys(("FUNCTIONS", "USER FUNCTIONS", "ALL FUNCTIONS"), "functions"),
    **dict.fromkeys(("SCHEMAS", "DATABASES", "NAMESPACES"), "schemas"),
    "CATALOGS": "catalogs",
}
_SHOWN = ("TABLES", "VIEWS", "FUNCTIONS", "COLUMNS IN", "CREATE TABLE", "TBLPROPERTIES", "SCHEMAS or CATALOGS")
_NOT_SHOWN = {
    "PARTITIONS": "tables have no partitions",
    "SYSTEM": "docs/sql-functions.md lists the functions of SQL",
    "TABLE": "DESCRIBE EXTENDED t says what is known of a table",
}


def _schema(cursor: Cursor) -> None:
    """Skip IN default, if it comes next."""
    if cursor.take("IN") or cursor.take("FROM"):
        check_schema(cursor.name("the name of a schema"), cursor.source)


def check_schema(name: exp.Identifier, source: SourceText) -> None:
    """Raise ProgramError for another schema than the only one."""
    if name.name.lower() != "default":
        raise source.error(name, f"there is no schema {name.name}", "the only one is `default`: leave it out")


def parse_use(cursor: Cursor) -> UseSchema:
    """USE [SCHEMA] default."""
    cursor.need("USE")
    _ = len(cursor.rest) > 1 and any(map(cursor.take, ("SCHEMA", "DATABASE", "NAMESPACE")))
    name = cursor.name("the name of a schema")
    check_schema(name, cursor.source)
    cursor.end()
    return UseSchema(*cursor.span, name)


def parse_describe(cursor: Cursor) -> Describe:
    """DESCRIBE [TABLE | FUNCTION] [EXTENDED | FORMATTED] of a relation, its column or a function; DESCRIBE [QUERY]."""
    if not cursor.take("DESCRIBE"):
        cursor.need("DESC")
    if cursor.take("QUERY") or any(map(cursor.sees, ("SELECT", "WITH", "FROM", "VALUES", "("))):
        return Describe(*cursor.span, cursor.query())
    is_function = cursor.take("FUNCTION")
    if not is_function and len(cursor.rest) > 1:
        cursor.take("TABLE")
    extended = len(cursor.rest) > 1 and (cursor.take("EXTENDED") or cursor.take("FORMATTED"))
    name = cursor.name("the name of a function" if is_function else _RELATION)
    if cursor.sees("AS", "JSON"):
        cursor.refuse("DESCRIBE … AS JSON is not supported", "pipeline.query(…).to_arrow() has names and types")
    column = None if is_function or cursor.at_end else cursor.name("the name of a column")
    cursor.end()
    return Describe(*cursor.span, name, extended, is_function, column)

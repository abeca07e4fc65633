"""SELECT, EXPLAIN, SHOW, DESCRIBE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.reading import query, token_error
from deltic.sql.statements.statements import Describe, Explain, Select, Show

_OF_ROWS: Mapping[tuple[str, ...], Literal["why", "why not", "lineage"]] = {
    ("WHY", "NOT"): "why not",
    ("WHY",): "why",
    ("LINEAGE",): "lineage",
}
_RELATION = "the name of a table or view"


def parse_query(cursor: Cursor) -> Select:
    """A query by itself."""
    return Select(*cursor.span, query(cursor.rest, cursor.source))


def parse_explain(cursor: Cursor) -> Explain:
    """EXPLAIN [EXTENDED] of a query, or of a view by its name; EXPLAIN WHY, WHY NOT and LINEAGE of a query."""
    cursor.need("EXPLAIN")
    if len(cursor.rest) > 1:
        for words, of_rows in _OF_ROWS.items():
            if cursor.take(*words):
                if cursor.at_end:
                    cursor.refuse(f"expected a query after EXPLAIN {' '.join(words)}")
                return Explain(*cursor.span, query(cursor.rest, cursor.source), False, of_rows)
    extended = cursor.take("EXTENDED")
    for other in ("CODEGEN", "COST", "FORMATTED", "ANALYZE"):
        if cursor.sees(other):
            remedy = "write EXPLAIN, or EXPLAIN EXTENDED for the circuits"
            raise token_error(cursor.source, cursor.rest[0], f"EXPLAIN {other} is not supported", remedy)
    cursor.take("VIEW")
    if len(cursor.rest) == 1:
        name = cursor.name("the name of a view, or a query")
        return Explain(*cursor.span, name, extended)
    if cursor.at_end:
        cursor.refuse("expected the name of a view, or a query")
    return Explain(*cursor.span, query(cursor.rest, cursor.source), extended)


def parse_show(cursor: Cursor) -> Show:
    """SHOW TABLES, VIEWS, FUNCTIONS, COLUMNS IN a relation, CREATE TABLE of one."""
    cursor.need("SHOW")
    result: Show | None = None
    if cursor.take("TABLES"):
        result = Show(*cursor.span, "tables", None)
    elif cursor.take("VIEWS"):
        result = Show(*cursor.span, "views", None)
    elif cursor.take("FUNCTIONS") or cursor.take("USER", "FUNCTIONS"):
        result = Show(*cursor.span, "functions", None)
    elif cursor.take("COLUMNS", "IN") or cursor.take("COLUMNS", "FROM"):
        result = Show(*cursor.span, "columns", cursor.name(_RELATION))
    elif cursor.take("CREATE", "TABLE") or cursor.take("CREATE", "VIEW"):
        result = Show(*cursor.span, "create", cursor.name(_RELATION))
    if result is None:
        cursor.refuse("expected TABLES, VIEWS, FUNCTIONS, COLUMNS IN or CREATE TABLE after SHOW")
    cursor.end()
    return result


def parse_describe(cursor: Cursor) -> Describe:
    """DESCRIBE [TABLE | FUNCTION] [EXTENDED] of a relation or function."""
    if not cursor.take("DESCRIBE"):
        cursor.need("DESC")
    is_function = cursor.take("FUNCTION")
    if not is_function:
        cursor.take("TABLE")
    extended = cursor.take("EXTENDED")
    name = cursor.name("the name of a function" if is_function else _RELATION)
    cursor.end()
    return Describe(*cursor.span, name, extended, is_function)

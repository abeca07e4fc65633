"""Statements of PostgreSQL without what sqlglot does not read: OPERATOR(…), COLLATE, pg_catalog, types such as oid."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.server.postgres.dialect import ClientStatement, Rewritten

_TYPES = {"oid": "uint", "name": "text", "char": "text", "xid": "bigint"}
"""Types that are plain ones here, after `::`."""


def readable(statement: ClientStatement) -> str:
    """Return the statement as sqlglot reads it."""
    return Rewritten(statement, _replacements(statement)).text


def _replacements(statement: ClientStatement) -> Iterator[tuple[int, int, str]]:
    number = 0
    while number < len(statement.tokens):
        written, count = _written(statement, number)
        if written is not None:
            yield statement.tokens[number].start, statement.tokens[number + count - 1].end, written
        number += count


def _written(statement: ClientStatement, number: int) -> tuple[str | None, int]:
    """Return what is written for a token and those after it, None for the same, and how many tokens these are."""
    token, words = statement.tokens[number], statement.words[number : number + 8]
    lowered = [word.lower() for word in words]
    before = statement.words[number - 1] if number else ""
    before_schema = statement.words[number - 3] if before == "." and number > 2 else ""
    is_type = before == "::" or (before_schema == "::" and statement.words[number - 2].lower() == "pg_catalog")
    if words[:2] == ["OPERATOR", "("] and ")" in words:
        end = words.index(")")
        return "".join(words[4 if lowered[2] == "pg_catalog" else 2 : end]), end + 1
    if words[0] == "COLLATE":
        return "", 4 if words[2:3] == ["."] else 2
    if lowered[:2] == ["pg_catalog", "."]:
        return "", 2
    if before == "::" and lowered[:2] == ["information_schema", "."]:
        return "text", 3
    if is_type and lowered[0] in _TYPES:
        return _TYPES[lowered[0]], 1
    if token.kind == "string":
        return "'" + token.text.replace("'", "''") + "'", 1
    return (f"${token.text} ", 1) if token.kind == "parameter" else (None, 1)

"""DECLARE VARIABLE, SET, RESET, DROP TEMPORARY VARIABLE, EXECUTE IMMEDIATE."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from deltic.sql.statements import statements as st
from deltic.sql.statements.cursor import Cursor
from deltic.sql.statements.parse_columns import parse_type
from deltic.sql.statements.parse_definitions import parse_declare, parse_drop
from deltic.sql.statements.reading import Tokens, divided, expression, identifier, is_name, token_error
from deltic.sql.variables import SCOPES

_ZONE = "spark.sql.session.timeZone"


def parse_declaration(cursor: Cursor) -> st.DeclareView | st.DeclareVariable:
    """DECLARE [OR REPLACE] [VARIABLE] x, … [TYPE] [DEFAULT value], or DECLARE RECURSIVE VIEW."""
    if cursor.sees("DECLARE", "RECURSIVE", "VIEW"):
        return parse_declare(cursor)
    cursor.need("DECLARE")
    replaces = cursor.take("OR", "REPLACE")
    _ = cursor.take("VARIABLE") or cursor.take("VAR")
    names = tuple(_names(cursor))
    starts = cursor.sees("DEFAULT") or cursor.sees("=")
    if cursor.at_end:
        cursor.refuse("a variable has a type or a default", f"write DECLARE {names[0].name} INT, or = and a value")
    type_ = None if starts else parse_type(cursor, names[0], ("=",))[0]
    default: exp.Expression = exp.Null()
    if cursor.take("DEFAULT") or cursor.take("="):
        default = _value(cursor.rest, cursor)
        if default.find(exp.Query) is not None:
            remedy = f"declare it with a type, and SET VAR {names[0].name} = (SELECT …)"
            raise cursor.source.error(default, "a default has no subquery", remedy)
    elif not cursor.at_end:
        cursor.refuse("expected DEFAULT or =")
    return st.DeclareVariable(*cursor.span, names, type_, default, replaces)


def parse_dropping(cursor: Cursor) -> st.Drop | st.DropFunction | st.DropVariable:
    """DROP TEMPORARY VARIABLE [IF EXISTS] x, or another DROP."""
    if not any(cursor.sees("DROP", *words) for words in (("TEMPORARY", "VARIABLE"), ("VARIABLE",))):
        return parse_drop(cursor)
    cursor.need("DROP")
    cursor.need("TEMPORARY", "VARIABLE")
    if_there = cursor.take("IF", "EXISTS")
    name = _name(cursor)
    cursor.end()
    return st.DropVariable(*cursor.span, name, if_there)


def parse_set(cursor: Cursor) -> st.SetVariable | st.Setting:
    """SET VARIABLE x = value, …; SET VARIABLE (x, y) = (query); SET key = value; SET TIME ZONE."""
    cursor.need("SET")
    if cursor.take("VARIABLE") or cursor.take("VAR"):
        return st.SetVariable(*cursor.span, tuple(_assignments(cursor)))
    if cursor.take("TIME", "ZONE"):
        if cursor.at_end:
            cursor.refuse("expected a time zone", "it is UTC")
        return st.Setting(*cursor.span, _ZONE, _text(cursor.rest, cursor), False)
    sign = next((n for n, token in enumerate(cursor.rest) if token.token_type is TokenType.EQ), len(cursor.rest))
    key, value = cursor.rest[:sign], cursor.rest[sign + 1 :]
    return st.Setting(*cursor.span, _text(key, cursor), _text(value, cursor) if value else None, False)


def parse_reset(cursor: Cursor) -> st.Setting:
    """RESET [key]."""
    cursor.need("RESET")
    return st.Setting(*cursor.span, _text(cursor.rest, cursor), None, True)


def parse_execute(cursor: Cursor) -> st.ExecuteImmediate:
    """EXECUTE IMMEDIATE text [INTO x, …] [USING value [AS name], …]."""
    cursor.need("EXECUTE")
    if not cursor.take("IMMEDIATE"):
        cursor.refuse("expected IMMEDIATE", "pipeline.prepare prepares a statement")
    text = cursor.up_to("a text", "INTO", "USING")
    into, using = list[exp.Identifier](), list[tuple[str, exp.Expression]]()
    if cursor.take("INTO"):
        into += _names(cursor)
    if cursor.take("USING"):
        whole = Cursor(cursor.rest, cursor.source)
        inside = whole.group()
        if cursor.at_end and not inside:
            cursor.refuse("expected a value")
        using += [_argument(part, cursor) for part in divided(inside if inside and whole.at_end else cursor.rest)]
    elif not cursor.at_end:
        cursor.refuse("expected INTO or USING")
    return st.ExecuteImmediate(*cursor.span, expression(text, cursor.source), tuple(into), tuple(using))


def _argument(tokens: Tokens, cursor: Cursor) -> tuple[str, exp.Expression]:
    """Return a value, and the name of the parameter that it is for: its alias, or that of the variable that it is."""
    if len(tokens) > 2 and tokens[-2].token_type is TokenType.ALIAS:
        return tokens[-1].text, _value(tokens[:-2], cursor)
    value = _value(tokens, cursor)
    return (value.name if isinstance(value, exp.Column) else ""), value


def _assignments(cursor: Cursor) -> Iterator[st.VariableAssignment]:
    if cursor.sees("("):
        names = tuple(_whole_name(part, cursor) for part in cursor.parts())
        cursor.need("=")
        if not names or cursor.at_end:
            cursor.refuse("expected variables, = and a query", "write SET VAR (x, y) = (SELECT 1, 2)")
        yield st.VariableAssignment(names, cursor.query())
        return
    for part in list(divided(cursor.rest)) or [[]]:
        if not part:
            raise token_error(
                cursor.source, cursor.tokens[-1], "expected a variable, = and its value beside each comma"
            )
        inner = Cursor(part, cursor.source)
        name = _name(inner)
        inner.need("=")
        if inner.take("DEFAULT"):
            inner.end()
            yield st.VariableAssignment((name,), None)
        else:
            yield st.VariableAssignment((name,), exp.select(_value(inner.rest, inner)))


def _value(tokens: Tokens, cursor: Cursor) -> exp.Expression:
    if not tokens:
        cursor.refuse("expected a value")
    return expression(tokens, cursor.source)


def _names(cursor: Cursor) -> Iterator[exp.Identifier]:
    yield _name(cursor)
    while cursor.take(","):
        yield _name(cursor)


def _name(cursor: Cursor) -> exp.Identifier:
    """Skip the name of a variable, and `session.` or `system.session.` before it."""
    scope: list[str] = []
    while True:
        if cursor.at_end or not is_name(cursor.rest[0]):
            cursor.refuse("expected the name of a variable")
        token = cursor.rest[0]
        cursor.position += 1
        if not cursor.take("."):
            break
        scope.append(token.text.lower())
    if tuple(scope) not in SCOPES:
        raise token_error(cursor.source, token, f"variables are in `session`, not {'.'.join(scope)}", "leave it out")
    return identifier(token)


def _whole_name(tokens: Tokens, cursor: Cursor) -> exp.Identifier:
    inner = Cursor(tokens, cursor.source)
    result = _name(inner)
    inner.end()
    return result


def _text(tokens: Tokens, cursor: Cursor) -> str:
    """Return the text of tokens as it was written, without quotes around it."""
    if not tokens:
        return ""
    if len(tokens) == 1:
        return tokens[0].text
    return cursor.source.text[tokens[0].start : tokens[-1].end + 1]

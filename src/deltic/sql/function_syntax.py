"""Parsers of functions and literals of the SQL dialect that have a syntax of their own."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

WINDOWS = ("TUMBLE", "HOP", "SESSION")


def windows(parser: SparkParser, name: str) -> exp.Expression:
    """Parse TUMBLE(TABLE t, DESCRIPTOR(ts), …) and similar functions; TUMBLE(ts, …) is a window in GROUP BY."""
    start = parser._index
    is_table = parser._match(TokenType.TABLE)
    table = exp.Table(this=parser._parse_table_part())
    has_keys = parser._match(TokenType.PARTITION_BY)
    others = parser._parse_csv(parser._parse_lambda) if has_keys or parser._match(TokenType.COMMA) else []
    is_time = [isinstance(part, exp.Anonymous) and part.name.upper() == "DESCRIPTOR" for part in others]
    if is_table or has_keys or any(is_time):
        return _table_function(name, table, others, is_time, bool(has_keys))
    parser._retreat(start)
    return _window(parser, name)


def _window(parser: SparkParser, name: str) -> exp.Anonymous:
    """Translate TUMBLE(ts, size[, offset]), HOP(ts, slide, size[, offset]) and SESSION(ts, gap) to Spark's windows."""
    given = parser._parse_csv(parser._parse_lambda)
    if name == "TUMBLE" and given[2:]:
        given.insert(1, given[1].copy())
    elif name == "HOP":
        given[1:3] = given[2:0:-1]
    return exp.Anonymous(this="session_window" if name == "SESSION" else "window", expressions=given)


def part_of_window(parser: SparkParser, name: str, part: str) -> exp.Dot:
    """Translate TUMBLE_START(ts, …) and similar functions."""
    return exp.Dot(this=_window(parser, name), expression=exp.to_identifier(part))


def _table_function(
    name: str, table: exp.Table, others: Sequence[exp.Expr], is_time: list[bool], has_keys: bool
) -> exp.Anonymous:
    """Return a call of a table function; `partition` has the columns of PARTITION BY after the table."""
    count = is_time.index(True) if has_keys and any(is_time) else 0
    call = exp.Anonymous(this=name, expressions=[table, *others[count:]])
    keys = (part.unnest() for part in others[:count])
    call.set("partition", [key for part in keys for key in (part.expressions or [part])])
    return call


def relation(parser: SparkParser) -> exp.Expression:
    """Parse TABLE(name) or TABLE(query), an argument that is a relation, or TABLE(call) in FROM."""
    if parser._next and parser._next.token_type is TokenType.L_PAREN:
        return exp.Anonymous(this="TABLE", expressions=parser._parse_csv(parser._parse_lambda))
    query = parser._parse_select()
    return exp.Subquery(this=query) if query else exp.Table(this=parser._parse_table_part())


def of_pairs(kind: type[exp.Func], given: list[exp.Expression]) -> exp.Func:
    """Build an aggregate of two columns, maybe of distinct pairs."""
    match given:
        case [exp.Distinct(expressions=[first, *others])]:
            given = [exp.Distinct(expressions=[first]), *others]
    return kind.from_arg_list(given)


def position(parser: SparkParser) -> exp.Expression:
    """Parse position('a' IN x), which is Spark's locate, or position('a', x)."""
    start = parser._index
    result = parser._parse_position()
    result.meta["in"] = any(token.token_type is TokenType.IN for token in parser._tokens[start : parser._index])
    return result


def special_time(text: exp.Expression, target: exp.DataType) -> exp.Expression:
    """Translate a text that is cast to a date or time: 'now' and its like are functions of the clock."""
    if not isinstance(text, exp.Literal) or not text.is_string or target.this not in exp.DataType.TEMPORAL_TYPES:
        return text
    today = exp.Anonymous(this="current_date")
    match text.name.strip().lower():
        case "epoch":
            return exp.Literal.string("1970-01-01")
        case "now":
            return exp.Anonymous(this="now")
        case "today":
            return today
        case "yesterday" | "tomorrow" as name:
            move = "date_sub" if name == "yesterday" else "date_add"
            return exp.Anonymous(this=move, expressions=[today, exp.Literal.number(1)])
    return text


def time_literal(parser: SparkParser, text: exp.Expression, target: exp.DataType) -> exp.Expr:
    """Parse DATE 'text' and similar literals; a function of the clock is cast as by CAST, a literal with :: later."""
    if isinstance(text, exp.Cast):
        return type(text)(**{**text.args, "this": time_literal(parser, text.this, target)})
    special = special_time(text, target)
    return parser.expression((exp.Cast if isinstance(special, exp.Literal) else exp.TryCast)(this=special, to=target))


def current_time(parser: SparkParser) -> exp.Expr:
    """Parse current_time, maybe with parentheses."""
    parser._match_pair(TokenType.L_PAREN, TokenType.R_PAREN)
    return parser.expression(exp.Anonymous(this="current_time"))


def null(parser: SparkParser, token: Token) -> exp.Expr:
    """Parse NULL with its place."""
    result = parser.expression(exp.Null())
    result.update_positions(token)
    return result


def plus(parser: SparkParser) -> exp.Expr | None:
    """Parse a plus sign before a value; before a number it shows in the name alone."""
    value = parser._parse_unary()
    if isinstance(value, exp.Literal) and not value.is_string:
        value.meta["plus"] = True
        return value
    return value and exp.Anonymous(this="positive", expressions=[value])

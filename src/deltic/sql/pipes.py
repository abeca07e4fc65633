"""Pipe syntax: `FROM t |> WHERE … |> AGGREGATE … GROUP BY … |> SELECT …`; each operator applies to the rows before it.

sqlglot merges pipe operators into one SELECT where it can, and loses DISTINCT, LIMIT and aliases. Here a query that the
next operator cannot extend becomes a subquery in its FROM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

Operator = Callable[[SparkParser, exp.Query], exp.Query]


def around(query: exp.Query, alias: exp.TableAlias | None = None) -> exp.Select:
    """Wrap a query in SELECT *; without an alias its columns stay those of their relations."""
    inner = query.subquery(alias, copy=False)
    inner.meta["piped"] = alias is None
    return exp.select("*").from_(inner, copy=False)


def _refuse(parser: SparkParser, word: Token, expected: str) -> NoReturn:
    parser.raise_error(f"Expected {expected}", word)
    raise AssertionError("a parser that passes over errors")


def _open(query: exp.Query, *taken: str) -> exp.Select:
    """Return a SELECT * without these clauses and later ones: the query itself, or one around it."""
    clauses = ("group", "having", "qualify", "windows", "distinct", "order", "limit", "offset", *taken)
    stars = isinstance(query, exp.Select) and [type(e) for e in query.expressions] == [exp.Star]
    plain = stars and not any(query.expressions[0].args.values())
    if isinstance(query, exp.Select) and plain and not any(query.args.get(clause) for clause in clauses):
        return query
    return around(query)


def _select(parser: SparkParser, query: exp.Query) -> exp.Select:
    word = parser._curr
    selected = parser._parse_select(consume_pipe=False)
    clauses = ("from_", "where", "having", "order", "limit", "offset")
    if not isinstance(selected, exp.Select) or any(selected.args.get(clause) for clause in clauses):
        _refuse(parser, word, "SELECT without other clauses")
    result = _open(query)
    for part in ("expressions", "distinct", "group", "windows", "qualify"):
        result.set(part, selected.args.get(part))
    return around(result)


def _extend(parser: SparkParser, query: exp.Query) -> exp.Select:
    parser._advance()
    result = _open(query).select(*parser._parse_expressions(), copy=False)
    result.set("windows", parser._parse_window_clause())
    return around(result)


def _set(parser: SparkParser, query: exp.Query) -> exp.Query:
    """Replace columns by values, in order, each over the result of the previous one."""
    word = parser._curr
    parser._advance()
    for assignment in parser._parse_csv(parser._parse_conjunction):
        if not isinstance(assignment, exp.EQ):
            _refuse(parser, word, "SET column = value")
        value = exp.alias_(assignment.expression, assignment.this.this)
        query = around(_open(query).select(exp.Star(replace=[value]), append=False, copy=False))
    return query


def _drop(parser: SparkParser, query: exp.Query) -> exp.Select:
    parser._advance()
    names = [exp.Column(this=name) for name in parser._parse_csv(parser._parse_id_var)]
    return around(_open(query).select(exp.Star(except_=names), append=False, copy=False))


def _aggregate(parser: SparkParser, query: exp.Query) -> exp.Select:
    """Lower AGGREGATE; numbers among its keys are positions of input columns."""
    parser._advance()
    shown = [] if parser._match(TokenType.GROUP_BY, advance=False) else parser._parse_expressions()
    keys = parser._parse_expressions() if parser._match(TokenType.GROUP_BY) else []
    for item in shown:
        item.meta["aggregated"] = True
    keys = [exp.PositionalColumn(this=key) if _is_number(key) else key for key in keys]
    result = _open(query).select(*keys, *shown, append=False, copy=False)
    return around(result.group_by(*(key.unalias() for key in keys), copy=False))


def _is_number(key: exp.Expr) -> bool:
    number = key.this if isinstance(key, exp.Neg) else key
    return isinstance(number, exp.Literal) and number.is_int


def _arranged(parser: SparkParser, query: exp.Query) -> exp.Select:
    """ORDER BY, SORT BY, DISTRIBUTE BY or CLUSTER BY."""
    parse: Callable[[SparkParser], tuple[str, object]] = parser.QUERY_MODIFIER_PARSERS[parser._curr.token_type]
    key, value = parse(parser)
    result = _open(query)
    result.set(key, value)
    return result


def _limit(parser: SparkParser, query: exp.Query) -> exp.Query:
    """LIMIT and OFFSET in the order of the preceding operator."""
    word = parser._curr
    limit, offset = parser._parse_limit(), parser._parse_offset()
    if query.args.get("limit") or query.args.get("offset"):
        _refuse(parser, word, "one LIMIT with its OFFSET")
    query.set("limit", limit)
    query.set("offset", offset)
    return query


def _pivot(parser: SparkParser, query: exp.Query) -> exp.Select:
    result = around(query)
    result.args["from_"].this.set("pivots", parser._parse_pivots())
    return around(result)


def _sample(parser: SparkParser, query: exp.Query) -> exp.Select:
    result = around(query)
    result.args["from_"].this.set("sample", parser._parse_table_sample())
    return result


OPERATORS: Mapping[str, Operator] = {
    "AGGREGATE": _aggregate,
    "AS": lambda parser, query: around(query, parser._parse_table_alias()),
    "CLUSTER BY": _arranged,
    "DISTRIBUTE BY": _arranged,
    "DROP": _drop,
    "EXTEND": _extend,
    "LIMIT": _limit,
    "OFFSET": _limit,
    "ORDER BY": _arranged,
    "PIVOT": _pivot,
    "SELECT": _select,
    "SET": _set,
    "SORT BY": _arranged,
    "TABLESAMPLE": _sample,
    "UNPIVOT": _pivot,
    "WHERE": lambda parser, query: _open(query).where(parser._parse_where(), copy=False),
}
"""The operators by their first word; joins and set operations have several."""


def joined(parser: SparkParser, query: exp.Query) -> exp.Select | None:
    """Parse a join with the preceding rows, if there is one."""
    join = parser._parse_join()
    return None if join is None else _open(query, "where").join(join, copy=False)


def combined(parser: SparkParser, query: exp.Query) -> exp.Select | None:
    """Parse UNION, INTERSECT or EXCEPT with the preceding rows, if there is one."""
    result = parser.parse_set_operation(query)
    if result is None:
        return None
    result.set("this", around(query))
    return around(result)

"""The names that Spark gives to selected expressions without an alias: a column's own, or the text as Spark has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from deltic.sql.aggregates import aggregate_name, direction
from deltic.sql.queries.time_windows import is_time_window

_SIGNS: Mapping[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "AND",
    exp.Or: "OR",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
_UPPER = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "degrees", "exp"),
    *("expm1", "floor", "hypot", "log10", "log1p", "log2", "power", "radians", "rint", "signum", "sin", "sinh"),
    *("sqrt", "tan", "tanh"),
)
"""Functions that Spark writes in capitals."""
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.Ntile)
"""Window functions whose frame goes by rows."""


def name_of(node: exp.Expression) -> str:
    """The name of a selected expression: that of its column, also of one that is cast, or its text as Spark has it."""
    inner = node.this if isinstance(node, exp.Cast) else node
    if isinstance(inner, exp.Column | exp.Dot):
        return inner.name
    return node.name.lower() if is_time_window(node) else text_of(node)


def text_of(node: exp.Expression) -> str:
    """An expression in Spark's words; one that has none of its own here in sqlglot's."""
    if sign := _SIGNS.get(type(node)):
        return f"({text_of(node.this)} {sign} {text_of(node.expression)})"
    writer = next((write for kind, write in _WRITERS.items() if isinstance(node, kind)), None)
    return node.sql(dialect="spark") if writer is None else writer(node)


def _listed(nodes: list[exp.Expression]) -> str:
    return ", ".join(map(text_of, nodes))


def _not(node: exp.Expression) -> str:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return f"({text_of(node.this.this)} IS NOT NULL)"
    return f"(NOT {text_of(node.this)})"


def _neg(node: exp.Expression) -> str:
    return f"-{node.this.name}" if isinstance(node.this, exp.Literal) else f"(- {text_of(node.this)})"


def _in(node: exp.Expression) -> str:
    shown = "listquery()" if node.args.get("query") else _listed(node.expressions)
    return f"({text_of(node.this)} IN ({shown}))"


def _cast(node: exp.Expression) -> str:
    word = "TRY_CAST" if node.args.get("safe") else "CAST"
    return f"{word}({text_of(node.this)} AS {node.args['to'].sql(dialect='spark').upper()})"


def _like(node: exp.Expression) -> str:
    found = f"{text_of(node.this)} LIKE {text_of(node.expression)}"
    return f"(NOT {found})" if node.args.get("negate") else found


def _case(node: exp.Expression) -> str:
    operand = node.args.get("this")
    parts = ["CASE"]
    for branch in node.args["ifs"]:
        condition = exp.EQ(this=operand.copy(), expression=branch.this.copy()) if operand else branch.this
        parts.append(f"WHEN {text_of(condition)} THEN {text_of(branch.args['true'])}")
    if default := node.args.get("default"):
        parts.append(f"ELSE {text_of(default)}")
    return f"{' '.join(parts)} END"


def _called(node: exp.Expression) -> str:
    name = node.name.lower()
    name = "ceil" if name == "ceiling" else name
    given = node.expressions
    if name == "round" and len(given) == 1:
        given = [*given, exp.Literal.number(0)]
    return f"{name.upper() if name in _UPPER else name}({_listed(given)})"


def _function(node: exp.Expression) -> str:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions:
        return "count(1)"
    parts = [part for key in node.arg_types if key in _ARGUMENTS for part in _each(node.args.get(key))]
    name = _FUNCTIONS.get(type(node)) or aggregate_name(node)
    return f"{name}({_listed(parts)}{', 1' if isinstance(node, exp.Quantile) else ''})"


_FUNCTIONS: Mapping[type[exp.Expression], str] = {
    exp.Stddev: "stddev",
    exp.Variance: "variance",
    exp.GroupConcat: "listagg",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.Rank: "RANK",
    exp.DenseRank: "DENSE_RANK",
}
"""Names that columns have otherwise than aggregates are called by."""


_ARGUMENTS = ("this", "expression", "expressions", "offset", "default", "quantile", "separator", "start", "length")


def _each(value: object) -> list[exp.Expression]:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, exp.Expression) else []


def _window(node: exp.Expression) -> str:
    parts = []
    if keys := node.args.get("partition_by"):
        parts.append(f"PARTITION BY {_listed(keys)}")
    if order := node.args.get("order"):
        parts.append(f"ORDER BY {_listed(order.expressions)}")
    return f"{text_of(node.this)} OVER ({' '.join([*parts, _frame(node)])})"


def _frame(node: exp.Expression) -> str:
    spec = node.args.get("spec")
    if spec is None:
        if not node.args.get("order"):
            return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return f"{'ROWS' if isinstance(node.this, _RANKS) else 'RANGE'} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    return f"{spec.args['kind'].upper()} BETWEEN {_bound(spec, 'start')} AND {_bound(spec, 'end')}"


def _bound(spec: exp.Expression, side: str) -> str:
    amount, way = spec.args.get(side), spec.args.get(f"{side}_side") or ""
    if amount is None or amount == "CURRENT ROW":
        return "CURRENT ROW"
    return f"{amount if isinstance(amount, str) else text_of(amount)} {way.upper()}"


def _ordered(node: exp.Expression) -> str:
    assert isinstance(node, exp.Ordered)
    return f"{text_of(node.this)} {direction(node)}"


_WRITERS: Mapping[type[exp.Expr], Callable[[exp.Expression], str]] = {
    exp.Paren: lambda node: text_of(node.this),
    exp.Column: lambda node: node.name,
    exp.Dot: lambda node: f"{text_of(node.this)}.{node.name}",
    exp.Literal: lambda node: node.name,
    exp.Null: lambda node: "NULL",
    exp.Boolean: lambda node: str(bool(node.this)).lower(),
    exp.Neg: _neg,
    exp.Not: _not,
    exp.NEQ: lambda node: f"(NOT ({text_of(node.this)} = {text_of(node.expression)}))",
    exp.Is: lambda node: f"({text_of(node.this)} IS {text_of(node.expression)})",
    exp.In: _in,
    exp.Between: lambda node: f"between({_listed([node.this, node.args['low'], node.args['high']])})",
    exp.Like: _like,
    exp.DPipe: lambda node: f"concat({_listed([node.this, node.expression])})",
    exp.Case: _case,
    exp.If: lambda node: f"(IF({_listed([node.this, node.args['true'], node.args.get('false') or exp.Null()])}))",
    exp.Cast: _cast,
    exp.Bracket: lambda node: f"{text_of(node.this)}[{_listed(node.expressions)}]",
    exp.Array: lambda node: f"array({_listed(node.expressions)})",
    exp.Distinct: lambda node: f"DISTINCT {_listed(node.expressions)}",
    exp.Filter: lambda node: f"{text_of(node.this)} FILTER (WHERE {text_of(node.expression.this)})",
    exp.Ordered: _ordered,
    exp.Window: _window,
    exp.Exists: lambda node: "exists()",
    exp.Query: lambda node: "scalarsubquery()",
    exp.Anonymous: _called,
    exp.Extract: lambda node: f"extract({node.name} FROM {text_of(node.expression)})",
    exp.Func: _function,
}
"""How each kind of expression is written, those of narrower kinds first."""

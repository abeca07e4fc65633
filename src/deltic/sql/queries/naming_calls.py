"""The text of calls, aggregates and window functions in names of columns, with the defaults of missing arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from sqlglot import exp

from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.expressions.trees import listed
from deltic.errors import DelticError
from deltic.sql.aggregate_calls import aggregate_name
from deltic.sql.queries.values import BlockValues
from deltic.values.types import Kind, Type

_UPPER = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "cot", "csc", "degrees", "e"),
    *("exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "pi", "power", "radians", "regexp", "regexp_like"),
    *("rlike", "sec", "signum", "sin", "sinh", "sqrt", "tan", "tanh"),
    *("dense_rank", "percent_rank", "rank"),
)
"""Functions that Spark writes in capitals."""
_UPPER_ALONE = ("ceil", "floor")
"""Functions that it writes so with one argument."""
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.Ntile)
"""Window functions whose frame counts rows."""
_CASTS = (
    *("bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "smallint", "string", "timestamp"),
    "tinyint",
)
"""Functions that are casts: they have the name and the text of their argument."""
_TESTS = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
"""Functions that Spark writes as conditions."""
_OTHERWISE = {
    "array_agg": "collect_list",
    "current_database": "current_schema",
    "dateadd": "date_add",
    "to_varchar": "to_char",
}
"""Functions that Spark calls by another name."""
_OF_UNITS = {
    **dict.fromkeys(("date_add", "dateadd"), "timestampadd"),
    **dict.fromkeys(("date_diff", "datediff", "timediff"), "timestampdiff"),
}
"""Functions that are others where their first argument is a unit of time."""
_SHOWN = {
    **dict.fromkeys(("from_csv", "from_json", "schema_of_csv", "schema_of_json", "to_csv", "to_json"), 1),
    **dict.fromkeys(("variant_get", "try_variant_get"), 2),
}
"""How many arguments the name has of functions whose schema, type and options are no part of it."""
_ARGUMENTS = (
    "this",
    "expression",
    "expressions",
    "offset",
    "default",
    "quantile",
    "accuracy",
    "count",
    "separator",
    "start",
    "length",
)
"""The arguments of sqlglot's classes that names show."""
_TIME = "yyyy-MM-dd HH:mm:ss"
_SAME = "lambdafunction(namedlambdavariable(), namedlambdavariable())"
_V = "namedlambdavariable()"
_NULLS_LAST = (
    f"lambdafunction((IF((({_V} IS NULL) AND ({_V} IS NULL)), 0, (IF(({_V} IS NULL), 1, (IF(({_V} IS NULL), -1, "
    f"(IF(({_V} < {_V}), -1, (IF(({_V} > {_V}), 1, 0)))))))))), {_V}, {_V})"
)

_DEFAULTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(("lag", "lead"), (1, ("1", "NULL"))),
    **dict.fromkeys(("listagg", "string_agg"), (1, ("NULL",))),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), (2, ("10000",))),
    **dict.fromkeys(("lpad", "rpad"), (2, (" ",))),
    **dict.fromkeys(("locate", "position"), (2, ("1",))),
    **dict.fromkeys(("substr", "substring"), (2, ("2147483647",))),
    **dict.fromkeys(("bround", "round"), (1, ("0",))),
    **dict.fromkeys(("from_unixtime", "to_unix_timestamp"), (1, (_TIME,))),
    **dict.fromkeys(("regexp_extract", "regexp_extract_all"), (2, ("1",))),
    **dict.fromkeys(("aggregate", "reduce"), (3, (_SAME,))),
    "instr": (3, ("1",)),
    "array_sort": (1, (_NULLS_LAST,)),
    "make_dt_interval": (0, ("0", "0", "0", "0.000000")),
    "make_interval": (0, ("0", "0", "0", "0", "0", "0", "0.000000")),
    "make_ym_interval": (0, ("0", "0")),
    "mask": (1, ("X", "x", "n", "NULL")),
    "months_between": (2, ("true",)),
    "ntile": (0, ("1",)),
    "overlay": (3, ("-1",)),
    "percentile": (2, ("1",)),
    "regexp_instr": (2, ("0",)),
    "regexp_replace": (3, ("1",)),
    "replace": (2, ("",)),
    "sentences": (1, ("", "")),
    "sort_array": (1, ("true",)),
    "split": (2, ("-1",)),
    "str_to_map": (1, (",", ":")),
    "time_bucket": (2, ("TIMESTAMP '1970-01-01 00:00:00'",)),
    "unix_timestamp": (0, ("current_timestamp()", _TIME)),
}
"""Default arguments by the names of functions: how many arguments come before those with a default, and these."""


class CallTexts(ABC):
    """Spark's text of calls over these rows; `aliases` are the names of the selected expressions before."""

    def __init__(self, values: BlockValues, aliases: Collection[str] = ()) -> None:
        self.values, self.source, self.aliases = values, values.scope.source, aliases

    @abstractmethod
    def text(self, node: exp.Expression) -> str:
        """Return the text of an expression."""

    def listed(self, nodes: list[exp.Expression]) -> str:
        return ", ".join(map(self.text, nodes))

    def type_of(self, node: exp.Expression) -> Type | None:
        """Return the type of a column, or of a constant; None where it is not known here."""
        inner = node.unnest()
        is_moved = isinstance(inner, exp.Add | exp.Sub) and isinstance(inner.expression, exp.Interval)
        if not isinstance(inner, exp.Column | exp.Cast | exp.Interval | exp.Anonymous | exp.Dot) and not is_moved:
            return None
        assert isinstance(inner, exp.Expression)
        try:
            return self.values.typed(inner).type.type
        except DelticError:
            return None

    def constant(self, node: exp.Expression) -> object:
        return evaluate(self.values.typed(node).expression, {}, {})

    def call(self, node: exp.Expression) -> str:
        name, given = node.name.lower(), list(node.expressions)
        shown = [self._argument(part) for part in given]
        if is_cast(node):
            return shown[0]
        if name in _TESTS and len(given) == 1:
            return f"({shown[0]} {_TESTS[name]})"
        if name == "like":
            ending = f" ESCAPE '{shown[2]}'" if shown[2:] else ""
            return f"{shown[0]} LIKE {shown[1]}{ending}"
        if name in ("ltrim", "rtrim") and len(given) == 2:
            return f"TRIM({'LEADING' if name == 'ltrim' else 'TRAILING'} {shown[0]} FROM {shown[1]})"
        if name == "shiftrightunsigned" and "called" not in node.meta:
            return f"({shown[0]} >>> {shown[1]})"
        if name == "datepart":
            return f"datepart({shown[0]} FROM {shown[1]})"
        if name == "div":
            return f"({shown[0]} div {shown[1]})"
        if name == "positive":
            return f"(+ {shown[0]})"
        if name == "log" and len(given) == 1:
            shown = ["E()", *shown]
        if name in _OF_UNITS and len(given) == 3:
            return f"{_OF_UNITS[name]}({', '.join(shown)})"
        if name in ("to_char", "to_varchar") and self.type_of(given[0]) in (Type.DATE, Type.TIMESTAMP):
            name = "date_format"
        text = self._called(_OTHERWISE.get(name, name), shown[: _SHOWN.get(name)])
        return f"{text} AS {key}" if (key := node.meta.get("key")) else text

    def _called(self, name: str, given: list[str]) -> str:
        is_upper = name in _UPPER or (name in _UPPER_ALONE and len(given) == 1)
        return f"{name.upper() if is_upper else name}({', '.join(_with_defaults(name, given))})"

    def _argument(self, node: exp.Expression) -> str:
        if isinstance(node, exp.Alias):  # those that a star stands for have no alias of their own
            shown = self.text(node.this)
            return shown if shown == node.alias else f"{shown} AS {node.alias}"
        return self.text(node)

    def lambda_(self, node: exp.Expression) -> str:
        variables = ["namedlambdavariable()"] * len(node.expressions)
        body = node.this.copy()
        names = {name.name.lower() for name in node.expressions}
        return f"lambdafunction({', '.join([self.text(_with_variables(body, names)), *variables])})"

    def function(self, node: exp.Expression) -> str:
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions:
            return "count(1)"
        parts = [part for key in node.arg_types if key in _ARGUMENTS for part in listed(node.args.get(key))]
        called = node.meta.get("called") or aggregate_name(node)
        is_least = node.args.get("deterministic") if isinstance(node, exp.Mode) else None
        if is_least and not is_least.find(exp.Column) and self.constant(is_least) is True:
            return f"mode() WITHIN GROUP (ORDER BY {self.text(parts[0])} DESC)"
        name = _OTHERWISE.get(called, called)
        return self._called(name, [self.text(part) for part in parts[: 1 if name == "approx_count_distinct" else None]])

    def of_group(self, node: exp.Expression) -> str:
        """Return an aggregate WITHIN GROUP, or of one whose order stands in its argument."""
        call, keys = node.this, node.expression.expressions
        if isinstance(call, exp.Mode):  # the least of the most frequent is the last of those in descending order
            (key,) = keys
            return f"mode() WITHIN GROUP (ORDER BY {self.text(key.this)}{'' if key.args.get('desc') else ' DESC'})"
        return f"{self.text(call)} WITHIN GROUP (ORDER BY {_short(self.listed(keys))})"

    def of_nulls(self, node: exp.Expression) -> str:
        """Return an aggregate with IGNORE or RESPECT NULLS."""
        shown, is_written = self.text(node.this), node.meta.get("written")
        is_edge = isinstance(node.this, exp.FirstValue | exp.LastValue)
        return shown.replace("_value", "", 1) if is_edge and is_written else shown

    def listagg(self, node: exp.Expression) -> str:
        ordered = node.this
        if not isinstance(ordered, exp.Order):
            return self.function(node)
        separator = node.args.get("separator")
        given = [self.text(ordered.this), *([self.text(separator)] if separator else [])]
        return f"{self._called('listagg', given)} WITHIN GROUP (ORDER BY {self.listed(ordered.expressions)})"

    def trim(self, node: exp.Expression) -> str:
        side, letters = node.args.get("position") or "BOTH", node.args.get("expression")
        if letters is None:
            names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
            return f"{names.get(side, 'trim')}({self.text(node.this)})"
        return f"TRIM({side} {self.text(letters)} FROM {self.text(node.this)})"

    def position(self, node: exp.Expression) -> str:
        start = node.args.get("position")
        called = "locate" if node.meta.get("in") else node.meta.get("called") or "locate"
        return self._called(called, [self.text(n) for n in (node.args["substr"], node.this, start) if n is not None])

    def overlay(self, node: exp.Expression) -> str:
        parts = [node.args.get(key) for key in ("this", "expression", "from_", "for_")]
        return self._called("overlay", [self.text(part) for part in parts if part is not None])

    def window(self, node: exp.Expression) -> str:
        parts = []
        if keys := node.args.get("partition_by"):
            parts.append(f"PARTITION BY {self.listed(keys)}")
        if order := node.args.get("order"):
            parts.append(f"ORDER BY {self.listed(order.expressions)}")
        return f"{self._in_window(node.this)} OVER ({' '.join([*parts, self._frame(node)])})"

    def _in_window(self, node: exp.Expression) -> str:
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.NthValue):
            return f"{self.text(node.this)} ignore nulls"
        return self.text(node)

    def _frame(self, node: exp.Expression) -> str:
        call = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
        if isinstance(call, exp.Lag | exp.Lead):
            rows = self.text(call.args.get("offset") or exp.Literal.number(1))
            is_back = isinstance(call, exp.Lag) and rows != "0"
            bound = (f"-{rows}" if is_back else rows).removeprefix("--") + " FOLLOWING"
            return f"ROWS BETWEEN {bound} AND {bound}"
        spec = node.args.get("spec")
        if spec is None:
            if not node.args.get("order"):
                return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
            return f"{'ROWS' if isinstance(call, _RANKS) else 'RANGE'} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        kind = spec.args["kind"].upper()
        return f"{kind} BETWEEN {self._bound(node, kind, 'start')} AND {self._bound(node, kind, 'end')}"

    def _bound(self, node: exp.Expression, kind: str, side: str) -> str:
        spec = node.args["spec"]
        amount, way = spec.args.get(side), (spec.args.get(f"{side}_side") or "").upper()
        if amount is None or amount == "CURRENT ROW":
            return "CURRENT ROW"
        if isinstance(amount, str):
            return f"{amount} {way}"
        order = node.args.get("order")  # a RANGE without one is refused later
        if kind == "RANGE" and way == "PRECEDING" and order:  # Spark adds the negative where the types differ
            key, bound = (self.values.typed(part).type.type for part in (order.expressions[0].this, amount))
            if key != bound and key.kind not in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
                return f"(- {self.text(amount)}) FOLLOWING"
        return f"{self.text(amount)} {way}"

    def item(self, node: exp.Expression) -> str:
        base, index = node.this, node.expressions[0]
        if index.is_string and (result := self.type_of(base)) is not None and result.kind is Kind.STRUCT:
            return f"{self.text(base)}.{index.name}"
        return f"{self.text(base)}[{self.listed(node.expressions)}]"


def _with_variables(body: exp.Expression, names: set[str]) -> exp.Expression:
    """Return the body of a lambda function with the name that Spark shows for its parameters."""
    around = exp.Paren(this=body)
    for part in list(body.find_all(exp.Identifier)):
        is_variable = part.name.lower() in names and not isinstance(part.parent, exp.Column | exp.Dot | exp.Lambda)
        first = isinstance(part.parent, exp.Dot) and part.arg_key == "this"
        if is_variable or (first and part.name.lower() in names):
            part.replace(exp.column("namedlambdavariable()", quoted=True))
    for column in list(around.find_all(exp.Column)):
        owner, *fields = column.parts
        if owner.name.lower() in names:
            path: exp.Expression = exp.column("namedlambdavariable()", quoted=True)
            for name in fields:
                path = exp.Dot(this=path, expression=name.copy())
            column.replace(path)
    result: exp.Expression = around.this
    return result


def _short(order: str) -> str:
    """Return the order of WITHIN GROUP as percentiles and modes show it: without the defaults."""
    return order.replace(" ASC NULLS FIRST", "").replace(" NULLS LAST", "")


def _with_defaults(name: str, given: list[str]) -> list[str]:
    """Return the arguments of a function with its defaults added."""
    first, defaults = _DEFAULTS.get(name, (0, ()))
    return [*given, *defaults[len(given) - first :]] if len(given) >= first else given


def is_cast(node: exp.Expr) -> bool:
    """Return whether it is a call of a function that is a cast."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _CASTS and len(node.expressions) == 1

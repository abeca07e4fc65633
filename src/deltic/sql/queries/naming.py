"""The names that Spark gives to selected expressions without an alias: the name of a column, or the text in Spark's
form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.expressions.trees import listed
from deltic.errors import DelticError
from deltic.functions.intervals import written
from deltic.sql.aggregate_calls import aggregate_name
from deltic.sql.aggregates import direction
from deltic.sql.names import field_name
from deltic.sql.queries.default_arguments import with_defaults
from deltic.sql.queries.subqueries import used_by
from deltic.sql.queries.time_windows import is_time_window
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars.intervals import is_calendar_interval
from deltic.sql.scalars.literals import adjacent, is_number
from deltic.sql.scalars.operators import INTERVALS
from deltic.sql.text import span_of
from deltic.values.types import Kind, Type

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
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
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
_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
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


def name_of(node: exp.Expression, values: BlockValues, aliases: Collection[str] = ()) -> str:
    """Return the name of a selected expression over these rows, in which stars and fields of columns are written out.

    `aliases` are the names of those before it, which it may use.
    """
    return _Names(values, aliases).of(node)


class _Names:
    """Generates Spark's text of expressions, with sqlglot's where they agree."""

    def __init__(self, values: BlockValues, aliases: Collection[str] = ()) -> None:
        self._values, self._source, self._aliases = values, values.scope.source, aliases

    def of(self, node: exp.Expression) -> str:
        """Return the name of a column: that of the selected or cast column, else the expression's text."""
        if spoken := node.meta.get("spoken"):
            return str(spoken)
        inner = node.unnest()
        if _is_cast(inner):
            return self.of(inner.expressions[0])
        if isinstance(inner, exp.Cast) and not is_number(inner):
            inner = inner.this
        if isinstance(inner, exp.Column) or _is_path(inner):
            return inner.name
        if key := inner.meta.get("key"):
            return str(key)
        return inner.name.lower() if is_time_window(inner) else self.text(node)

    def text(self, node: exp.Expression) -> str:
        """Return the text of an expression."""
        if spoken := node.meta.get("spoken"):
            return str(spoken)
        if node.meta.get("constant"):
            return self.interval(node)
        if sign := _SIGNS.get(type(node)):
            return self._of_times(node) or f"({self.text(node.this)} {sign} {self.text(node.expression)})"
        writer = next((write for kind, write in _WRITERS.items() if isinstance(node, kind)), None)
        return node.sql(dialect="spark") if writer is None else writer(self, node)

    def listed(self, nodes: list[exp.Expression]) -> str:
        return ", ".join(map(self.text, nodes))

    def _type(self, node: exp.Expression) -> Type | None:
        """Return the type of a column, or of a constant; None where it is not known here."""
        inner = node.unnest()
        is_moved = isinstance(inner, exp.Add | exp.Sub) and isinstance(inner.expression, exp.Interval)
        if not isinstance(inner, exp.Column | exp.Cast | exp.Interval | exp.Anonymous | exp.Dot) and not is_moved:
            return None
        assert isinstance(inner, exp.Expression)
        try:
            return self._values.typed(inner).type.type
        except DelticError:
            return None

    def _of_times(self, node: exp.Expression) -> str:
        """Return the text of a sum or difference of a time, which Spark has as a function or without parentheses."""
        if not isinstance(node, exp.Add | exp.Sub):
            return ""
        sides = [node.this, node.expression]
        types = [self._type(side) for side in sides]
        if isinstance(node, exp.Add) and types[1] in (*_TIMES, Type.TIME):
            sides, types = sides[::-1], types[::-1]
        if isinstance(node, exp.Sub) and types[0] is Type.DATE and node.expression.is_string:
            return ""
        of_days = isinstance(sides[1], exp.Interval) and self._values.typed(sides[1]).fields == ("DAY", "DAY")
        added = self.text(sides[1])
        if types[0] is Type.DATE and of_days:
            days = f"extractansiintervaldays({added})"
            return f"date_add({self.text(sides[0])}, {days if isinstance(node, exp.Add) else f'(- {days})'})"
        is_moved = types[0] in (*_TIMES, Type.TIME) and (types[1] in INTERVALS or is_calendar_interval(sides[1]))
        is_moved |= types == [Type.TIME, Type.TIME]
        if types[0] is Type.DATE and types[1] not in _TIMES and not is_moved:
            return f"date_{'add' if isinstance(node, exp.Add) else 'sub'}({self.text(sides[0])}, {added})"
        if is_moved:
            return f"{self.text(sides[0])} {_SIGNS[type(node)]} {added}"
        return ""

    # Columns and constants

    def column(self, node: exp.Expression) -> str:
        assert isinstance(node, exp.Column)
        if not self._values.is_placed(node):
            is_alias = node.name.lower() in self._aliases and not self._values.rows.find(node)
            return f"lateralAliasReference({node.name})" if is_alias else node.name
        result = self._values.resolve(node).expression.name
        return next((a.name for a in self._values.rows.attributes if a.column.name == result), result)

    def field(self, node: exp.Expression) -> str:
        base = node.this.unnest()
        return f"{'window' if is_time_window(base) else self.text(base)}.{node.name}"

    def literal(self, node: exp.Expression) -> str:
        is_float = isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower()
        text = self._number(node) if is_float else node.name if node.is_string else node.name.removesuffix(".")
        return f"(+ {text})" if node.meta.get("plus") else text

    def _constant(self, node: exp.Expression) -> object:
        return evaluate(self._values.typed(node).expression, {}, {})

    def adjacent(self, node: exp.Expression) -> str:
        return adjacent([part.name for part in node.expressions], node, self._source)

    def cast(self, node: exp.Expression) -> str:
        target = _type_name(node.args["to"])
        if not isinstance(node, exp.TryCast) and isinstance(node.this, exp.Literal):
            return f"{target.partition('(')[0].replace('_LTZ', '')} '{_written(self._constant(node))}'"
        if is_number(node) or _is_decimal(node):
            return self._number(node)
        if node.args["to"].is_type("array", "map", "struct"):
            return self.text(node.this)
        return f"{'TRY_CAST' if node.args.get('safe') else 'CAST'}({self.text(node.this)} AS {target})"

    def _number(self, node: exp.Expression) -> str:
        """Return a number with the letter of its type, as a text of that type."""
        return str(self._constant(exp.Cast(this=node.copy(), to=exp.DataType.build("string"))))

    def interval(self, node: exp.Expression) -> str:
        value = self._values.typed(node)
        span = self._constant(node)
        assert value.fields is not None
        assert isinstance(span, int | timedelta)
        return written(span, *value.fields)

    # Conditions

    def not_(self, node: exp.Expression) -> str:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return f"({self.text(node.this.this)} IS NOT NULL)"
        return f"(NOT {self.text(node.this)})"

    def is_(self, node: exp.Expression) -> str:
        sign = "<=>" if isinstance(node.expression, exp.Boolean) else "IS"
        return f"({self.text(node.this)} {sign} {self.text(node.expression)})"

    def neg(self, node: exp.Expression) -> str:
        is_constant = is_number(node.this) or _is_decimal(node.this)
        return self._number(node) if is_constant else f"(- {self.text(node.this)})"

    def in_(self, node: exp.Expression) -> str:
        query = node.args.get("query")
        if query is None:
            return f"({self.text(node.this)} IN ({self.listed(node.expressions)}))"
        left = self.text(node.this)
        if isinstance(node.this, exp.Tuple):
            parts = ", ".join(f"'{self.of(part)}', {self.text(part)}" for part in node.this.expressions)
            left = f"named_struct({parts})"
        return f"({left} IN (listquery({self._outer(query)})))"

    def _outer(self, query: exp.Expression) -> str:
        """Return the columns of the rows around that a subquery uses, in the order of their places."""
        inside = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
        named = [c for c in query.find_all(exp.Column, bfs=False) if c.table.lower() not in inside or not c.table]
        there = [(column, around) for column in named for around in self._values.rows.find(column)[:1]]
        used = used_by(query, self._values) if any(not column.table for column, _ in there) else frozenset()
        return ", ".join(dict.fromkeys(c.name for c, around in there if c.table or around.column.name in used))

    def exists(self, node: exp.Expression) -> str:
        return f"exists({self._outer(node.this)})"

    def query(self, node: exp.Expression) -> str:
        return f"scalarsubquery({self._outer(node)})"

    def like(self, node: exp.Expression) -> str:
        patterns, negate = node.expression, "not" if node.args.get("negate") else ""
        if isinstance(patterns, exp.Any | exp.All):
            text = f"lower({self.text(node.this)})" if isinstance(node, exp.ILike) else self.text(node.this)
            return f"{negate}like{'any' if isinstance(patterns, exp.Any) else 'all'}({text})"
        if isinstance(node, exp.ILike):
            result = f"ilike({self.text(node.this)}, {self.text(patterns)})"
        else:
            result = f"{self.text(node.this)} LIKE {self.text(patterns)}"
        return f"(NOT {result})" if negate else result

    def escape(self, node: exp.Expression) -> str:
        ending = "" if isinstance(node.this, exp.ILike) else f" ESCAPE '{node.expression.name}'"
        return self.text(node.this) + ending

    def case(self, node: exp.Expression) -> str:
        operand = node.args.get("this")
        parts = ["CASE"]
        for branch in node.args["ifs"]:
            condition = exp.EQ(this=operand.copy(), expression=branch.this.copy()) if operand else branch.this
            parts.append(f"WHEN {self.text(condition)} THEN {self.text(branch.args['true'])}")
        if default := node.args.get("default"):
            parts.append(f"ELSE {self.text(default)}")
        return f"{' '.join(parts)} END"

    # Calls

    def call(self, node: exp.Expression) -> str:
        name, given = node.name.lower(), list(node.expressions)
        shown = [self._argument(part) for part in given]
        if _is_cast(node):
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
        if name in ("to_char", "to_varchar") and self._type(given[0]) in (Type.DATE, Type.TIMESTAMP):
            name = "date_format"
        text = self._called(_OTHERWISE.get(name, name), shown[: _SHOWN.get(name)])
        return f"{text} AS {key}" if (key := node.meta.get("key")) else text

    def _called(self, name: str, given: list[str]) -> str:
        is_upper = name in _UPPER or (name in _UPPER_ALONE and len(given) == 1)
        return f"{name.upper() if is_upper else name}({', '.join(with_defaults(name, given))})"

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
        if is_least and not is_least.find(exp.Column) and self._constant(is_least) is True:
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
            key, bound = (self._values.typed(part).type.type for part in (order.expressions[0].this, amount))
            if key != bound and key.kind not in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
                return f"(- {self.text(amount)}) FOLLOWING"
        return f"{self.text(amount)} {way}"

    def item(self, node: exp.Expression) -> str:
        base, index = node.this, node.expressions[0]
        if index.is_string and (result := self._type(base)) is not None and result.kind is Kind.STRUCT:
            return f"{self.text(base)}.{index.name}"
        return f"{self.text(base)}[{self.listed(node.expressions)}]"


def _is_decimal(node: exp.Expr) -> bool:
    """Return whether it is a number with BD, which the parser turns into the cast of a text without a position."""
    if not isinstance(node, exp.TryCast) or not node.to.is_type("decimal"):
        return False
    return isinstance(node.this, exp.Literal) and node.this.is_string and span_of(node.this) is None


def _is_cast(node: exp.Expr) -> bool:
    """Return whether it is a call of a function that is a cast."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _CASTS and len(node.expressions) == 1


def _type_name(type_: exp.DataType) -> str:
    """Return the name of a type that a cast names; sqlglot's dialect of Spark has no TIME."""
    if type_.is_type("time"):
        return f"TIME({type_.expressions[0].name if type_.expressions else 6})"
    return type_.sql(dialect="spark").upper().replace(", ", ",")


def _is_path(node: exp.Expr) -> bool:
    """Return whether it is a field of a column, or one of such a field."""
    while isinstance(node, exp.Dot):
        node = node.this
        if isinstance(node, exp.Column):
            return True
    return False


def _written(value: object) -> str:
    """Return a time as Spark writes it in literals."""
    if isinstance(value, datetime | time):
        text = value.isoformat() if isinstance(value, time) else value.replace(tzinfo=None).isoformat(" ")
        return text.rstrip("0") if value.microsecond else text
    return value.isoformat() if isinstance(value, date) else str(value)


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


def _fields(names: _Names, row: exp.Expression) -> Iterator[str]:
    """Yield the names and values of the fields of a row in parentheses."""
    for place, part in enumerate(row.expressions, 1):
        yield field_name(part) or f"col{place}"
        yield names.text(part)


def _ordered(names: _Names, node: exp.Expression) -> str:
    assert isinstance(node, exp.Ordered)
    return f"{names.text(node.this)} {direction(node)}"


def _of_two(name: str) -> Callable[[_Names, exp.Expression], str]:
    return lambda names, node: f"{name}({names.listed([node.this, node.expression])})"


_WRITERS: Mapping[type[exp.Expr], Callable[[_Names, exp.Expression], str]] = {
    exp.Paren: lambda names, node: names.text(node.this),
    exp.Column: _Names.column,
    exp.Dot: _Names.field,
    exp.Literal: _Names.literal,
    exp.RawString: lambda names, node: node.name,
    exp.HexString: lambda names, node: f"X'{'0' * (len(node.name) % 2)}{node.name.upper()}'",
    exp.Concat: _Names.adjacent,
    exp.Interval: _Names.interval,
    exp.Null: lambda names, node: "NULL",
    exp.Boolean: lambda names, node: str(bool(node.this)).lower(),
    exp.Neg: _Names.neg,
    exp.Not: _Names.not_,
    exp.NEQ: lambda names, node: f"(NOT ({names.text(node.this)} = {names.text(node.expression)}))",
    exp.NullSafeNEQ: lambda names, node: f"(NOT ({names.text(node.this)} <=> {names.text(node.expression)}))",
    exp.Is: _Names.is_,
    exp.In: _Names.in_,
    exp.Between: lambda names, node: f"between({names.listed([node.this, node.args['low'], node.args['high']])})",
    exp.Like: _Names.like,
    exp.ILike: _Names.like,
    exp.Escape: _Names.escape,
    exp.RegexpLike: _of_two("RLIKE"),
    exp.DPipe: _of_two("concat"),
    exp.Case: _Names.case,
    exp.If: lambda n, node: f"(IF({n.listed([node.this, node.args['true'], node.args.get('false') or exp.Null()])}))",
    exp.Cast: _Names.cast,
    exp.Bracket: _Names.item,
    exp.Array: lambda names, node: f"array({names.listed(node.expressions)})",
    exp.Tuple: lambda names, node: f"named_struct({', '.join(_fields(names, node))})",
    exp.Lambda: _Names.lambda_,
    exp.Distinct: lambda names, node: f"DISTINCT {names.listed(node.expressions)}",
    exp.Filter: lambda names, node: f"{names.text(node.this)} FILTER (WHERE {names.text(node.expression.this)})",
    exp.WithinGroup: _Names.of_group,
    exp.IgnoreNulls: _Names.of_nulls,
    exp.RespectNulls: _Names.of_nulls,
    exp.Ordered: _ordered,
    exp.Window: _Names.window,
    exp.Exists: _Names.exists,
    exp.Query: _Names.query,
    exp.Anonymous: _Names.call,
    exp.Extract: lambda names, node: f"extract({node.meta['field']} FROM {names.text(node.expression)})",
    exp.Trim: _Names.trim,
    exp.StrPosition: _Names.position,
    exp.Overlay: _Names.overlay,
    exp.GroupConcat: _Names.listagg,
    exp.Any: lambda names, node: f"any({names.text(node.this)})",
    exp.Func: _Names.function,
}
"""How each kind of expression is written, those of narrower kinds first."""

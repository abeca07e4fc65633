"""The names that Spark gives to selected expressions without an alias: the name of a column, or the text in Spark's
form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from deltic.functions.intervals import written
from deltic.sql.aggregates import direction
from deltic.sql.names import field_name
from deltic.sql.queries.naming_calls import CallTexts, is_cast
from deltic.sql.queries.subqueries import used_by
from deltic.sql.queries.time_windows import is_time_window
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars.intervals import is_calendar_interval
from deltic.sql.scalars.literals import adjacent, is_number
from deltic.sql.scalars.operators import INTERVALS
from deltic.sql.text import span_of
from deltic.values.types import Type

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
_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)


def name_of(node: exp.Expression, values: BlockValues, aliases: Collection[str] = ()) -> str:
    """Return the name of a selected expression over these rows, in which stars and fields of columns are written out.

    `aliases` are the names of those before it, which it may use.
    """
    return _Names(values, aliases).of(node)


class _Names(CallTexts):
    """Generates Spark's text of expressions, with sqlglot's where they agree."""

    def of(self, node: exp.Expression) -> str:
        """Return the name of a column: that of the selected or cast column, else the expression's text."""
        if spoken := node.meta.get("spoken"):
            return str(spoken)
        inner = node.unnest()
        if is_cast(inner):
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

    def _of_times(self, node: exp.Expression) -> str:
        """Return the text of a sum or difference of a time, which Spark has as a function or without parentheses."""
        if not isinstance(node, exp.Add | exp.Sub):
            return ""
        sides = [node.this, node.expression]
        types = [self.type_of(side) for side in sides]
        if isinstance(node, exp.Add) and types[1] in (*_TIMES, Type.TIME):
            sides, types = sides[::-1], types[::-1]
        if isinstance(node, exp.Sub) and types[0] is Type.DATE and node.expression.is_string:
            return ""
        of_days = isinstance(sides[1], exp.Interval) and self.values.typed(sides[1]).fields == ("DAY", "DAY")
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
        if not self.values.is_placed(node):
            is_alias = node.name.lower() in self.aliases and not self.values.rows.find(node)
            return f"lateralAliasReference({node.name})" if is_alias else node.name
        result = self.values.resolve(node).expression.name
        return next((a.name for a in self.values.rows.attributes if a.column.name == result), result)

    def field(self, node: exp.Expression) -> str:
        base = node.this.unnest()
        return f"{'window' if is_time_window(base) else self.text(base)}.{node.name}"

    def literal(self, node: exp.Expression) -> str:
        is_float = isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower()
        text = self._number(node) if is_float else node.name if node.is_string else node.name.removesuffix(".")
        return f"(+ {text})" if node.meta.get("plus") else text

    def adjacent(self, node: exp.Expression) -> str:
        return adjacent([part.name for part in node.expressions], node, self.source)

    def cast(self, node: exp.Expression) -> str:
        target = _type_name(node.args["to"])
        if not isinstance(node, exp.TryCast) and isinstance(node.this, exp.Literal):
            return f"{target.partition('(')[0].replace('_LTZ', '')} '{_written(self.constant(node))}'"
        if is_number(node) or _is_decimal(node):
            return self._number(node)
        if node.args["to"].is_type("array", "map", "struct"):
            return self.text(node.this)
        return f"{'TRY_CAST' if node.args.get('safe') else 'CAST'}({self.text(node.this)} AS {target})"

    def _number(self, node: exp.Expression) -> str:
        """Return a number with the letter of its type, as a text of that type."""
        return str(self.constant(exp.Cast(this=node.copy(), to=exp.DataType.build("string"))))

    def interval(self, node: exp.Expression) -> str:
        value = self.values.typed(node)
        span = self.constant(node)
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
        there = [(column, around) for column in named for around in self.values.rows.find(column)[:1]]
        used = used_by(query, self.values) if any(not column.table for column, _ in there) else frozenset()
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


def _is_decimal(node: exp.Expr) -> bool:
    """Return whether it is a number with BD, which the parser turns into the cast of a text without a position."""
    if not isinstance(node, exp.TryCast) or not node.to.is_type("decimal"):
        return False
    return isinstance(node.this, exp.Literal) and node.this.is_string and span_of(node.this) is None


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

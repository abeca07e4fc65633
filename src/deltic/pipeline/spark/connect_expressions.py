"""Expressions of Spark Connect as texts of SQL, over the numbered columns of some rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse_one

from deltic.pipeline.spark.connect_literals import type_name, written_literal, written_text
from deltic.pipeline.spark.connect_rows import PlanColumn, PlanRows, field_of, parts_of
from deltic.pipeline.spark.plan_errors import PlanErrors
from deltic.pipeline.spark.spark import quoted
from deltic.sql.dialect import Deltic
from deltic.sql.text import span_of

_BETWEEN = {"==": "=", **{name: name for name in ("+", "-", "*", "/", "%", "=", "<=>", "<", "<=", ">", ">=")}}
_BETWEEN |= {"and": "AND", "or": "OR", "&": "&", "|": "|", "^": "^", "rlike": "RLIKE"}
_BEFORE = {"not": "NOT", "!": "NOT", "~": "~", "negative": "-", "-": "-"}
_AFTER = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_NAME, _AS = re.compile(r"\w+"), re.compile(r"(\s+AS)?[\s(]*$", re.IGNORECASE)


@dataclass(frozen=True)
class ExpressionWriter:
    """Writes expressions over some rows. Raises CatalogError if it cannot read one."""

    rows: PlanRows
    errors: PlanErrors

    def written(self, expression: Any) -> str:
        kind = expression.WhichOneof("expr_type")
        write = _WRITERS.get(kind)
        if write is None:
            raise self.errors.unsupported(f"an expression of the kind {kind}")
        return write(self, getattr(expression, kind))

    def each(self, expressions: Sequence[Any]) -> str:
        return ", ".join(map(self.written, expressions))

    def starred(self, expression: Any) -> Sequence[PlanColumn] | None:
        """Return the columns of `*` or `alias.*`; None for another expression."""
        kind = expression.WhichOneof("expr_type")
        target = None
        if kind == "unresolved_star":
            target = expression.unresolved_star.unparsed_target.removesuffix(".*")
        elif kind == "expression_string":
            text = expression.expression_string.expression.strip()
            target = text[:-1].rstrip(".") if text == "*" or text.endswith(".*") else None
        if target is None:
            return None
        (qualifier,) = parts_of(target) or ("",)
        return [c for c in self.rows.columns if not qualifier or c.qualifier.lower() == qualifier.lower()]

    def column(self, expression: Any) -> PlanColumn | None:
        """Return the column that an expression is; None for one that computes."""
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            return None
        column, fields = self._named(expression.unresolved_attribute)
        return None if fields else column

    def ordered(self, orders: Sequence[Any]) -> str:
        return ", ".join(map(self._order, orders))

    def _named(self, attribute: Any) -> tuple[PlanColumn, Sequence[str]]:
        plan = attribute.plan_id if attribute.HasField("plan_id") else None
        return self.rows.column(attribute.unparsed_identifier, plan, self.errors)

    def _attribute(self, attribute: Any) -> str:
        column, fields = self._named(attribute)
        return field_of(column.number, fields)

    def _literal(self, literal: Any) -> str:
        return written_literal(literal, self.errors)

    def _alias(self, alias: Any) -> str:
        return self.written(alias.expr)

    def _cast(self, cast: Any) -> str:
        type_ = cast.type_str or type_name(cast.type)
        mode = cast.EvalMode.Name(cast.eval_mode)
        if mode == "EVAL_MODE_LEGACY":
            raise self.errors.unsupported("a cast without ANSI mode")
        return f"{'TRY_' * (mode == 'EVAL_MODE_TRY')}CAST({self.written(cast.expr)} AS {type_})"

    def _order(self, order: Any) -> str:
        word = {"SORT_DIRECTION_DESCENDING": "DESC"}.get(order.SortDirection.Name(order.direction), "ASC")
        nulls = {"SORT_NULLS_LAST": "LAST"}.get(order.NullOrdering.Name(order.null_ordering), "FIRST")
        return f"{self.written(order.child)} {word} NULLS {nulls}"

    def _call(self, call: Any) -> str:
        name, arguments = call.function_name, call.arguments
        if getattr(call, "is_internal", False) or not (_NAME.fullmatch(name) or name in {*_BETWEEN, *_BEFORE}):
            raise self.errors.unsupported(f"the function {name} of Spark’s own")
        own = name.lower()
        if own in _BETWEEN and len(arguments) == 2:
            return f"({self.written(arguments[0])} {_BETWEEN[own]} {self.written(arguments[1])})"
        if own in _BEFORE and len(arguments) == 1:
            return f"({_BEFORE[own]} {self.written(arguments[0])})"
        if own in _AFTER:
            return f"({self.written(arguments[0])} {_AFTER[own]})"
        if own == "in":
            return f"({self.written(arguments[0])} IN ({self.each(arguments[1:])}))"
        if own in ("like", "ilike"):
            escape = f" ESCAPE {self.written(arguments[2])}" if len(arguments) > 2 else ""
            return f"({self.written(arguments[0])} {own.upper()} {self.written(arguments[1])}{escape})"
        if own == "when":
            return self._when(arguments)
        is_distinct = getattr(call, "is_distinct", False)
        return f"{name}({'DISTINCT ' * is_distinct}{', '.join(self._arguments(own, arguments))})"

    def _when(self, arguments: Sequence[Any]) -> str:
        pairs = zip(arguments[::2], arguments[1::2], strict=False)
        branches = " ".join(f"WHEN {self.written(a)} THEN {self.written(b)}" for a, b in pairs)
        rest = f" ELSE {self.written(arguments[-1])}" if len(arguments) % 2 else ""
        return f"CASE {branches}{rest} END"

    def _arguments(self, function: str, arguments: Sequence[Any]) -> Iterator[str]:
        """Yield the arguments of a call; those of `struct` with their names, which the columns of the query have
        not.
        """
        for argument in arguments:
            columns = self.starred(argument)
            if columns is not None and function == "count":
                yield "*"
            elif columns is not None:
                yield from (_as_field(c.number, c.name if function == "struct" else "") for c in columns)
            else:
                yield _as_field(self.written(argument), _name(argument) if function == "struct" else "")

    def _window(self, window: Any) -> str:
        parts = [f"PARTITION BY {self.each(window.partition_spec)}" if window.partition_spec else ""]
        parts.append(f"ORDER BY {self.ordered(window.order_spec)}" if window.order_spec else "")
        if window.HasField("frame_spec"):
            frame = window.frame_spec
            word = "ROWS" if frame.FrameType.Name(frame.frame_type) == "FRAME_TYPE_ROW" else "RANGE"
            parts.append(f"{word} BETWEEN {self._bound(frame.lower, -1)} AND {self._bound(frame.upper, 1)}")
        return f"{self.written(window.window_function)} OVER ({' '.join(filter(None, parts))})"

    def _bound(self, bound: Any, side: int) -> str:
        if bound.WhichOneof("boundary") == "current_row":
            return "CURRENT ROW"
        if bound.WhichOneof("boundary") == "unbounded":
            return f"UNBOUNDED {'PRECEDING' if side < 0 else 'FOLLOWING'}"
        literal = bound.value.literal
        number = getattr(literal, literal.WhichOneof("literal_type") or "")
        if not isinstance(number, int):
            raise self.errors.unsupported("a bound of a window that is no number")
        return f"{abs(number)} {'PRECEDING' if number < 0 else 'FOLLOWING'}"

    def _lambda(self, function: Any) -> str:
        names = ", ".join(_variable(argument) for argument in function.arguments)
        return f"({names}) -> {self.written(function.function)}"

    def _extract(self, extract: Any) -> str:
        key = extract.extraction.literal
        if key.WhichOneof("literal_type") != "string":
            return f"{self.written(extract.child)}[{self.written(extract.extraction)}]"
        return f"{self.written(extract.child)}[{written_text(key.string)}]"

    def _string(self, string: Any) -> str:
        """Return a text of SQL: the columns that it names are replaced."""
        text = f"SELECT {string.expression}"
        select = parse_one(text, read=Deltic)
        if not isinstance(select, exp.Select) or [*select.find_all(exp.Query)] != [select]:
            raise self.errors.subquery()
        (tree,) = select.expressions
        end = _end_of(tree, text)
        for (start, after), column in sorted(self._replaced(tree).items(), reverse=True):
            text = text[:start] + column + text[after:]
            end += len(column) - (after - start)
        return f"({text[len('SELECT ') : end]})"

    def _replaced(self, tree: exp.Expression) -> dict[tuple[int, int], str]:
        """Return the columns of a text by their places in it."""
        made = {}
        for column in tree.find_all(exp.Column):
            span, names = span_of(column), [part.name for part in column.parts]
            if span is None:
                raise self.errors.unsupported(f"the column {column.sql()} of a text")
            found, fields = self.rows.column(".".join(map(quoted, names)), None, self.errors)
            made[span] = _as_field(field_of(found.number, fields), names[-1] * _is_struct(column.parent))
        return made

    def _function_of_user(self, function: Any) -> str:
        what = "function of Scala" if function.WhichOneof("function") != "python_udf" else "function"
        raise self.errors.unknown_function(f"{what} {function.function_name}")

    def _subquery(self, _: Any) -> str:
        raise self.errors.subquery()


def _variable(variable: Any) -> str:
    return str(variable.name_parts[0])


def _end_of(tree: exp.Expression, text: str) -> int:
    """Return where an expression ends in a text, without the name that it may have."""
    names: Sequence[exp.Expression] = ()
    if isinstance(tree, exp.Aliases):
        names = tree.expressions
    elif isinstance(tree, exp.Alias):
        names = [tree.args["alias"]]
    spans = [span for name in names if (span := span_of(name)) is not None]
    if not spans:
        return len(text)
    start = min(first for first, _ in spans) - text[: spans[0][0]].endswith("`")
    named = _AS.search(text, 0, start)
    return named.start() if named is not None else start


def _is_struct(call: exp.Expr | None) -> bool:
    return isinstance(call, exp.Anonymous) and call.name.lower() == "struct"


def _as_field(text: str, name: str) -> str:
    return f"{text} AS {quoted(name)}" if name else text


def _name(expression: Any) -> str:
    """Return the name that an expression has in a struct; empty where it has none of its own."""
    kind = expression.WhichOneof("expr_type")
    if kind == "alias":
        return str(expression.alias.name[0])
    return parts_of(expression.unresolved_attribute.unparsed_identifier)[-1] if kind == "unresolved_attribute" else ""


_WRITERS: Mapping[str | None, Callable[[ExpressionWriter, Any], str]] = {
    "literal": ExpressionWriter._literal,
    "unresolved_attribute": ExpressionWriter._attribute,
    "unresolved_function": ExpressionWriter._call,
    "call_function": ExpressionWriter._call,
    "expression_string": ExpressionWriter._string,
    "alias": ExpressionWriter._alias,
    "cast": ExpressionWriter._cast,
    "window": ExpressionWriter._window,
    "lambda_function": ExpressionWriter._lambda,
    "unresolved_named_lambda_variable": lambda _, variable: _variable(variable),
    "unresolved_extract_value": ExpressionWriter._extract,
    "common_inline_user_defined_function": ExpressionWriter._function_of_user,
    "subquery_expression": ExpressionWriter._subquery,
}

"""A call of an aggregate in SQL, taken apart: arguments by their types, and clauses; and what it is lowered to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import Parameter
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.expressions.trees import listed
from deltic.sql.collations import within
from deltic.sql.scalars import Typed, coerced, comparable, settled
from deltic.sql.scalars.coercion import as_signed
from deltic.sql.scalars.functions.rules import apply, attempt, to
from deltic.sql.scalars.operators import INTERVALS, Mismatch
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Kind, Type

Value = Callable[[exp.Expression], Typed]

_NAMES: dict[type[exp.Expression], str] = {
    exp.AnyValue: "any_value",
    exp.Any: "bool_or",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "approx_percentile",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    exp.FirstValue: "first",
    exp.GroupConcat: "string_agg",
    exp.LastValue: "last",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Stddev: "stddev_samp",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
}
"""Spark's name of a function, where sqlglot's is another."""
ANONYMOUS = {
    "every": "bool_and",
    "mean": "avg",
    "some": "bool_or",
    "std": "stddev_samp",
}
"""Spark's other names of aggregates, for which sqlglot has no class."""
_ADDED = (*INTERVALS, Type.TIMESTAMP)


def aggregate_name(node: exp.Expression) -> str:
    """Spark's name of the function that a node of sqlglot calls."""
    return _NAMES.get(type(node)) or node.sql_name().lower()  # type: ignore[attr-defined]


@dataclass(frozen=True)
class AskedAggregate:
    """A call of an aggregate: its name, arguments and clauses."""

    call: exp.Expression
    name: str
    arguments: tuple[exp.Expression, ...]
    value: Value
    source: SourceText
    is_distinct: bool = False
    order: tuple[exp.Ordered, ...] = ()
    condition: exp.Expression | None = None

    @classmethod
    def of(cls, node: exp.Expression, value: Value, source: SourceText) -> AskedAggregate:
        """Take a node apart."""
        if isinstance(node, exp.Filter):
            return replace(cls.of(node.this, value, source), condition=node.expression.this)
        if isinstance(node, exp.WithinGroup):
            return replace(cls.of(node.this, value, source), order=tuple(node.expression.expressions))
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            return cls.of(node.this, value, source)
        if isinstance(node, exp.Anonymous):
            name, arguments = ANONYMOUS.get(node.name.lower(), node.name.lower()), list(node.expressions)
        else:
            name = aggregate_name(node)
            arguments = [a for key in node.arg_types for a in listed(node.args.get(key))]
        first = arguments[0] if arguments else None
        order: list[exp.Ordered] = []
        if isinstance(first, exp.Order):
            order, first = first.expressions, first.this
            arguments[0] = first
        is_distinct = isinstance(first, exp.Distinct)
        if isinstance(first, exp.Distinct):
            arguments[:1] = first.expressions
        return cls(node, name, tuple(arguments), value, source, is_distinct, tuple(order))

    def error(self, message: str, hint: str = "") -> Exception:
        """Return the error about the call."""
        return self.source.error(self.call, message, hint)

    def take(self, least: int, most: int) -> None:
        """Raise ProgramError unless the number of arguments is allowed."""
        count = len(self.arguments)
        if not least <= count <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(f"{self.name} takes {wanted} argument{'s' * (most != 1)}, not {count}")

    def any(self, node: exp.Expression) -> Typed:
        """Return the value of an argument of any type."""
        return settled(self.value(node))

    def ordered(self, node: exp.Expression) -> Typed:
        """Return the value of an argument of any ordered type."""
        result = self.any(node)
        if not result.type.type.is_ordered:
            raise self.mismatch(node, "values that have an order", result)
        return result

    def one_of(self, node: exp.Expression, what: str, fits: Callable[[Type], bool], otherwise: Type) -> Typed:
        """Return the value of an argument of a type that `fits`; texts and a bare NULL get the type `otherwise`."""
        result = self.value(node)
        if result.is_null or (result.type.type is Type.STRING and otherwise.is_numeric):
            return coerced(result, otherwise)
        if not fits(result.type.type):
            raise self.mismatch(node, what, result)
        return coerced(result, as_signed(result.type.type))

    def typed(self, node: exp.Expression, type_: Type) -> Typed:
        """Return the value of an argument, coerced as arguments of functions are."""
        result = self.value(node)
        try:
            return to(result, type_)
        except Mismatch as mismatch:
            raise self.source.error(node, f"{self.name}: {mismatch}") from None

    def double(self, node: exp.Expression) -> Typed:
        """Return the value of an argument as a DOUBLE."""
        return coerced(self.number(node), Type.FLOAT64)

    def number(self, node: exp.Expression) -> Typed:
        """Return the value of an argument that is a number."""
        return self.one_of(node, "a number", lambda type_: type_.is_numeric, Type.FLOAT64)

    def number_or_time(self, node: exp.Expression) -> Typed:
        """Return the value of an argument that is a number, a date or a time."""
        times = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
        return self.one_of(node, "a number, a date or a time", lambda t: t.is_numeric or t in times, Type.FLOAT64)

    def number_or_interval(self, node: exp.Expression) -> Typed:
        """Return the value of an argument that is a number, or an interval; an instant is one in seconds since 1970."""
        result = self.one_of(
            node, "a number, an interval or a TIMESTAMP", lambda t: t.is_numeric or t in _ADDED, Type.FLOAT64
        )
        return coerced(result, Type.FLOAT64) if result.type.type is Type.TIMESTAMP else result

    def integer(self, node: exp.Expression) -> Typed:
        """Return the value of an argument that is an integer."""
        return self.one_of(node, "an integer", lambda type_: type_.is_integer, Type.INT64)

    def condition_of(self, node: exp.Expression) -> Typed:
        """Return the value of an argument that is a condition."""
        result = self.value(node)
        if result.type.type is Type.STRING:
            return coerced(result, Type.BOOLEAN)
        return self.one_of(node, "a condition", lambda type_: type_ is Type.BOOLEAN, Type.BOOLEAN)

    def constant(self, node: exp.Expression, target: Type, what: str) -> object:
        """Return the value of an argument that is the same for all rows; None for NULL."""
        result = self.value(node)
        fits = result.is_null or result.type.type is target or (target.is_numeric and result.type.type.is_numeric)
        if result.expression.find(exp.Column) or not fits:
            raise self.source.error(node, f"{what} of {self.name} is a constant of type {written(target)}")
        return None if result.is_null else evaluate(coerced(result, target).expression, {}, {})

    def mismatch(self, node: exp.Expression, what: str, found: Typed) -> Exception:
        """Return the error about an argument of another type than is taken."""
        shown = f"{self.source.written(node)} is {written(found.type.type)}"
        return self.source.error(node, f"{self.name} takes {what}, and {shown}")


@dataclass(frozen=True)
class AggregateColumn:
    """An aggregate of the circuit; `inputs` are the numbers of the columns that it reads."""

    function: str
    inputs: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()

    def over(self, columns: Sequence[str], name: str) -> ops.AggregateCall:
        """Return the aggregate of these columns of the circuit."""
        first, *others = columns or [""]
        return ops.AggregateCall(self.function, first, name, tuple(others), self.parameters)


@dataclass(frozen=True)
class LoweredAggregates:
    """The columns computed before grouping, the aggregates over them, and the value made of the results.

    If `is_distinct`, rows with equal values in these columns count once.
    """

    inputs: tuple[Typed, ...]
    calls: tuple[AggregateColumn, ...]
    result: Callable[[Sequence[Typed]], Typed]
    is_distinct: bool = False


Rule = Callable[[AskedAggregate], LoweredAggregates]


def one(function: str, *inputs: Typed, parameters: tuple[Parameter, ...] = ()) -> LoweredAggregates:
    """Return a single aggregate of the circuit, whose result is the value."""
    if any(text.is_collated for text in inputs):
        function, inputs = _in_collation(function, inputs)
    call = AggregateColumn(function, tuple(range(len(inputs))), parameters)
    return LoweredAggregates(inputs, (call,), lambda results: with_modifier(results[0], inputs))


def _in_collation(function: str, inputs: tuple[Typed, ...]) -> tuple[str, tuple[Typed, ...]]:
    """Return an aggregate of texts with a collation, and its arguments: what it compares are keys."""
    match function:
        case "min" | "max":
            return f"{function}_by", (inputs[0], comparable(inputs[0]))
        case "min_by" | "max_by":
            return function, (inputs[0], comparable(inputs[1]))
        case "count_distinct":
            return function, tuple(map(comparable, inputs))
        case "count" | "collect_list":
            return function, inputs
    raise Mismatch("its texts are compared by bytes: write CAST(… AS STRING)")


def with_modifier(result: Typed, inputs: Sequence[Typed]) -> Typed:
    """Keep the interval fields or the collation of the argument in a result that is one of its values."""
    if not inputs or inputs[0].modifier is None:
        return result
    if result.type.type is inputs[0].type.type:
        return replace(result, modifier=inputs[0].modifier)
    is_list = result.type.type.kind is Kind.ARRAY and result.type.type.element.type is inputs[0].type.type
    return replace(result, modifier=within(inputs[0].modifier)) if is_list else result


def interval_of(units: Typed, type_: Type, is_tried: bool = False) -> Typed:
    """Return an interval from a number of months or microseconds; NULL where there is none, if it `is_tried`."""
    name = f"interval_of_{'months' if type_ is Type.YEAR_MONTH_INTERVAL else 'microseconds'}"
    return (attempt if is_tried else apply)(name, units)

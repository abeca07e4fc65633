"""Window functions of SQL as functions of circuits: which they consist of, over which columns and frames.

Their semantics is Spark's. Where an order has ties, the values of the rows decide, so that the result depends on
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import Parameter
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.operators.over import PARTITION, SO_FAR, Distance
from deltic.errors import EvaluationError
from deltic.sql.aggregate_calls import LoweredAggregates, with_modifier
from deltic.sql.aggregates import direction, is_aggregate, lowered
from deltic.sql.remedies import REFUSED
from deltic.sql.scalars import Typed, can_coerce, coerced, operators, settled
from deltic.sql.scalars.conditions import is_null
from deltic.sql.scalars.functions.collections import field, struct
from deltic.sql.scalars.functions.rules import attempt
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Kind, Type

Value = Callable[[exp.Expression], Typed]

_RANKS = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_SHIFTS = {exp.Lag: "lag", exp.Lead: "lead"}
_PICKS = {
    exp.First: "first_value",
    exp.FirstValue: "first_value",
    exp.AnyValue: "first_value",
    exp.Last: "last_value",
    exp.LastValue: "last_value",
}
_IN_ORDER = ("collect_list", "string_agg")
_TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_DAY, _MICROSECOND = timedelta(days=1), timedelta(microseconds=1)


@dataclass(frozen=True)
class WindowColumn:
    """A window function of the circuit; `inputs` are the numbers of the columns that it reads."""

    function: str
    inputs: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    frame: ops.Frame | None = None
    ignores_nulls: bool = False

    def over(self, columns: Sequence[str], name: str) -> ops.WindowCall:
        """Return the function of these columns of the circuit."""
        return ops.WindowCall(self.function, tuple(columns), name, self.parameters, self.frame, self.ignores_nulls)


@dataclass(frozen=True)
class LoweredWindow:
    """The columns that are computed first, the functions over them, and the value of these functions' results."""

    inputs: tuple[Typed, ...]
    calls: tuple[WindowColumn, ...]
    result: Callable[[Sequence[Typed]], Typed]


def lowered_window(window: exp.Window, order: Sequence[Typed], value: Value, source: SourceText) -> LoweredWindow:
    """Return a window function, in whose window a named one has been put in its place.

    `order` are the values of ORDER BY's keys and `value` gives those of other expressions of the window, constants and
    arguments of functions. Raises ProgramError at the place of what is not supported, or of what Spark refuses.
    """
    return _Window(window, order, value, source).lowered()


class _Window:
    def __init__(self, window: exp.Window, order: Sequence[Typed], value: Value, source: SourceText) -> None:
        self.window, self.order, self.value, self.source = window, order, value, source
        node = window.this
        self.ignores_nulls = isinstance(node, exp.IgnoreNulls)
        self.node = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
        self.name = self.node.sql_name().lower() if isinstance(self.node, exp.Func) else source.written(self.node)

    def lowered(self) -> LoweredWindow:
        kind = type(self.node)
        if kind in _RANKS or kind is exp.Ntile:
            return self._rank()
        if kind in _SHIFTS:
            return self._shift()
        if kind in _PICKS:
            return self._one(_PICKS[kind], [self.value(self.node.this)], (), self._frame())
        if kind is exp.NthValue:
            number = self._above_zero(self.node.args.get("offset"), "the number of the row")
            return self._one("nth_value", [self.value(self.node.this)], (number,), self._frame())
        return self._aggregate()

    def error(self, node: exp.Expression, message: str, hint: str = "") -> Exception:
        """Return the error about a part of the window."""
        return self.source.error(node, message, hint)

    def _one(
        self,
        function: str,
        inputs: Sequence[Typed],
        parameters: tuple[Parameter, ...] = (),
        frame: ops.Frame | None = None,
    ) -> LoweredWindow:
        """One function of the circuit, whose result is the value."""
        inputs = [settled(value) for value in inputs]
        call = WindowColumn(function, tuple(range(len(inputs))), parameters, frame, self.ignores_nulls)
        return LoweredWindow(tuple(inputs), (call,), lambda results: with_modifier(results[0], inputs))

    # Functions

    def _rank(self) -> LoweredWindow:
        unit = ops.Unit.RANGE if isinstance(self.node, exp.CumeDist) else ops.Unit.ROWS
        self._needs_order(ops.Frame(unit, None, 0))
        if isinstance(self.node, exp.Ntile):
            return self._one("ntile", (), (self._above_zero(self.node.this, "the number of buckets"),))
        for argument in self.node.args.get("expressions") or ():
            self.value(argument)  # Spark ranks by the order of the window alone
        return self._one(_RANKS[type(self.node)], ())

    def _shift(self) -> LoweredWindow:
        """LAG and LEAD, of one row where no number is given, and NULL where there is no such row and no default."""
        offset, default = self.node.args.get("offset"), self.node.args.get("default")
        number = 1 if offset is None else self._whole(offset, "the number of rows")
        there = number if isinstance(self.node, exp.Lead) else -number
        self._needs_order(ops.Frame(ops.Unit.ROWS, there, there))
        inputs = [settled(self.value(self.node.this))]
        if default is not None:
            result, target = self.value(default), inputs[0].type.type
            if not can_coerce(result, target):
                shown = f"{self.source.written(default)} is {written(result.type.type)}"
                raise self.error(default, f"the default of {self.name} has to be {written(target)}, and {shown}")
            inputs += [] if result.is_null else [coerced(result, target)]
        return self._one(_SHIFTS[type(self.node)], inputs, (number,))

    def _needs_order(self, own: ops.Frame) -> None:
        """Refuse what Spark does: ranks and neighbours without an order, or in a frame that is not their own."""
        if not self.order:
            raise self.error(self.node, f"{self.name} needs an order", "write ORDER BY in its window")
        if self.window.args.get("spec") is not None and self._frame() != own:
            message = f"{self.name} takes no frame but {own}"
            raise self.error(self.node, message, "leave out everything after ORDER BY")

    def _aggregate(self) -> LoweredWindow:
        if not is_aggregate(self.node):
            own = self.node.name.lower() if isinstance(self.node, exp.Anonymous) else self.name
            remedy = REFUSED.get(own, "")
            raise self.error(self.node, f"{own} is not a window function", remedy)
        if (distinct := self.node.find(exp.Distinct)) is not None:
            hint = "join with a view of its own that has the aggregate by PARTITION BY's columns"
            raise self.error(distinct.parent or distinct, "an aggregate over a window cannot be DISTINCT", hint)
        if isinstance(self.node, exp.Filter) and type(self.node.this) in _PICKS:
            hint = "write first_value or last_value of a CASE, with IGNORE NULLS"
            raise self.error(self.node, f"FILTER of {self.source.written(self.node.this)} is not supported", hint)
        result, frame = self._in_order(lowered(self.node, self.value, self.source)), self._frame()
        calls = []
        for made in result.calls:
            call = made.over([str(number) for number in made.inputs], "")
            calls.append(WindowColumn(call.function, made.inputs, call.parameters, frame))
        return LoweredWindow(result.inputs, tuple(calls), result.result)

    def _in_order(self, found: LoweredAggregates) -> LoweredAggregates:
        """Return an aggregate that puts values one after the other: in the order of the window, unless it has its
        own.
        """
        has_own = self.node.find(exp.WithinGroup, exp.ArgMax, exp.ArgMin) is not None
        if not self.order or has_own or found.calls[0].function not in _IN_ORDER:
            return found
        (call,) = found.calls
        keys = self.window.args["order"].expressions
        if call.function == "string_agg":
            inputs = (*found.inputs, *self.order)
            directions = (*call.parameters, *map(direction, keys))
            return replace(
                found, inputs=inputs, calls=(replace(call, inputs=tuple(range(len(inputs))), parameters=directions),)
            )
        if self.order[0].expression == found.inputs[0].expression and not keys[0].args.get("desc"):
            return found
        return self._listed(found, keys)

    def _listed(self, found: LoweredAggregates, keys: Sequence[exp.Ordered]) -> LoweredAggregates:
        """Return an array in the order of the window: of structs that begin with its keys, which are in this order.

        Of one that falls it is the array turned round.
        """
        falls = bool(keys[0].args.get("desc"))
        if any((bool(key.args.get("desc")), bool(key.args.get("nulls_first"))) != (falls, not falls) for key in keys):
            hint = "order by keys that all rise, or all fall, with NULL where Spark puts it"
            raise self.error(self.node, f"{self.name} in an order that both rises and falls is not supported", hint)
        (value,) = found.inputs
        pair = struct([*(f"key{i}" for i in range(len(keys))), "value"], [*self.order, value])
        there = operators.logic(exp.Not, [is_null(value)])
        inputs = (operators.case([(there, pair)], None) if value.type.nullable else pair,)

        def result(results: Sequence[Typed]) -> Typed:
            values = field(results[0], "value")
            return found.result([attempt("array_reverse", values) if falls else values])

        return replace(found, inputs=inputs, result=result)

    # Arguments

    def _constant(self, node: exp.Expression, what: str) -> tuple[Any, Type]:
        """Return a value that is the same for all rows, and its type."""
        result = self.value(node)
        if result.is_null or result.expression.find(exp.Column):
            raise self.error(node, f"{what} is a constant that is not NULL")
        try:
            return evaluate(result.expression, {}, {}), result.type.type
        except EvaluationError as error:
            raise self.error(node, str(error)) from None

    def _whole(self, node: exp.Expression, what: str) -> int:
        """Return a constant that is a whole number."""
        result, type_ = self._constant(node, what)
        if not type_.is_integer:
            raise self.error(node, f"{what} is a whole number, and {self.source.written(node)} is {written(type_)}")
        return int(result)

    def _above_zero(self, node: exp.Expression | None, what: str) -> int:
        """Return a constant that is a whole number above zero; one where none is given."""
        number = 1 if node is None else self._whole(node, what)
        if node is not None and number < 1:
            raise self.error(node, f"{what} is above zero")
        return number

    # Frames

    def _frame(self) -> ops.Frame:
        """Return the frame that is written, or SQL's own: with an order all up to the current row and its peers."""
        spec = self.window.args.get("spec")
        if spec is None:
            return SO_FAR if self.order else PARTITION
        if (exclude := spec.args.get("exclude")) is not None:
            raise self.error(exclude, "EXCLUDE in a frame is not supported", "write the frame without it")
        unit = ops.Unit[spec.args["kind"].upper()]
        if unit is ops.Unit.GROUPS and not self.order:
            raise self.error(spec, "a frame of GROUPS needs an order", "write ORDER BY before it")
        bounds = [self._bound(spec, "start", unit), self._bound(spec, "end", unit)]
        months = {is_months for distance, is_months in bounds if distance}
        if len(months) > 1:
            raise self.error(spec, "a frame goes by months or by days, and not by both")
        frame = ops.Frame(ops.Unit.MONTHS if True in months else unit, bounds[0][0], bounds[1][0])
        if frame.is_reversed:
            raise self.error(spec, f"the frame ends before it starts: {frame}")
        return frame

    def _bound(self, spec: exp.WindowSpec, side: str, unit: ops.Unit) -> tuple[Distance, bool]:
        """Return how far a frame goes to one side, and whether that is in months."""
        amount, direction = spec.args.get(side), spec.args.get(f"{side}_side")
        if amount is None or amount == "CURRENT ROW":
            return 0, False
        is_back = str(direction).upper() == "PRECEDING"
        if amount == "UNBOUNDED":
            if is_back != (side == "start"):
                raise self.error(spec, f"a frame cannot {side} with UNBOUNDED {str(direction).upper()}")
            return None, False
        if unit is ops.Unit.RANGE:
            distance, is_months = self._range(amount, spec)
        else:
            distance, is_months = self._whole(amount, f"a distance in {unit.value}"), False
        return -distance if is_back else distance, is_months

    def _range(self, amount: exp.Expression, spec: exp.WindowSpec) -> tuple[int | Decimal, bool]:
        """Return a distance in the values of the order, and whether that is in months."""
        if len(self.order) != 1:
            raise self.error(spec, "a frame by RANGE with distances needs one column to order by", "write ROWS")
        result, type_ = self._constant(amount, "a distance")
        ordered = self.order[0].type.type
        if ordered.is_numeric and type_.is_numeric:
            return (int(result) if type_.is_integer else Decimal(str(result))), False
        is_time = ordered.kind in _TIMES or ordered is Type.DATE
        if is_time and type_ is Type.YEAR_MONTH_INTERVAL:
            return int(result), True
        if type_ is Type.DAY_TIME_INTERVAL and (ordered.kind in _TIMES or ordered is type_):
            return result // _MICROSECOND, False
        if ordered is type_ and type_ is Type.YEAR_MONTH_INTERVAL:
            return int(result), False
        if ordered is Type.DATE and (type_.is_integer or (type_ is Type.DAY_TIME_INTERVAL and not result % _DAY)):
            return (int(result) if type_.is_integer else result // _DAY), False
        shown = f"{self.source.written(amount)} is {written(type_)}"
        raise self.error(amount, f"a distance in values of {written(ordered)} cannot be that: {shown}")

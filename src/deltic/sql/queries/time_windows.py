"""Time windows: tumbling and hopping ones, which depend on a row's time alone, and sessions, which depend on its
neighbours.

They are written as Spark's functions `window` and `session_window` in a SELECT, at most one in each, or as the table
functions TUMBLE, HOP and SESSION. Rows without a time are in no window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.operators.over import PARTITION, SO_FAR, Frame, Unit, session
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.trees import outermost, replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed, coerced, constant
from deltic.sql.scalars.functions.rules import apply
from deltic.sql.scalars.functions.times import is_window, last_time
from deltic.sql.scalars.operators import arithmetic, case
from deltic.sql.scalars.typed import NULL, applied
from deltic.sql.text import SourceText
from deltic.values.types import Kind, Type

FUNCTIONS = ("window", "session_window")
TABLE_FUNCTIONS = {"TUMBLE": "size", "HOP": "slide, size", "SESSION": "gap"}
_MICROSECOND = timedelta(microseconds=1)
_PARTS = ("start", "end")


@dataclass(frozen=True)
class TimeWindow:
    """The window of each row: from `start` to `length` microseconds after `last`, exclusive."""

    start: Typed
    last: Typed
    length: int

    @property
    def end(self) -> Typed:
        """The end of the window."""
        return arithmetic(exp.Add, self.last, constant(self.length * _MICROSECOND, Type.DAY_TIME_INTERVAL))


def is_time_window(node: object) -> bool:
    """Return whether a node is a call of one of Spark's functions for windows of time."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in FUNCTIONS


class TimeWindows:
    """The time window that a block's clauses use, if any; `keys` are the other keys of GROUP BY beside a session."""

    def __init__(self, values: BlockValues, clauses: Sequence[exp.Expression], keys: Sequence[exp.Expression]) -> None:
        self._values, self._source = values, values.scope.source
        calls = {n.sql().lower(): n for clause in clauses for n in outermost(clause, is_time_window)}
        if len(calls) > 1:
            other = list(calls.values())[1]
            raise self._source.error(other, "a SELECT has one window of time", "compute the other in a subquery")
        self._name = ""
        for call in calls.values():
            assert isinstance(call, exp.Anonymous)
            self._name, self._found = call.name.lower(), self._window(call, keys)

    def _window(self, call: exp.Anonymous, keys: Sequence[exp.Expression]) -> TimeWindow:
        values, name = self._values, call.name.lower()
        wanted = "window(time, size[, slide[, start]])" if name == "window" else "session_window(time, gap)"
        if not 2 <= len(call.expressions) <= (4 if name == "window" else 2):
            raise self._source.error(call, f"it is written {wanted}")
        time, *lengths = call.expressions
        result = _time_column(values, time)
        if name == "session_window":
            partition = self._partition(call, keys)
            if (gap := _span(lengths[0], values)).expression.find(exp.Column):
                return varying_sessions(values, result, gap, partition)
            return sessions(values, result, _positive(_length(lengths[0], values), call, self._source), partition)
        spans = [_length(length, values) for length in lengths]
        size, slide, origin = [*spans, *[spans[0], 0][len(spans) - 1 :]]
        return hopping(values, result, _Hop(size, slide, origin).checked(call, self._source))

    def _partition(self, call: exp.Expression, keys: Sequence[exp.Expression]) -> list[str]:
        """Return the columns by which GROUP BY groups beside a session; each group has sessions of its own."""
        if call not in [key.unnest() for key in keys]:
            raise self._source.error(call, "session_window must be in GROUP BY", "use SESSION in FROM without one")
        values = self._values
        others = [key for key in keys if not is_time_window(key.unnest())]
        return [values.column(values.typed(prepared(key, values)), "key").name for key in others]

    def written_out(self, node: exp.Expression) -> exp.Expression:
        """Return an expression in which the window, and its name, are replaced by its start, its end or a struct of
        both.
        """
        return replaced(node, self._is_meant, self._meant) if self._name else node

    def key(self, node: exp.Expression) -> exp.Expression:
        """Return a key of GROUP BY: the window's start, and its last time where the start alone does not determine
        it.
        """
        inner = node.unnest()
        assert isinstance(inner, exp.Expression)
        if self._name and self._is_meant(inner) and not self._part(inner):
            parts = dict.fromkeys((self._found.start, self._found.last))
            return exp.Tuple(expressions=[self._values.place(node, part) for part in parts])
        return self.written_out(node)

    def _is_meant(self, node: exp.Expression) -> bool:
        if is_time_window(node):
            return True
        if isinstance(node, exp.Dot) and is_time_window(node.this.unnest()):
            return bool(self._part(node))
        is_named = isinstance(node, exp.Column) and self._name in (node.table.lower(), node.name.lower())
        return is_named and not self._values.rows.find(node)  # type: ignore[arg-type]

    def _part(self, node: exp.Expression) -> str:
        """Return the part of the window that a node reads; "" for the whole."""
        if isinstance(node, exp.Dot):
            return node.expression.name.lower() if node.expression.name.lower() in _PARTS else ""
        if not isinstance(node, exp.Column) or not node.table:
            return ""
        if node.name.lower() not in _PARTS:
            raise self._source.error(node, f"a window has no field {node.name}", "its fields are start and end")
        return node.name.lower()

    def _meant(self, node: exp.Expression) -> exp.Expression:
        window = self._found
        length = exp.Interval(this=exp.Literal.string(str(window.length)), unit=exp.var("MICROSECOND"))
        end = exp.Add(this=self._values.place(node, window.last), expression=length)
        parts = {"start": self._values.place(node, window.start), "end": exp.Paren(this=end)}
        if part := self._part(node):
            return parts[part]
        fields = [part for name, value in parts.items() for part in (exp.Literal.string(name), value)]
        return exp.Anonymous(this="named_struct", expressions=fields)


# What a window is


@dataclass(frozen=True)
class _Hop:
    """Windows of `size` that start every `slide` from `origin` on, in microseconds."""

    size: int
    slide: int
    origin: int = 0

    def checked(self, node: exp.Expression, source: SourceText) -> _Hop:
        """Check the window; raises ProgramError where Spark refuses it."""
        _positive(self.size, node, source)
        _positive(self.slide, node, source)
        if self.slide > self.size:
            raise source.error(node, "the slide is longer than the window", "some times would be in no window")
        if abs(self.origin) >= self.slide:
            raise source.error(node, "the start is not less than the slide")
        return self

    @property
    def overlapping(self) -> int:
        """The largest number of windows that contain one time."""
        return -(-self.size // self.slide)


def hopping(values: BlockValues, time: Typed, hop: _Hop) -> TimeWindow:
    """Return the window of each row; a row appears once for each window that contains it."""
    nodes, index = values.scope.nodes, constant(0, Type.INT64)
    if hop.overlapping > 1:
        name = nodes.fresh("hop")
        bounds = (literal(0, Type.INT64), literal(hop.overlapping, Type.INT64))
        values.go_on(nodes.builder.add(ops.FlatMap(name, "range", bounds), values.rows.node))
        index = Typed(column(name), nodes.column(values.rows.node, name).value_type)
    numbers = (constant(hop.slide, Type.INT64), constant(hop.origin, Type.INT64), index)
    made = values.computed(apply("window_start", time, *numbers), "window_start")
    start = Typed(column(made.name), made.value_type)
    window = TimeWindow(start, start, hop.size)
    if hop.size % hop.slide:
        values.filter(exp.LT(this=time.expression.copy(), expression=window.end.expression.copy()))
    return window


def sessions(values: BlockValues, time: Typed, gap: int, keys: Sequence[str]) -> TimeWindow:
    """Return the session of each row among rows of the same keys; a session ends one gap after its last row."""
    first, last = _over(values, ("first_value", "last_value"), time, time, keys, session(gap))
    return TimeWindow(first, last, gap)


def varying_sessions(values: BlockValues, time: Typed, gap: Typed, keys: Sequence[str]) -> TimeWindow:
    """Return the session of each row where each row has a gap of its own; a row without one above zero is in none.

    A row begins a session if it comes after the ends of all rows before it; the session ends with the last of its rows'
    ends.
    """
    end = _placed(values, arithmetic(exp.Add, time, gap), "end")
    values.filter(applied(exp.GT, end, time).expression)
    (latest,) = _over(values, ("max",), end, time, keys, Frame(Unit.RANGE, None, -1))
    begun = case([(applied(exp.LTE, time, latest), coerced(NULL, time.type.type))], time)
    (start,) = _over(values, ("max",), _placed(values, begun, "begun"), time, keys, SO_FAR)
    (last,) = _over(values, ("max",), end, time, [*keys, start.expression.name], PARTITION)
    return TimeWindow(start, last, 0)


def _over(
    values: BlockValues, functions: Sequence[str], value: Typed, time: Typed, keys: Sequence[str], frame: Frame
) -> list[Typed]:
    """Return window functions of a column in the order of time, among rows of the same keys."""
    scope = values.scope
    made = {function: scope.nodes.fresh(function) for function in functions}
    calls = tuple(ops.WindowCall(f, (value.expression.name,), own, frame=frame) for f, own in made.items())
    partition = tuple(dict.fromkeys((*scope.bound_names, *keys)))
    order = (ops.Order(time.expression.name),)
    values.go_on(scope.nodes.builder.add(ops.Over(partition, order, calls), values.rows.node))
    return [Typed(column(own), scope.nodes.column(values.rows.node, own).value_type) for own in made.values()]


def _placed(values: BlockValues, value: Typed, name: str) -> Typed:
    """Return the value as a new column of the rows."""
    made = values.computed(value, name)
    return Typed(column(made.name), made.value_type)


# What is written


def _time_column(values: BlockValues, node: exp.Expression) -> Typed:
    """Return the column of the rows' times, or of the last time of a window. It drops rows without a time."""
    source = values.scope.source
    time = values.typed(prepared(node, values))
    time = coerced(time, Type.TIMESTAMP) if time.type.type in (Type.STRING, Type.DATE) else time
    result = values.column(last_time(time) if is_window(time.type.type) else time, "time")
    if result.type.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        message = f"a window is one of a TIMESTAMP, and {source.written(node)} is {result.type}"
        raise source.error(node, message, f"write CAST({source.written(node)} AS TIMESTAMP)")
    values.go_on(values.scope.nodes.drop_null(values.rows.node, [result.name]))
    there = values.scope.nodes.column(values.rows.node, result.name)
    return Typed(column(there.name), there.value_type)


def _length(node: exp.Expression, values: BlockValues) -> int:
    """Return the microseconds of a constant interval, or of a text that Spark reads as one."""
    result = _span(node, values)
    if result.expression.find(exp.Column):
        message = f"{values.scope.source.written(node)} is not a constant interval"
        raise values.scope.source.error(node, message, "write '10 minutes' or INTERVAL 10 MINUTES")
    span: timedelta = evaluate(result.expression, {}, {})
    return span // _MICROSECOND


def _span(node: exp.Expression, values: BlockValues) -> Typed:
    """Return an interval, in which texts are intervals, too: the whole, or what CASE and IF choose."""
    around = exp.Paren(this=prepared(node, values))
    for text in list(around.find_all(exp.Literal)):
        is_chosen = isinstance(text.parent, exp.If | exp.Case) and text.arg_key in ("true", "false", "default")
        if text.is_string and (text.parent is around or is_chosen):
            text.replace(exp.Interval(this=(written := text.copy())))
            written.set("this", text.name.lower().removeprefix("interval "))
    result = values.typed(around.this)
    if result.type.type is not Type.DAY_TIME_INTERVAL:
        message = f"{values.scope.source.written(node)} is not an interval of weeks, days, hours or less"
        raise values.scope.source.error(node, message, "write '10 minutes' or INTERVAL 10 MINUTES")
    return result


def _positive(length: int, node: exp.Expression, source: SourceText) -> int:
    if length <= 0:
        raise source.error(node, "the length of a window is above zero")
    return length


# Table functions


def table_function_of(node: exp.Expression) -> exp.Anonymous | None:
    """Return the call of TUMBLE, HOP or SESSION in a relation of FROM, with or without TABLE(…) around it."""
    call = node.this if isinstance(node, exp.Table) else node
    if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and len(call.expressions) == 1:
        call = call.expressions[0]
    return call if isinstance(call, exp.Anonymous) and call.name.upper() in TABLE_FUNCTIONS else None


def windowed(call: exp.Anonymous, scope: QueryScope) -> QueryRows:
    """Return the rows of a table with window_start and window_end, once for each window that contains them."""
    source, name = scope.source, call.name.upper()
    table, *others = call.expressions
    descriptor, lengths = (others or [None])[0], others[1:]
    is_column = isinstance(descriptor, exp.Anonymous) and descriptor.name.upper() == "DESCRIPTOR"
    most = 1 + len(TABLE_FUNCTIONS[name].split(", ")) * (name != "SESSION")
    if not is_column or not most - (name != "SESSION") <= len(lengths) <= most:
        optional = "" if name == "SESSION" else "[, offset]"
        raise source.error(call, f"it is written {name}(TABLE t, DESCRIPTOR(time), {TABLE_FUNCTIONS[name]}{optional})")
    values = BlockValues(scope.rows_of(table.name, table), scope)
    shown = values.rows.attributes
    partition = call.args.get("partition") or []
    if partition and name != "SESSION":
        raise source.error(partition[0], f"{name} has no PARTITION BY", "leave it out")
    keys = [values.column(values.typed(key), "key").name for key in partition]
    time = _time_column(values, descriptor.expressions[0])
    spans = [_length(length, values) for length in lengths]
    if name == "SESSION":
        window = sessions(values, time, _positive(spans[0], call, source), keys)
    else:
        slide, size, *origin = spans if name == "HOP" else [spans[0], *spans]
        window = hopping(values, time, _Hop(size, slide, *origin).checked(call, source))
    parts = zip(_PARTS, (window.start, window.end), strict=True)
    made = [(f"window_{part}", values.computed(value, f"window_{part}")) for part, value in parts]
    own = [replace(a, column=scope.nodes.column(values.rows.node, a.column.name), relation="") for a in shown]
    rows = QueryRows(values.rows.node, (*own, *(QueryColumn(label, result) for label, result in made)))
    return rows.over(scope.nodes.keep(rows.node, rows.names))

"""One reader for each operator: from its parsed line to the operator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any, get_args

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.operators.custom import Apply, Maintain, MaintainDelta
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.circuit.reading.constants import read_constant
from deltic.circuit.reading.line import NodeLine
from deltic.circuit.reading.scalars import split
from deltic.values.types import Column
from deltic.values.words import WRITTEN, unquoted, word

Reader = Callable[[NodeLine], ops.Operator]
_CONSTANT = r"'(?:[^']|'')*'|[^';()]+"
_CALL = re.compile(rf"(\w+)\((\*|{WRITTEN}(?:, {WRITTEN})*)((?:; (?:{_CONSTANT}))*)\) AS ({WRITTEN})")


def _map(line: NodeLine) -> ops.Map:
    parts, columns = list(split(line.argument("BRACKETS", more=True)[1:-1])), line.zset.schema.columns
    if list(line.rest) not in ([], ["partial"]):
        raise line.places.error(line.rest[0], "map takes `partial` here, or nothing")
    if len(parts) != len(columns):
        raise line.places.error(
            line.arguments or line.keyword, f"{len(parts)} expressions for the {len(columns)} columns of {line.type}"
        )
    computed = tuple(_computed(line, part, c) for part, c in zip(parts, columns, strict=True))
    return ops.Map(columns, computed, bool(line.rest))


def _computed(line: NodeLine, part: str, wanted: Column) -> exp.Expression:
    """The expression of one column, `expression AS name`, or the column of that name itself."""
    name = word(wanted.name)
    if part == name and wanted.name in line.input_columns:
        return column(wanted.name)
    if not part.endswith(f" AS {name}"):
        raise line.places.error(line.arguments or line.keyword, f"`{part}` does not end with AS {name}")
    return line.expression(part.removesuffix(f" AS {name}"))


def _aggregate(kind: type[ops.Aggregate]) -> Reader:
    """The reader of keys and calls, `function(column) AS name`."""

    def read(line: NodeLine) -> ops.Aggregate:
        parts = [_CALL.fullmatch(part) or part for part in split(line.argument("BRACKETS")[1:-1])]
        keys = [part for part in parts if isinstance(part, str)]
        if parts[: len(keys)] != keys:
            raise line.places.error(line.arguments or line.keyword, f"`{keys[-1]}` is not function(column) AS name")
        calls = tuple(_call(part) for part in parts if not isinstance(part, str))
        return kind(tuple(map(unquoted, keys)), calls)

    return read


def _call(match: re.Match[str]) -> ops.AggregateCall:
    """``function(column, …; constant; …) AS name``."""
    columns = [unquoted(name) for name in split(match[2])] if match[2] != "*" else [""]
    constants = tuple(map(_constant, re.findall(rf"; ({_CONSTANT})", match[3])))
    return ops.AggregateCall(match[1], columns[0], unquoted(match[4]), tuple(columns[1:]), constants)


def _constant(text: str) -> bool | int | float | str:
    """A constant from its SQL text."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _import(line: NodeLine) -> ops.Import:
    if not (number := line.argument("NAME")).isdecimal():
        raise line.places.error(line.arguments or line.keyword, "import takes the number of an input")
    return ops.Import(int(number), ZSetType(line.zset.schema, line.zset.is_set, line.depth - 1))


def _plain(operator: Callable[[], ops.Operator]) -> Reader:
    """The reader of an operator without arguments."""

    def read(line: NodeLine) -> ops.Operator:
        if line.arguments is not None:
            raise line.places.error(line.arguments, f"{line.keyword} takes no arguments")
        return operator()

    return read


def _clocked(operator: type[ops.Delay | ops.Differentiate]) -> Reader:
    """The reader of an operator that may count an outer time."""
    return lambda line: operator(outer=line.outer([line.arguments, *line.rest]))


def _back_edge(line: NodeLine) -> ops.BackEdge:
    name, type_ = line.argument("NAME", more=True), line.zset
    return ops.BackEdge(name, type_.schema, type_.is_set, outer=line.outer(line.rest))


def _bracket(line: NodeLine) -> ops.Bracket:
    if line.arguments not in (None, "sets") or line.rest:
        raise line.places.error(line.arguments or line.keyword, "bracket takes `sets` here, or nothing")
    return ops.Bracket(line.body("body"), line.arguments is not None)


def _refresh(line: NodeLine) -> RefreshPolicy:
    """The refresh policy of a fixpoint, "" if none is named."""
    result = next((policy for policy in get_args(RefreshPolicy) if policy == (line.arguments or "")), None)
    if result is None or line.rest:
        raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes a refresh policy, or nothing")
    policy: RefreshPolicy = result
    return policy


def _flat_map(line: NodeLine) -> ops.FlatMap:
    """``[generator(expression, …) AS column]``."""
    result = re.fullmatch(rf"\[(\w+)\((.*)\) AS ({WRITTEN})\]", line.argument("BRACKETS"), re.DOTALL)
    if result is None:
        raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes [generator(...) AS column]")
    return ops.FlatMap(unquoted(result[3]), result[1], tuple(map(line.expression, split(result[2]))))


def _custom(kind: type[Apply]) -> Reader:
    """The reader of the name of a user-defined operator; its fingerprint may have changed."""

    def read(line: NodeLine) -> Apply:
        from deltic.circuit.custom import operator_called

        name = line.argument("NAME")
        result = operator_called(name)
        if result is None:
            message = f"there is no operator {name.rpartition('__')[0] or name}: make it by deltic.operator first"
            raise line.places.error(line.arguments or line.keyword, message)
        if kind is MaintainDelta:
            return MaintainDelta(result.entry)
        return (Maintain if result.is_maintained else Apply)(result.entry)

    return read


def _window(line: NodeLine) -> ops.Window:
    """``[column, length]``."""
    result = re.fullmatch(rf"\[({WRITTEN}), (\d+)\]", line.argument("BRACKETS"))
    if result is None:
        raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes [column, length]")
    return ops.Window(unquoted(result[1]), int(result[2]))


_ORDER = rf"{WRITTEN} (?:ASC|DESC) NULLS (?:FIRST|LAST)"
_PARTS = rf"(?:PARTITION BY (?P<keys>{WRITTEN}(?:, {WRITTEN})*) ?)?(?:ORDER BY (?P<order>{_ORDER}(?:, {_ORDER})*) ?)?"
_LIMITS = re.compile(rf"\[{_PARTS}(?:LIMIT (?P<limit>\d+) ?)?(?:OFFSET (?P<offset>\d+))?\]")


def _keys(match: re.Match[str]) -> tuple[str, ...]:
    """The columns after PARTITION BY."""
    return tuple(map(unquoted, split(match["keys"] or "")))


def _order(match: re.Match[str]) -> tuple[ops.Order, ...]:
    """The columns after ORDER BY."""
    columns = (re.fullmatch(rf"({WRITTEN}) (\w+) NULLS (\w+)", part) for part in split(match["order"] or ""))
    return tuple(ops.Order(unquoted(c[1]), c[2] == "DESC", c[3] == "FIRST") for c in columns if c)


def _top(kind: type[ops.Top]) -> Reader:
    """The reader of ``[PARTITION BY column, … ORDER BY column ASC NULLS FIRST, … LIMIT number OFFSET number]``."""

    def read(line: NodeLine) -> ops.Top:
        result = _LIMITS.fullmatch(line.argument("BRACKETS"))
        if result is None:
            wanted = "[PARTITION BY column, ... ORDER BY column ASC NULLS FIRST, ... LIMIT number OFFSET number]"
            raise line.places.error(line.arguments or line.keyword, f"{line.keyword} takes {wanted}")
        limit = None if result["limit"] is None else int(result["limit"])
        return kind(_keys(result), _order(result), limit, int(result["offset"] or 0))

    return read


_DISTANCE = r"UNBOUNDED (?:PRECEDING|FOLLOWING)|CURRENT ROW|[\d.E+]+ (?:PRECEDING|FOLLOWING)"
_FRAME = rf"(?P<unit>ROWS|RANGE MONTHS|RANGE|GROUPS|SESSIONS) BETWEEN (?P<start>{_DISTANCE}) AND (?P<end>{_DISTANCE})"
_OVER = re.compile(rf"\[(?:{_PARTS}: )?(?P<calls>.*)\]", re.DOTALL)
_WINDOW_CALL = re.compile(
    rf"(?P<function>\w+)\((?P<columns>\*|{WRITTEN}(?:, {WRITTEN})*|)(?P<constants>(?:; (?:{_CONSTANT}))*)\)"
    rf"(?: {_FRAME})?(?P<ignores> IGNORE NULLS)? AS (?P<name>{WRITTEN})"
)


def _over(kind: type[ops.Over]) -> Reader:
    """The reader of ``[PARTITION BY column, … ORDER BY column ASC NULLS FIRST, …: function(column, …) AS name, …]``."""

    def read(line: NodeLine) -> ops.Over:
        result = _OVER.fullmatch(line.argument("BRACKETS"))
        assert result is not None
        calls = [_WINDOW_CALL.fullmatch(part) or part for part in split(result["calls"])]
        for part in calls:
            if isinstance(part, str):
                wanted = "function(column; constant) frame IGNORE NULLS AS name"
                raise line.places.error(line.arguments or line.keyword, f"`{part}` is not {wanted}")
        return kind(_keys(result), _order(result), tuple(_window_call(c) for c in calls if not isinstance(c, str)))

    return read


def _window_call(match: re.Match[str]) -> ops.WindowCall:
    """A window function with its columns, constants and frame."""
    columns = tuple(map(unquoted, split(match["columns"].removeprefix("*"))))
    constants = tuple(map(_constant, re.findall(rf"; ({_CONSTANT})", match["constants"])))
    frame = None
    if match["unit"]:
        frame = ops.Frame(ops.Unit(match["unit"]), _distance(match["start"]), _distance(match["end"]))
    return ops.WindowCall(match["function"], columns, unquoted(match["name"]), constants, frame, bool(match["ignores"]))


def _distance(text: str) -> int | Decimal | None:
    """The distance of a bound of a frame."""
    if text == "CURRENT ROW":
        return 0
    amount, direction = text.split()
    if amount == "UNBOUNDED":
        return None
    distance = int(amount) if amount.isdecimal() else Decimal(amount)
    return -distance if direction == "PRECEDING" else distance


def _without_arguments(kind: Any) -> Iterator[type[ops.Operator]]:
    """The subclasses of an operator that have no parameters."""
    for below in kind.__subclasses__():
        if hasattr(below, "keyword") and not fields(below):
            yield below
        yield from _without_arguments(below)


READERS: dict[str, Reader] = {
    "source": lambda line: ops.Source(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "constant": read_constant,
    "apply": _custom(Apply),
    "maintain": _custom(Maintain),
    "maintain_delta": _custom(MaintainDelta),
    "keep": lambda line: ops.Keep(line.argument("NAME")),
    "sink": lambda line: ops.Sink(line.argument("NAME")),
    "map": _map,
    "flat_map": _flat_map,
    "window": _window,
    "window_delta": lambda line: ops.WindowDelta(_window(line)),
    "aggregate": _aggregate(ops.Aggregate),
    "aggregate_delta": _aggregate(ops.AggregateDelta),
    "top": _top(ops.Top),
    "top_delta": _top(ops.TopDelta),
    "over": _over(ops.Over),
    "over_delta": _over(ops.OverDelta),
    "filter": lambda line: ops.Filter(line.expression(line.argument("BRACKETS")[1:-1])),
    "import": _import,
    "feedback": lambda line: ops.Feedback(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "component": lambda line: ops.BundleRelation(line.argument("NAME")),
    "fixpoint": lambda line: ops.Fixpoint(line.body("body"), _refresh(line)),
    "fixpoint_delta": lambda line: ops.FixpointDelta(line.body("body"), line.body("derivative"), _refresh(line)),
    "integrate": lambda line: ops.Integrate(line.zset.is_set, outer=line.outer([line.arguments, *line.rest])),
    "back_edge": _back_edge,
    "close": lambda line: ops.Close(line.argument("NAME")),
    "bracket": _bracket,
    "call": lambda line: ops.Call(line.body("circuit")),
    "delay": _clocked(ops.Delay),
    "differentiate": _clocked(ops.Differentiate),
    **{kind.keyword: _plain(kind) for kind in _without_arguments(ops.Operator)},
}

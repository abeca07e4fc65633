"""One reader for each operator: from its parsed line to the operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from functools import partial
from typing import Any, get_args

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.operators.fixpoint import RefreshPolicy
from deltic.circuit.reading.line import NodeLine
from deltic.circuit.reading.scalars import split
from deltic.values.text import of_literal
from deltic.values.types import Column, Schema, Type
from deltic.values.words import WRITTEN, unquoted, word

Reader = Callable[[NodeLine], ops.Operator]
_CONSTANT = r"'(?:[^']|'')*'|[^';()]+"
_CALL = re.compile(rf"(\w+)\((\*|{WRITTEN}(?:, {WRITTEN})*)((?:; (?:{_CONSTANT}))*)\) AS ({WRITTEN})")


def _map(line: NodeLine) -> ops.Map:
    parts, columns = list(split(line.argument("BRACKETS", more=True)[1:-1])), line.zset.schema.columns
    if list(line.rest) not in ([], ["partial"]):
        raise line.places.error(line.rest[0], "map takes `partial` here, or nothing")
    if len(parts) != len(columns):
        raise line.error(f"{len(parts)} expressions for the {len(columns)} columns of {line.type}")
    computed = tuple(_computed(line, part, c) for part, c in zip(parts, columns, strict=True))
    return ops.Map(columns, computed, bool(line.rest))


def _computed(line: NodeLine, part: str, wanted: Column) -> exp.Expression:
    """Return the expression of one column, `expression AS name`, or the column of that name itself."""
    name = word(wanted.name)
    if part == name and wanted.name in line.input_columns:
        return column(wanted.name)
    if not part.endswith(f" AS {name}"):
        raise line.error(f"`{part}` does not end with AS {name}")
    return line.expression(part.removesuffix(f" AS {name}"))


def _aggregate(kind: type[ops.Aggregate], line: NodeLine) -> ops.Aggregate:
    """Keys and calls, `function(column) AS name`."""
    parts = [_CALL.fullmatch(part) or part for part in split(line.argument("BRACKETS")[1:-1])]
    keys = [part for part in parts if isinstance(part, str)]
    if parts[: len(keys)] != keys:
        raise line.error(f"`{keys[-1]}` is not function(column) AS name")
    calls = tuple(_call(part) for part in parts if not isinstance(part, str))
    return kind(tuple(map(unquoted, keys)), calls)


def _call(match: re.Match[str]) -> ops.AggregateCall:
    """``function(column, …; constant; …) AS name``."""
    columns = [unquoted(name) for name in split(match[2])] if match[2] != "*" else [""]
    constants = tuple(map(_constant, re.findall(rf"; ({_CONSTANT})", match[3])))
    return ops.AggregateCall(match[1], columns[0], unquoted(match[4]), tuple(columns[1:]), constants)


def _constant(text: str) -> bool | int | float | str:
    """Return a constant from its SQL text."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _import(line: NodeLine) -> ops.Import:
    if not (number := line.argument("NAME")).isdecimal():
        raise line.error("import takes the number of an input")
    return ops.Import(int(number), ZSetType(line.zset.schema, line.zset.is_set, line.depth - 1))


def _named(operator: Callable[[str], ops.Operator], line: NodeLine) -> ops.Operator:
    """Return an operator whose only argument is its name."""
    return operator(line.argument("NAME"))


def _plain(operator: Callable[[], ops.Operator], line: NodeLine) -> ops.Operator:
    """Return an operator without arguments."""
    if line.arguments is not None:
        raise line.places.error(line.arguments, f"{line.keyword} takes no arguments")
    return operator()


def _bracket(line: NodeLine) -> ops.Bracket:
    if line.arguments not in (None, "sets") or line.rest:
        raise line.error("bracket takes `sets` here, or nothing")
    return ops.Bracket(line.body("body"), line.arguments is not None)


def _refresh(line: NodeLine) -> RefreshPolicy:
    """Return the refresh policy of a fixpoint, "" if none is named."""
    result = next((policy for policy in get_args(RefreshPolicy) if policy == (line.arguments or "")), None)
    if result is None or line.rest:
        raise line.error(f"{line.keyword} takes a refresh policy, or nothing")
    policy: RefreshPolicy = result
    return policy


def _flat_map(line: NodeLine) -> ops.FlatMap:
    """``[generator(expression, …) AS column]``."""
    result = re.fullmatch(rf"\[(\w+)\((.*)\) AS ({WRITTEN})\]", line.argument("BRACKETS"), re.DOTALL)
    if result is None:
        raise line.error(f"{line.keyword} takes [generator(...) AS column]")
    return ops.FlatMap(unquoted(result[3]), result[1], tuple(map(line.expression, split(result[2]))))


def _custom(kind: type[ops.Apply], line: NodeLine) -> ops.Apply:
    """Return the name of a user-defined operator; its fingerprint may have changed."""
    from deltic.circuit.custom import operator_called

    name = line.argument("NAME")
    result = operator_called(name)
    if result is None:
        message = f"there is no operator {name.rpartition('__')[0] or name}: make it by deltic.operator first"
        raise line.error(message)
    if kind is ops.MaintainDelta:
        return ops.MaintainDelta(result.entry)
    return (ops.Maintain if result.is_maintained else ops.Apply)(result.entry)


def _window(line: NodeLine) -> ops.Window:
    """``[column, length]``."""
    result = re.fullmatch(rf"\[({WRITTEN}), (\d+)\]", line.argument("BRACKETS"))
    if result is None:
        raise line.error(f"{line.keyword} takes [column, length]")
    return ops.Window(unquoted(result[1]), int(result[2]))


_ORDER = rf"{WRITTEN} (?:ASC|DESC) NULLS (?:FIRST|LAST)"
_PARTS = rf"(?:PARTITION BY (?P<keys>{WRITTEN}(?:, {WRITTEN})*) ?)?(?:ORDER BY (?P<order>{_ORDER}(?:, {_ORDER})*) ?)?"
_LIMITS = re.compile(rf"\[{_PARTS}(?:LIMIT (?P<limit>\d+) ?)?(?:OFFSET (?P<offset>\d+))?\]")


def _keys(match: re.Match[str]) -> tuple[str, ...]:
    """Return the columns after PARTITION BY."""
    return tuple(map(unquoted, split(match["keys"] or "")))


def _order(match: re.Match[str]) -> tuple[ops.Order, ...]:
    """Return the columns after ORDER BY."""
    columns = (re.fullmatch(rf"({WRITTEN}) (\w+) NULLS (\w+)", part) for part in split(match["order"] or ""))
    return tuple(ops.Order(unquoted(c[1]), c[2] == "DESC", c[3] == "FIRST") for c in columns if c)


def _top(kind: type[ops.Top], line: NodeLine) -> ops.Top:
    """``[PARTITION BY column, … ORDER BY column ASC NULLS FIRST, … LIMIT number OFFSET number]``."""
    result = _LIMITS.fullmatch(line.argument("BRACKETS"))
    if result is None:
        wanted = "[PARTITION BY column, ... ORDER BY column ASC NULLS FIRST, ... LIMIT number OFFSET number]"
        raise line.error(f"{line.keyword} takes {wanted}")
    limit = None if result["limit"] is None else int(result["limit"])
    return kind(_keys(result), _order(result), limit, int(result["offset"] or 0))


_DISTANCE = r"UNBOUNDED (?:PRECEDING|FOLLOWING)|CURRENT ROW|[\d.E+]+ (?:PRECEDING|FOLLOWING)"
_FRAME = rf"(?P<unit>ROWS|RANGE MONTHS|RANGE|GROUPS|SESSIONS) BETWEEN (?P<start>{_DISTANCE}) AND (?P<end>{_DISTANCE})"
_OVER = re.compile(rf"\[(?:{_PARTS}: )?(?P<calls>.*)\]", re.DOTALL)
_WINDOW_CALL = re.compile(
    rf"(?P<function>\w+)\((?P<columns>\*|{WRITTEN}(?:, {WRITTEN})*|)(?P<constants>(?:; (?:{_CONSTANT}))*)\)"
    rf"(?: {_FRAME})?(?P<ignores> IGNORE NULLS)? AS (?P<name>{WRITTEN})"
)


def _over(kind: type[ops.Over], line: NodeLine) -> ops.Over:
    """``[PARTITION BY column, … ORDER BY column ASC NULLS FIRST, …: function(column, …) AS name, …]``."""
    result = _OVER.fullmatch(line.argument("BRACKETS"))
    assert result is not None
    calls = [_WINDOW_CALL.fullmatch(part) or part for part in split(result["calls"])]
    for part in calls:
        if isinstance(part, str):
            wanted = "function(column; constant) frame IGNORE NULLS AS name"
            raise line.error(f"`{part}` is not {wanted}")
    return kind(_keys(result), _order(result), tuple(_window_call(c) for c in calls if not isinstance(c, str)))


def _window_call(match: re.Match[str]) -> ops.WindowCall:
    """Return a window function with its columns, constants and frame."""
    columns = tuple(map(unquoted, split(match["columns"].removeprefix("*"))))
    constants = tuple(map(_constant, re.findall(rf"; ({_CONSTANT})", match["constants"])))
    frame = None
    if match["unit"]:
        frame = ops.Frame(ops.Unit(match["unit"]), _distance(match["start"]), _distance(match["end"]))
    return ops.WindowCall(match["function"], columns, unquoted(match["name"]), constants, frame, bool(match["ignores"]))


def _distance(text: str) -> int | Decimal | None:
    """Return the distance of a bound of a frame."""
    if text == "CURRENT ROW":
        return 0
    amount, direction = text.split()
    if amount == "UNBOUNDED":
        return None
    distance = int(amount) if amount.isdecimal() else Decimal(amount)
    return -distance if direction == "PRECEDING" else distance


def _constant_rows(line: NodeLine) -> ops.Constant:
    """``{(value, …), …}``."""
    text = line.argument("ROWS")
    try:
        rows = ast.parse(f"[{text[1:-1]}]", mode="eval").body
        assert isinstance(rows, ast.List)
        return ops.Constant(line.zset.schema, tuple(_row(row, line.zset.schema) for row in rows.elts))
    except (ValueError, SyntaxError):
        raise line.error("these are not rows of numbers and texts") from None


def _row(written: ast.expr, schema: Schema) -> tuple[Any, ...]:
    whole = len(schema) == 1 and schema.columns[0].type.is_composite
    values = written.elts if isinstance(written, ast.Tuple) and not whole else [written]
    types = [column.type for column in schema] if len(schema) == len(values) else [Type.STRING] * len(values)
    return tuple(
        of_literal(ast.literal_eval(_Infinite().visit(v)), type_) for v, type_ in zip(values, types, strict=True)
    )


class _Infinite(ast.NodeTransformer):
    """Replaces the names inf and nan, as Python prints them, by the numbers."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _without_arguments(kind: Any) -> Iterator[type[ops.Operator]]:
    """Yield the subclasses of an operator that have no parameters."""
    for below in kind.__subclasses__():
        if not fields(below):
            yield below
        yield from _without_arguments(below)


READERS: dict[str, Reader] = {
    "source": lambda line: ops.Source(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "constant": _constant_rows,
    "apply": partial(_custom, ops.Apply),
    "maintain": partial(_custom, ops.Maintain),
    "maintain_delta": partial(_custom, ops.MaintainDelta),
    "map": _map,
    "flat_map": _flat_map,
    "window": _window,
    "window_delta": lambda line: ops.WindowDelta(_window(line)),
    "aggregate": partial(_aggregate, ops.Aggregate),
    "aggregate_delta": partial(_aggregate, ops.AggregateDelta),
    "top": partial(_top, ops.Top),
    "top_delta": partial(_top, ops.TopDelta),
    "over": partial(_over, ops.Over),
    "over_delta": partial(_over, ops.OverDelta),
    "filter": lambda line: ops.Filter(line.expression(line.argument("BRACKETS")[1:-1])),
    "import": _import,
    "feedback": lambda line: ops.Feedback(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "fixpoint": lambda line: ops.Fixpoint(line.body("body"), _refresh(line)),
    "fixpoint_delta": lambda line: ops.FixpointDelta(line.body("body"), line.body("derivative"), _refresh(line)),
    "integrate": lambda line: ops.Integrate(line.zset.is_set, outer=line.outer()),
    "back_edge": lambda line: ops.BackEdge(
        line.argument("NAME", more=True), line.zset.schema, line.zset.is_set, outer=line.outer(named=True)
    ),
    "bracket": _bracket,
    "call": lambda line: ops.Call(line.body("circuit")),
    "delay": lambda line: ops.Delay(outer=line.outer()),
    "differentiate": lambda line: ops.Differentiate(outer=line.outer()),
    **{kind.keyword: partial(_named, kind) for kind in (ops.Keep, ops.Sink, ops.Close, ops.BundleRelation)},
    **{kind.keyword: partial(_plain, kind) for kind in _without_arguments(ops.Operator)},
}

"""One reader for each operator: from the parts of its line to the operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from lark import Token
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit
from deltic.circuit.reading.places import Places
from deltic.circuit.reading.scalars import parse_expression, split
from deltic.circuit.reading.streaming import read_flat_map, read_window
from deltic.circuit.types import Column, EdgeType, Schema, Type, ZSetType
from deltic.circuit.words import WRITTEN, unquoted, word


@dataclass(frozen=True)
class Line:
    """What the text says about a node."""

    keyword: Token
    arguments: Token | None
    rest: Sequence[Token]
    inputs: Sequence[EdgeType]
    type: EdgeType
    bodies: dict[str, Circuit]
    depth: int
    places: Places

    @property
    def zset(self) -> ZSetType:
        """Its type, which has to be that of a Z-set."""
        if not isinstance(self.type, ZSetType):
            raise self.places.error(self.keyword, f"{self.keyword} puts out a Z-set, not {self.type}")
        return self.type

    @property
    def input_columns(self) -> tuple[str, ...]:
        """The columns that its expressions read."""
        return self.inputs[0].schema.names if self.inputs and isinstance(self.inputs[0], ZSetType) else ()

    def argument(self, kind: str, more: bool = False) -> str:
        """Its argument, which has to be a NAME, BRACKETS or ROWS; nothing stands after it unless there is `more`."""
        if self.rest and not more:
            raise self.places.error(self.rest[0], f"{self.keyword} takes one argument")
        if self.arguments is None or (
            self.arguments.type != kind and (kind, self.arguments.type) != ("NAME", "QUOTED")
        ):
            wanted = {"NAME": "a name", "BRACKETS": "expressions in [brackets]", "ROWS": "rows in {braces}"}[kind]
            raise self.places.error(self.arguments or self.keyword, f"{self.keyword} takes {wanted}")
        return unquoted(self.arguments) if kind == "NAME" else str(self.arguments)

    def outer(self, words: Sequence[Token | None]) -> int:
        """What stands after `outer` in these words, 0 where there are none."""
        match [str(word) for word in words if word is not None]:
            case []:
                return 0
            case ["outer", number] if number.isdecimal():
                return int(number)
        raise self.places.error(words[0] or self.keyword, f"{self.keyword} takes `outer` and a number here, or nothing")

    def body(self, label: str) -> Circuit:
        """The circuit inside it under that label."""
        if label not in self.bodies:
            raise self.places.error(self.keyword, f"{self.keyword} needs a {label} {{ ... }} after its line")
        return self.bodies[label]

    def expression(self, text: str) -> exp.Expression:
        """An expression over the columns of the input."""
        try:
            return parse_expression(text, self.input_columns)
        except ValueError as error:
            raise self.places.error(self.arguments or self.keyword, f"{self.keyword}: {error}") from None


Reader = Callable[[Line], ops.Operator]
_CALL = re.compile(rf"(\w+)\((\*|{WRITTEN})\) AS ({WRITTEN})")


def _map(line: Line) -> ops.Map:
    parts, columns = list(split(line.argument("BRACKETS")[1:-1])), line.zset.schema.columns
    if len(parts) != len(columns):
        raise line.places.error(
            line.arguments or line.keyword, f"{len(parts)} expressions for the {len(columns)} columns of {line.type}"
        )
    return ops.Map(columns, tuple(_computed(line, part, c) for part, c in zip(parts, columns, strict=True)))


def _computed(line: Line, part: str, wanted: Column) -> exp.Expression:
    """The expression of one column, `expression AS name`, or the column of that name itself."""
    name = word(wanted.name)
    if part == name and wanted.name in line.input_columns:
        return column(wanted.name)
    if not part.endswith(f" AS {name}"):
        raise line.places.error(line.arguments or line.keyword, f"`{part}` does not end with AS {name}")
    return line.expression(part.removesuffix(f" AS {name}"))


def _aggregate(kind: type[ops.Aggregate]) -> Reader:
    """The reader of keys and calls, `function(column) AS name`."""

    def read(line: Line) -> ops.Aggregate:
        parts = [_CALL.fullmatch(part) or part for part in split(line.argument("BRACKETS")[1:-1])]
        keys = [part for part in parts if isinstance(part, str)]
        if parts[: len(keys)] != keys:
            raise line.places.error(line.arguments or line.keyword, f"`{keys[-1]}` is not function(column) AS name")
        found = [(m[1], "" if m[2] == "*" else unquoted(m[2]), unquoted(m[3])) for m in parts if not isinstance(m, str)]
        return kind(tuple(map(unquoted, keys)), tuple(ops.AggregateCall(*call) for call in found))

    return read


def _constant(line: Line) -> ops.Constant:
    text = line.argument("ROWS")
    try:
        rows = ast.parse(f"[{text[1:-1]}]", mode="eval").body
        assert isinstance(rows, ast.List)
        return ops.Constant(line.zset.schema, tuple(_row(row, line.zset.schema) for row in rows.elts))
    except (ValueError, SyntaxError):
        raise line.places.error(line.arguments or line.keyword, "these are not rows of numbers and texts") from None


def _row(written: ast.expr, schema: Schema) -> tuple[Any, ...]:
    values = written.elts if isinstance(written, ast.Tuple) else [written]
    types = [column.type for column in schema] if len(schema) == len(values) else [Type.STRING] * len(values)
    return tuple(_value(ast.literal_eval(_Infinite().visit(v)), type_) for v, type_ in zip(values, types, strict=True))


def _value(value: Any, type_: Type) -> Any:
    """A constant of a column; dates and timestamps are written as texts."""
    times = {Type.DATE: date.fromisoformat, Type.TIMESTAMP: datetime.fromisoformat}
    return times[type_](value) if type_ in times and isinstance(value, str) else value


class _Infinite(ast.NodeTransformer):
    """inf and nan, as Python prints them, to the numbers."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _import(line: Line) -> ops.Import:
    if not (number := line.argument("NAME")).isdecimal():
        raise line.places.error(line.arguments or line.keyword, "import takes the number of an input")
    return ops.Import(int(number), ZSetType(line.zset.schema, line.zset.is_set, line.depth - 1))


def _plain(operator: Callable[[], ops.Operator]) -> Reader:
    """The reader of an operator without arguments."""

    def read(line: Line) -> ops.Operator:
        if line.arguments is not None:
            raise line.places.error(line.arguments, f"{line.keyword} takes no arguments")
        return operator()

    return read


def _clocked(operator: type[ops.Delay | ops.Differentiate]) -> Reader:
    """The reader of an operator that may count an outer time."""
    return lambda line: operator(outer=line.outer([line.arguments, *line.rest]))


def _back_edge(line: Line) -> ops.BackEdge:
    name, type_ = line.argument("NAME", more=True), line.zset
    return ops.BackEdge(name, type_.schema, type_.is_set, outer=line.outer(line.rest))


def _bracket(line: Line) -> ops.Bracket:
    if line.arguments not in (None, "sets") or line.rest:
        raise line.places.error(line.arguments or line.keyword, "bracket takes `sets` here, or nothing")
    return ops.Bracket(line.body("body"), line.arguments is not None)


READERS: dict[str, Reader] = {
    "source": lambda line: ops.Source(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "constant": _constant,
    "sink": lambda line: ops.Sink(line.argument("NAME")),
    "map": _map,
    "flat_map": read_flat_map,
    "window": read_window,
    "aggregate": _aggregate(ops.Aggregate),
    "aggregate_delta": _aggregate(ops.AggregateDelta),
    "filter": lambda line: ops.Filter(line.expression(line.argument("BRACKETS")[1:-1])),
    "import": _import,
    "feedback": lambda line: ops.Feedback(line.argument("NAME"), line.zset.schema, line.zset.is_set),
    "component": lambda line: ops.Component(line.argument("NAME")),
    "fixpoint": lambda line: ops.Fixpoint(line.body("body")),
    "fixpoint_delta": lambda line: ops.FixpointDelta(line.body("body"), line.body("derivative")),
    "integrate": lambda line: ops.Integrate(line.zset.is_set, outer=line.outer([line.arguments, *line.rest])),
    "back_edge": _back_edge,
    "close": lambda line: ops.Close(line.argument("NAME")),
    "bracket": _bracket,
    "call": lambda line: ops.Call(line.body("circuit")),
    "delay": _clocked(ops.Delay),
    "differentiate": _clocked(ops.Differentiate),
    **{
        kind.keyword: _plain(kind)
        for kind in (
            *(ops.Plus, ops.Negate, ops.Join, ops.Antijoin, ops.Distinct),
            ops.DistinctDelta,
        )
    },
}

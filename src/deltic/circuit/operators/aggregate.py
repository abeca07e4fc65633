"""Grouping and aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltic.circuit.accumulators import ACCUMULATORS, Parameter
from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import Operator, change_of, delta_of
from deltic.values.types import Column, Schema
from deltic.values.words import word


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate: the function, the columns that it reads, the name of its result, and its constant parameters.

    Only `count` may have no column, "", and then it counts rows. Columns after the first are `others`.
    """

    function: str
    column: str
    name: str
    others: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return (self.column, *self.others) if self.column else ()

    def __str__(self) -> str:
        columns = ", ".join(map(word, self.columns)) or "*"
        constants = "".join(f"; {written}" for written in map(show_parameter, self.parameters))
        return f"{self.function}({columns}{constants}) AS {word(self.name)}"


def show_parameter(parameter: Parameter) -> str:
    """Return a constant as SQL text."""
    if isinstance(parameter, str):
        return "'" + parameter.replace("'", "''") + "'"
    return str(parameter).upper() if isinstance(parameter, bool) else repr(parameter)


class Aggregate(Operator):
    """GROUP BY: for each group of rows with equal `keys`, the keys and the aggregates [DBSP §8.1].

    A group exists when the weights of its rows add up to more than zero; without keys there is at most one group, and
    none for no rows. A row counts as often as it weighs. NULLs are ignored: an aggregate of NULLs alone is NULL, and
    a count of them 0. The files in `circuit.accumulators` define the functions.
    """

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        self.check_columns((*self.keys, *(name for call in self.calls for name in call.columns)), inputs)
        columns = [*(source.schema.column(key) for key in self.keys), *(self._result(c, source) for c in self.calls)]
        if len({column.name for column in columns}) != len(columns):
            self.refuse("its columns must have distinct names", inputs)
        return ZSetType(Schema(tuple(columns)), True, source.depth)

    def _result(self, call: AggregateCall, source: ZSetType) -> Column:
        if call.function not in ACCUMULATORS:
            self.refuse(f"there is no aggregate {call.function}; there are {', '.join(ACCUMULATORS)}", [source])
        return aggregated(self, call, source)

    def arguments(self) -> str:
        return "[" + ", ".join((*map(word, self.keys), *map(str, self.calls))) + "]"


def aggregated(operator: Operator, call: AggregateCall, source: ZSetType) -> Column:
    """Return the result column of an aggregate, checked to take its columns and constants."""
    accumulator, columns = ACCUMULATORS[call.function], [source.schema.column(name) for name in call.columns]
    if not columns and accumulator.needs_column:
        operator.refuse(f"{call.function} needs a column", [source])
    if columns and not accumulator.takes([column.type for column in columns]):
        operator.refuse(f"{call.function} of a {', a '.join(str(column.type) for column in columns)}", [source])
    if not accumulator.accepts(call.parameters, len(columns)):
        operator.refuse(f"{call.function} does not take these constants", [source])
    return accumulator.column(call.name, columns)


class AggregateDelta(Aggregate):
    """aggregate(i + d) − aggregate(i), computed on the groups of d alone; its inputs are i and d."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(super().output((delta_of(self, inputs),), depth))

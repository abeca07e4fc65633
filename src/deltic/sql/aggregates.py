"""Aggregates of SQL: which aggregates of circuits they consist of, and what expression over those they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.sql.scalars import Typed
from deltic.sql.text import SourceText

_FUNCTIONS: dict[type[exp.Expression], str] = {exp.Count: "count", exp.Sum: "sum", exp.Min: "min", exp.Max: "max"}


@dataclass(frozen=True)
class Call:
    """An aggregate of the circuit; `inputs` are the numbers of the columns that it reads."""

    function: str
    inputs: tuple[int, ...]

    def over(self, columns: Sequence[str], name: str) -> ops.AggregateCall:
        """The aggregate of these columns of the circuit."""
        return ops.AggregateCall(self.function, columns[0] if columns else "", name)


@dataclass(frozen=True)
class Lowered:
    """The columns that are computed before grouping, what is aggregated of them, and the value of the results."""

    inputs: tuple[Typed, ...]
    calls: tuple[Call, ...]
    result: Callable[[Sequence[Typed]], Typed]


def is_aggregate(node: exp.Expression) -> bool:
    """Whether a node is an aggregate, or one with FILTER."""
    return isinstance(node, exp.AggFunc | exp.Filter) and not isinstance(node, exp.Grouping | exp.GroupingId)


def lowered(call: exp.Expression, value: Callable[[exp.Expression], Typed], source: SourceText) -> Lowered:
    """An aggregate without DISTINCT and FILTER; `value` gives the values of its arguments. Raises ProgramError."""
    function = _FUNCTIONS.get(type(call))
    if function is None:
        raise source.error(call, f"the aggregate {source.written(call)} is not supported in a maintained view")
    inputs = () if isinstance(call.this, exp.Star) else (value(call.this),)
    return Lowered(inputs, (Call(function, tuple(range(len(inputs)))),), lambda results: results[0])

"""The linear operators: map, filter, and the group's plus and negation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from deltic.circuit.expressions import columns_of, infer, show
from deltic.circuit.operators.base import Operator
from deltic.circuit.types import Column, EdgeType, Schema, Type, ZSetType
from deltic.circuit.words import word


@dataclass(frozen=True)
class Map(Operator):
    """Project and compute: output column i is `expressions[i]`; weights of rows that become equal add up.

    A row for which an expression is NULL while its column is not nullable is dropped: an undefined
    value derives nothing.
    """

    keyword: ClassVar[str] = "map"
    columns: tuple[Column, ...]
    expressions: tuple[exp.Expression, ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        for column, expression in zip(self.columns, self.expressions, strict=True):
            for name in columns_of(expression):
                if name not in source.schema.names:
                    self.refuse(f"column {name} of {show(expression)} is not in its input", inputs)
            if (found := infer(expression, source.schema.types)) != column.type:
                self.refuse(f"{show(expression)} is {found}, but column {column} is declared", inputs)
        kept = {e.name for e in self.expressions if isinstance(e, exp.Column)}
        injective = kept == set(source.schema.names)
        return ZSetType(Schema(self.columns), source.is_set and injective, source.depth)

    def arguments(self) -> str:
        pairs = zip(self.columns, self.expressions, strict=True)
        shown = [(word(c.name), show(e)) for c, e in pairs]
        return "[" + ", ".join(name if text == name else f"{text} AS {name}" for name, text in shown) + "]"


@dataclass(frozen=True)
class Filter(Operator):
    """The rows for which the predicate is true (neither false nor NULL)."""

    keyword: ClassVar[str] = "filter"
    predicate: exp.Expression

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        for name in columns_of(self.predicate):
            if name not in source.schema.names:
                self.refuse(f"column {name} is not in its input", inputs)
        if infer(self.predicate, source.schema.types) is not Type.BOOLEAN:
            self.refuse("the predicate must be Boolean", inputs)
        return source

    def arguments(self) -> str:
        return f"[{show(self.predicate)}]"


@dataclass(frozen=True)
class Plus(Operator):
    """The group's addition of one or more Z-sets of one schema; UNION ALL."""

    keyword: ClassVar[str] = "plus"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        zsets = self.zsets(inputs)
        if any(z.schema != zsets[0].schema for z in zsets):
            self.refuse("adds Z-sets of one schema", inputs)
        return ZSetType(zsets[0].schema, len(zsets) == 1 and zsets[0].is_set, zsets[0].depth)


@dataclass(frozen=True)
class Negate(Operator):
    """The group's negation."""

    keyword: ClassVar[str] = "negate"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        return ZSetType(source.schema, False, source.depth)

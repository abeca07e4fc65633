"""The inputs of a circuit: tables, constants, and the sinks that name its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.base import NamedOperator, Operator
from deltic.values.text import to_literal
from deltic.values.types import Schema


class Source(NamedOperator):
    """An input table; `is_set` when its rows have weight one, as in Datalog and in tables with a key.

    No two rows have the same values in the columns of `key`, if there are any. No result depends on the key, and the
    text form omits it. It says how rows may be changed, and so which orders to arrange them in.
    """

    rule: ClassVar[str] = "§9.2 port"
    schema: Schema
    is_set: bool = True
    key: tuple[str, ...] = field(default=(), compare=False)

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.zsets(inputs, 0)
        if depth:
            self.refuse("stands outside of every fixpoint; import it into the body", inputs)
        return ZSetType(self.schema, self.is_set, depth)


class Constant(Operator):
    """A fixed set of rows."""

    schema: Schema
    rows: tuple[tuple[Any, ...], ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        self.zsets(inputs, 0)
        if any(len(row) != len(self.schema) for row in self.rows):
            self.refuse(f"every row must have the {len(self.schema)} columns of {self.schema}", inputs)
        if depth:
            self.refuse("stands outside of every fixpoint; import it into the body", inputs)
        return ZSetType(self.schema, len(set(self.rows)) == len(self.rows), depth)

    def arguments(self) -> str:
        return "{" + ", ".join(f"({self._written(row)})" for row in self.rows) + "}"

    def _written(self, row: tuple[Any, ...]) -> str:
        if len(row) != len(self.schema):
            return ", ".join(map(repr, row))
        return ", ".join(repr(to_literal(value, c.type)) for value, c in zip(row, self.schema, strict=True))


class Sink(NamedOperator):
    """A view: an output of the circuit under a name."""

    rule: ClassVar[str] = "§9.2 port"

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return self.zsets(inputs, 1)[0]

"""Circuits with the meaning of their leaves: the definition of a view, or the body of a recursion at an iteration."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deltic.catalog import ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit
from deltic.circuit.polarity import is_monotone
from deltic.values.types import Schema
from deltic.why.bound import Bound, Row, named


@dataclass(frozen=True, eq=False)
class RelationScope:
    """A circuit and the meaning of its leaves: a definition, or the body of a recursion after an iteration.

    Its leaves are read as of `back` epochs ago.
    """

    circuit: Circuit
    definition: ViewDefinitions
    recursion: RecursionBody | None = None
    at: int | None = None
    """The iteration whose rows the body reads."""
    back: int = 0
    recursions: dict[int, RecursionBody] = field(default_factory=dict)
    _nodes: dict[int, ScopedNode] = field(default_factory=dict)

    @cached_property
    def before(self) -> RelationScope:
        """The same circuit an epoch earlier."""
        return RelationScope(self.circuit, self.definition, back=self.back + 1)

    def node(self, number: int) -> ScopedNode:
        """Return the node of that number, always the same object."""
        known = self._nodes.get(number)
        return self._nodes.setdefault(number, ScopedNode(self, number)) if known is None else known

    def sink(self, name: str) -> ScopedNode:
        """Return the node that feeds a sink."""
        return self.node(self.circuit.sinks[name])

    def recursion_of(self, fixpoint: ScopedNode) -> RecursionBody:
        """Return the recursion of a fixpoint node."""
        return self.recursions.setdefault(fixpoint.number, RecursionBody(fixpoint))


class ScopedNode:
    """A node of the circuit of a scope."""

    def __init__(self, scope: RelationScope, number: int) -> None:
        self.scope, self.number = scope, number
        self.place = scope.circuit, number
        """What is the same in all scopes of the circuit."""
        self.operator = scope.circuit.nodes[number].operator

    @property
    def inputs(self) -> tuple[ScopedNode, ...]:
        """The nodes that feed it."""
        return tuple(map(self.scope.node, self.scope.circuit.nodes[self.number].inputs))

    @property
    def below(self) -> ScopedNode:
        """The first of its inputs."""
        return self.inputs[0]

    @property
    def type(self) -> ZSetType:
        """The type of its rows."""
        return self.scope.circuit.type_of(self.number)

    @property
    def schema(self) -> Schema:
        """The columns of its rows."""
        return self.type.schema

    @property
    def before(self) -> ScopedNode:
        """The same node an epoch earlier."""
        return self.scope.before.node(self.number)

    @property
    def at_end(self) -> ScopedNode:
        """The same node, reading the rows of the end of a recursion; itself if rows are never deleted."""
        recursion = self.scope.recursion
        if recursion is None or self.scope.at is None or recursion.is_monotone:
            return self
        return recursion.after(None).node(self.number)

    def named(self, row: Row) -> dict[str, Any]:
        """Return the values of a row by column."""
        return named(row, self.schema)

    def own(self, values: Bound) -> dict[str, Any]:
        """Return those of the values that are of its columns."""
        return {name: values[name] for name in self.schema.names if name in values}

    def row(self, values: Bound) -> Row:
        """Return the row with these values of all of its columns."""
        return tuple([values[name] for name in self.schema.names])


@dataclass(frozen=True, eq=False)
class RecursionBody:
    """A fixpoint in the definition of a view."""

    node: ScopedNode
    scopes: dict[int | None, RelationScope] = field(default_factory=dict)

    @property
    def outer(self) -> RelationScope:
        """The scope around the fixpoint."""
        return self.node.scope

    def after(self, at: int | None) -> RelationScope:
        """Return the body, reading the rows of an iteration, or those of the end (None)."""
        made = RelationScope(self.operator.body, self.outer.definition, self, at, self.outer.back)
        return self.scopes.setdefault(at, made)

    @cached_property
    def is_monotone(self) -> bool:
        """Whether its rows are never deleted at later iterations."""
        return is_monotone(self.operator.body)

    @property
    def operator(self) -> ops.Fixpoint:
        """The fixpoint."""
        operator = self.node.operator
        assert isinstance(operator, ops.Fixpoint)
        return operator

"""Where rules are lowered: in the whole circuit, or in the body of a fixpoint inside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast
from deltic.circuit.expressions import column as named
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.types import Schema, ZSetType
from deltic.datalog.checks.kinds import seen


class Scope(ABC):
    """A circuit under construction in which relations have nodes."""

    builder: CircuitBuilder

    @property
    @abstractmethod
    def outside(self) -> Outside:
        """The whole circuit."""

    @abstractmethod
    def relation(self, name: str) -> int:
        """The node in this circuit that carries a relation, a set."""

    @property
    @abstractmethod
    def members(self) -> Collection[str]:
        """The relations that are being defined by recursion here, none in the whole circuit."""

    @abstractmethod
    def bring(self, number: int) -> int:
        """The node in this circuit that carries what node `number` of the whole circuit carries."""


class Outside(Scope):
    """The whole circuit of a definition. `relations` has the nodes of relations, of those of `types` that it reads."""

    def __init__(self, types: Mapping[str, ZSetType]) -> None:
        self.builder = CircuitBuilder()
        self.relations: dict[str, int] = {}
        self._types = types

    @property
    def outside(self) -> Outside:
        return self

    @property
    def members(self) -> Collection[str]:
        return ()

    def relation(self, name: str) -> int:
        if name not in self.relations:
            self.relations[name] = self._seen(self.source(name))
        return self.relations[name]

    def bring(self, number: int) -> int:
        return number

    def source(self, name: str) -> int:
        """The node that reads a relation of the catalog as it is."""
        type_ = self._types[name]
        return self.builder.add(ops.Source(name, type_.schema, type_.is_set))

    def _seen(self, node: int) -> int:
        """The relation as rules see it: a set, and its narrow numbers as wide ones."""
        columns = self.builder.type_of(node).schema.columns
        wide = tuple(replace(column, type=seen(column.type)) for column in columns)
        if wide != columns:
            values = (
                named(a.name) if a.type is b.type else cast(named(a.name), b.type)
                for a, b in zip(columns, wide, strict=True)
            )
            node = self.builder.add(ops.Map(wide, tuple(values)), node)
        return node if self.builder.type_of(node).is_set else self.builder.add(ops.Distinct(), node)


class Inside(Scope):
    """The body of a fixpoint over `members`. `inputs` are the nodes of the whole circuit that it imports."""

    def __init__(self, outside: Outside, members: Mapping[str, Schema]) -> None:
        self._outside, self._members = outside, members
        self.builder = CircuitBuilder(outside.builder.depth + 1)
        self.inputs: list[int] = []

    @property
    def outside(self) -> Outside:
        return self._outside

    @property
    def members(self) -> Collection[str]:
        return self._members.keys()

    def relation(self, name: str) -> int:
        if name in self._members:
            return self.builder.add(ops.Feedback(name, self._members[name]))
        return self.bring(self._outside.relation(name))

    def bring(self, number: int) -> int:
        if number not in self.inputs:
            self.inputs.append(number)
        type_ = self._outside.builder.type_of(number)
        return self.builder.add(ops.Import(self.inputs.index(number), type_))

"""Where rules are lowered: in the whole circuit, or in the body of a fixpoint inside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.types import Schema


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
    """The whole circuit. `relations` has the nodes of the relations lowered so far."""

    def __init__(self) -> None:
        self.builder = CircuitBuilder()
        self.relations: dict[str, int] = {}

    @property
    def outside(self) -> Outside:
        return self

    @property
    def members(self) -> Collection[str]:
        return ()

    def relation(self, name: str) -> int:
        return self.relations[name]

    def bring(self, number: int) -> int:
        return number


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

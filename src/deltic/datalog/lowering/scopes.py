"""The circuit in which rules are lowered: the whole circuit, or the body of a fixpoint in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import cast, checked, literal
from deltic.circuit.expressions import column as named
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.checks.type_names import seen
from deltic.functions import call
from deltic.values.types import Schema, Type


class LoweringScope(ABC):
    """A circuit under construction, with nodes for relations."""

    builder: CircuitBuilder
    relations: dict[str, int]
    """The nodes of relations in this circuit."""

    @property
    @abstractmethod
    def outside(self) -> WholeCircuit:
        """The whole circuit."""

    @abstractmethod
    def relation(self, name: str) -> int:
        """Return the node in this circuit that carries a relation as a set."""

    @abstractmethod
    def is_recursive(self, relation: str) -> bool:
        """Return whether a relation depends on the recursive relations of this body; False outside of a body."""

    @abstractmethod
    def bring(self, number: int, place: LoweringScope) -> int:
        """Return the node in this circuit for node `number` of `place`, which is this or the whole circuit."""

    def constant(self, schema: Schema, rows: Sequence[tuple[object, ...]] = ()) -> int:
        """Return the node in this circuit for a constant, which is computed outside of a recursion."""
        return self.bring(self.outside.builder.add(ops.Constant(schema, tuple(rows))), self.outside)

    def hidden(self, node: int) -> str:
        """Return the name of a relation for a node of this circuit, which only rules that are lowered read."""
        name = f"%{node}{'' if self is self.outside else ' of the recursion'}"
        self.relations[name] = node
        return name


class WholeCircuit(LoweringScope):
    """The whole circuit of a definition. `relations` has the nodes of relations; `types` are those that it may read.

    `structures` are the families of the columns of tables that hold structures as text. Numbers have `word_size` bits.
    """

    def __init__(
        self, types: Mapping[str, ZSetType], structures: Mapping[str, Mapping[str, str]], word_size: int = 64
    ) -> None:
        self.builder = CircuitBuilder()
        self.relations: dict[str, int] = {}
        self._types, self._structures, self._word_size = types, structures, word_size

    @property
    def outside(self) -> WholeCircuit:
        return self

    def is_recursive(self, relation: str) -> bool:
        return False

    def relation(self, name: str) -> int:
        if name not in self.relations:
            self.relations[name] = self.seen(self.source(name))
        return self.relations[name]

    def bring(self, number: int, place: LoweringScope) -> int:
        return number

    def source(self, name: str) -> int:
        """Return the node that reads a relation of the catalog; structures of tables are normalized to the form of
        rules.

        A text that is no value of the type is an error of the epoch.
        """
        type_ = self._types[name]
        node = self.builder.add(ops.Source(name, type_.schema, type_.is_set))
        families = self._structures.get(name, {})
        if not families:
            return node
        values = (_structure(c.name, families[c.name]) if c.name in families else named(c.name) for c in type_.schema)
        return self.builder.add(ops.Distinct(), self.builder.add(ops.Map(type_.schema.columns, tuple(values)), node))

    def seen(self, node: int) -> int:
        """Return the relation as rules see it: a set, with narrow numbers widened."""
        columns = self.builder.type_of(node).schema.columns
        wide = tuple(replace(column, type=seen(column.type, self._word_size)) for column in columns)
        if wide != columns:
            values = (
                named(a.name) if a.type is b.type else cast(named(a.name), b.type)
                for a, b in zip(columns, wide, strict=True)
            )
            node = self.builder.add(ops.Map(wide, tuple(values)), node)
        return self.builder.distinct(node)


def _structure(name: str, family: str) -> exp.Expression:
    return checked(call("structure", literal(family, Type.STRING), named(name)))


class Inside(LoweringScope):
    """The body of a fixpoint over `members`. `inputs` are the nodes of the whole circuit that it imports.

    `relations` has the nodes of other relations that depend on a member.
    """

    def __init__(self, outside: WholeCircuit, members: Mapping[str, Schema]) -> None:
        self._outside, self._members = outside, members
        self.relations = {}
        self.builder = CircuitBuilder(outside.builder.depth + 1)
        self.inputs: list[int] = []

    @property
    def outside(self) -> WholeCircuit:
        return self._outside

    def is_recursive(self, relation: str) -> bool:
        return relation in self._members or relation in self.relations

    def relation(self, name: str) -> int:
        if name in self.relations:
            return self.relations[name]
        if name in self._members:
            return self.builder.add(ops.Feedback(name, self._members[name]))
        return self.bring(self._outside.relation(name), self._outside)

    def close(self) -> dict[str, int]:
        """Return the nodes of the whole circuit for the members, once the body has a sink for each."""
        fixpoint = self._outside.builder.add(ops.Fixpoint(self.builder.build()), *self.inputs)
        return {name: self._outside.builder.add(ops.BundleRelation(name), fixpoint) for name in self._members}

    def bring(self, number: int, place: LoweringScope) -> int:
        if place is self:
            return number
        if number not in self.inputs:
            self.inputs.append(number)
        type_ = self._outside.builder.type_of(number)
        return self.builder.add(ops.Import(self.inputs.index(number), type_))

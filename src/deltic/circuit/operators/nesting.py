"""Nested circuits: bracketed by δ₀ and ∫, or called as an operator [DBSP §9.4.5, §9.4.6]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar

from deltic.circuit.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.operators.base import Operator
from deltic.circuit.operators.fixpoint import Feedback, FixpointDelta, check_imports
from deltic.circuit.operators.source import Constant, Source
from deltic.circuit.operators.streams import Differentiate

if TYPE_CHECKING:
    from deltic.circuit.graph import Circuit

Value = TypeVar("Value")


class Bracket(Operator):
    """∫ ∘ body ∘ δ₀: each input arrives once, at the first iteration of the body; its sinks are added up.

    All inputs form one bundle and so do the sinks, so that no edge bypasses the bracket. The body is one level deeper
    and has a time of its own, that of its iterations. They end when no value in the body changes any more (then the
    sinks must be zero, or ∫ has no value).

    `is_set` declares that all sinks sum up to sets, as the changes of a loop over sets do; for a sink that is D of a
    set this is known without it.
    """

    rule: ClassVar[str] = "§9.4.6 bracketing"
    body: Circuit
    is_set: bool = False

    @property
    def reach(self) -> int:
        return max(0, self.body.reach - 1)

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        check_imports(self, self.body, inputs, depth)
        self.zsets(inputs)
        for op in self.body.operators:
            if isinstance(op, Feedback):
                self.refuse(f"feedback {op.name} is allowed in the body of a fixpoint only; use a back_edge", inputs)
            if isinstance(op, FixpointDelta):
                self.refuse("in its body a fixpoint_delta would count the iterations; make it a bracket, too", inputs)
        types = self.body.sink_types
        return BundleType.of({n: ZSetType(t.schema, self._sums_to_set(n), depth) for n, t in types.items()})

    @property
    def sums_to_sets(self) -> bool:
        """Whether all sinks are known to sum up to sets."""
        return all(map(self._sums_to_set, self.body.sinks))

    def _sums_to_set(self, sink: str) -> bool:
        """Return whether ∫ of a sink is a set: ∫ of D of a set is the last of these sets [DBSP §5.1.4]."""
        node = self.body.nodes[self.body.sinks[sink]]
        return self.is_set or (node.operator == Differentiate() and self.body.type_of(node.inputs[0]).is_set)

    def arguments(self) -> str:
        return "sets" if self.is_set else ""

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        return (("body", self.body),)


class Call(Operator):
    """A whole circuit as an operator, lifted to the depth of the node; its inputs are its sources, in order."""

    rule: ClassVar[str] = "§9.4.5 lifting"
    circuit: Circuit

    @property
    def reach(self) -> int:
        return self.circuit.reach

    @cached_property
    def ports(self) -> tuple[Source, ...]:
        """The sources of the circuit, in the order of the inputs."""
        return tuple(op for op in self.circuit.operators if isinstance(op, Source))

    @cached_property
    def _type(self) -> BundleType:
        """The type of the output at depth 0."""
        types = self.circuit.sink_types
        return BundleType.of({n: ZSetType(t.schema, t.is_set) for n, t in types.items()})

    def named(self, values: Iterable[Value]) -> dict[str, Value]:
        """Return the values of the inputs by the names of the sources."""
        return {port.name: value for port, value in zip(self.ports, values, strict=True)}

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        if self.circuit.depth:
            self.refuse(f"its circuit must be built at depth 0, not {self.circuit.depth}", inputs)
        for port, zset in zip(self.ports, self.zsets(inputs, len(self.ports)), strict=True):
            if zset.schema != port.schema or (port.is_set and not zset.is_set):
                wanted = ZSetType(port.schema, port.is_set, depth)
                self.refuse(f"source {port.name} of its circuit takes {wanted}", inputs)
        if not depth:  # its nodes stand there already
            return self._type
        self._check_lifting(depth)
        return deeper(self._type, depth)

    def _check_lifting(self, depth: int) -> None:
        """Raise CircuitError where a node of the circuit cannot be lifted to that depth."""
        for node in self.circuit.nodes:
            if isinstance(node.operator, Call):
                node.operator._check_lifting(depth)
            elif not isinstance(node.operator, Source | Constant) and not node.operator.bodies():
                types = [self.circuit.nodes[i].type for i in node.inputs]
                node.operator.output([deeper(type_, depth) for type_ in types], depth)

    def bodies(self) -> Sequence[tuple[str, Circuit]]:
        return (("circuit", self.circuit),)


def deeper(type_: EdgeType, depth: int) -> EdgeType:
    """Return the type of an edge when its circuit is lifted to that depth."""
    if isinstance(type_, BundleType):
        return BundleType(tuple((name, replace(zset, depth=depth)) for name, zset in type_.entries))
    return replace(type_, depth=depth)

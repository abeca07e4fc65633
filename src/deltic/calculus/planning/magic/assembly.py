"""Builds the circuit around the new body of a fixpoint."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.passes.rewriting import without_unread
from deltic.calculus.planning.magic.bodies import UNIT, Bodies
from deltic.calculus.planning.magic.forms import feedbacks
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.values.types import Schema


class Assembly:
    """The circuit around the new body: first the nodes that the body imports, then the fixpoint, then its readers."""

    def __init__(self, circuit: Circuit, fixpoint: int, bodies: Bodies) -> None:
        self._old, self._fixpoint, self._bodies = circuit, fixpoint, bodies
        self._builder = CircuitBuilder(circuit.depth)
        self._numbers: dict[int, int] = {}
        self._shown = bodies.shown()

    def circuit(self) -> Circuit:
        """Build the circuit."""
        for number, operator in enumerate(self._old.operators):
            if isinstance(operator, ops.Source):
                self._number(number)
        for number, node in enumerate(self._old.nodes):
            if number == self._fixpoint:
                self._numbers[number] = self._add_fixpoint()
            elif self._fixpoint not in node.inputs:
                self._number(number)
        return self._builder.build()

    def _number(self, number: int) -> int:
        """Return the new number of a node; it is added after its inputs."""
        if number == UNIT:
            return self._builder.add(ops.Constant(Schema(()), ((),)))
        if number not in self._numbers:
            node = self._old.nodes[number]
            inputs = [self._input(number, position) for position in range(len(node.inputs))]
            self._numbers[number] = self._builder.add(node.operator, *inputs)
        return self._numbers[number]

    def _input(self, reader: int, position: int) -> int:
        if copy := self._bodies.read.get((reader, position)):
            shown = self._shown[self._bodies.name(copy)]
            return self._builder.add(ops.BundleRelation(shown), self._numbers[self._fixpoint])
        return self._number(self._old.nodes[reader].inputs[position])

    def _add_fixpoint(self) -> int:
        """Add the fixpoint; guards that no rule in it extends are computed before it."""
        body = without_unread(self._bodies.builder.build())
        names = {self._bodies.guard_name(*key) for key in self._bodies.guards}
        fixed = {n: body.sinks[n] for n in body.sinks if n in names and not feedbacks(body, body.sinks[n])}
        inputs: list[int] = []
        builder = CircuitBuilder(body.depth)
        numbers: list[int] = []

        def bring(outer: int, is_set: bool) -> int:
            if is_set and not self._builder.type_of(outer).is_set:
                outer = self._builder.add(ops.Distinct(), outer)
            if outer not in inputs:
                inputs.append(outer)
            return inputs.index(outer)

        for node in body.nodes:
            operator = node.operator
            if isinstance(operator, ops.Sink) and operator.name in fixed:
                numbers.append(-1)
                continue
            if isinstance(operator, ops.Import):
                outer = self._number(self._bodies.imports[operator.index])
                operator = replace(operator, index=bring(outer, operator.type.is_set))
            elif isinstance(operator, ops.Feedback) and operator.name in fixed:
                outer = self._outside(body, fixed[operator.name])
                operator = ops.Import(bring(outer, True), self._builder.type_of(outer))
            elif isinstance(operator, ops.Feedback | ops.Sink):
                operator = replace(operator, name=self._shown[operator.name])
            numbers.append(builder.add(operator, *(numbers[i] for i in node.inputs)))
        old = self._old.nodes[self._fixpoint].operator
        assert isinstance(old, ops.Fixpoint)
        return self._builder.add(replace(old, body=without_unread(builder.build())), *inputs)

    def _outside(self, body: Circuit, number: int) -> int:
        """Return a node of the body that reads only imports, as a node of the circuit around it."""
        node = body.nodes[number]
        if not isinstance(node.operator, ops.Import):
            return self._builder.add(node.operator, *(self._outside(body, i) for i in node.inputs))
        number = self._number(self._bodies.imports[node.operator.index])
        return self._builder.distinct(number)

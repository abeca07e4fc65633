"""Incrementalization under the Boolean change action: from additions and removals to additions and removals."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.passes.rewriting import is_set
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.circuit.types import ZSetType
from deltic.errors import UnsupportedError
from deltic.theory.circuits.boolean.rows import GAINS
from deltic.theory.circuits.boolean.table import Gains, Pair

# Operators whose value on Z-sets without negative weights has the support of their value on the supports.
_ON_SETS = (ops.Constant, ops.Map, ops.Filter, ops.FlatMap, ops.Plus, ops.Join, ops.Antijoin, ops.Distinct)


def incrementalize_sets(circuit: Circuit) -> Circuit:
    """The circuit of gains and losses: source and sink s become s+ and s-, what is added and what is removed.

    Tables and changes are sets; s+ may repeat what is there, s- may name what is not, and the two are disjoint. Raises
    UnsupportedError where an operator has no value on sets.
    """
    sides = _Sides(circuit)
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source):
            sides.new(number)
        if isinstance(node.operator, ops.Sink):
            (source,) = node.inputs
            sides.builder.add(ops.Sink(f"{node.operator.name}+"), sides.up(source))
            sides.builder.add(ops.Sink(f"{node.operator.name}-"), sides.down(source))
    return sides.builder.build()


def gains_of(operator: ops.Operator) -> Gains | None:
    """The row for an operator; None when it has none and f(a ⊕ δ) ⊖ f(a) stands for it."""
    return GAINS.get(type(operator))


class _Sides:
    """The views of the old circuit's nodes in the new one, made when they are first asked for."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.builder = CircuitBuilder(circuit.depth)
        self._pairs: dict[int, Pair] = {}
        self._new: dict[int, int] = {}

    def up(self, number: int) -> int:
        return self._pair(number)[0]

    def down(self, number: int) -> int:
        return self._pair(number)[1]

    def new(self, number: int) -> int:
        if number not in self._new:
            node = self.circuit.nodes[number]
            table = isinstance(node.operator, ops.Source)
            self._new[number] = self._table(number) if table else self._value(number, node)
        return self._new[number]

    def old(self, number: int) -> int:
        return self.builder.add(ops.Delay(), self.new(number))

    def union(self, *numbers: int) -> int:
        return self.apply(ops.Plus(), *numbers)

    def without(self, number: int, *others: int) -> int:
        for other in others:
            number = self.builder.add(ops.Antijoin(), number, other)
        return number

    def apply(self, operator: ops.Operator, *numbers: int) -> int:
        number = self.builder.add(operator, *numbers)
        is_bag = isinstance(self.builder.node(number).type, ZSetType) and not self.builder.type_of(number).is_set
        return self.builder.add(ops.Distinct(), number) if is_bag else number

    def _pair(self, number: int) -> Pair:
        if number not in self._pairs:
            self._pairs[number] = self._differentiated(number)
        return self._pairs[number]

    def _differentiated(self, number: int) -> Pair:
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.Source):
            up, down = (replace(node.operator, name=f"{node.operator.name}{sign}", is_set=True) for sign in "+-")
            return self.builder.add(up), self.builder.add(down)
        row = gains_of(node.operator)
        return row.rule(node.operator, node, self) if row else self._minus(number)

    def _minus(self, number: int) -> Pair:
        """f(a ⊕ δ) ⊖ f(a), precise [FIX Prop. 23]."""
        new, old = self.new(number), self.old(number)
        return self.without(new, old), self.without(old, new)

    def _value(self, number: int, node: Node) -> int:
        """The operator on the new sets of its inputs."""
        of_sets = all(is_set(self.circuit.nodes[i].type) for i in node.inputs)
        if not (isinstance(node.operator, _ON_SETS) or of_sets) or isinstance(node.operator, ops.Negate):
            raise UnsupportedError(
                f"%{number} {node.operator.keyword}: it has no value on sets; put a distinct before each of its inputs"
            )
        return self.apply(node.operator, *map(self.new, node.inputs))

    def _table(self, number: int) -> int:
        """a = (z⁻¹(a) ∪ p) ∖ q."""
        operator = self.circuit.nodes[number].operator
        assert isinstance(operator, ops.Source)
        before = self.builder.add(ops.BackEdge(operator.name, operator.schema, is_set=True))
        after = self.without(self.union(before, self.up(number)), self.down(number))
        self.builder.add(ops.Close(operator.name), after)
        return after

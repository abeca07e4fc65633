"""The derivative table for the Boolean change action: what each operator on sets gains and loses [FIX §4.2, Fig. 2].

A change (p, q) of a set a makes it (a ∪ p) ∖ q. Nodes are read as sets: a map is an image, a sum a union. For circuits
without negative weights that is the support of their Z-sets, by [DBSP Prop. 6.10, 6.11].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deltic.calculus.passes.rewriting import is_set
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.errors import UnsupportedError

Pair = tuple[int, int]
"""The nodes that carry what is added and what is removed."""


# Operators whose value on Z-sets without negative weights has the support of their value on the supports.
_ON_SETS = (ops.Constant, ops.Map, ops.Filter, ops.FlatMap, ops.Plus, ops.Join, ops.Antijoin, ops.Distinct)


class Sides:
    """The views of the old circuit's nodes as nodes of the new one, all of them sets, made when first asked for."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.builder = CircuitBuilder(circuit.depth)
        self._pairs: dict[int, Pair] = {}
        self._new: dict[int, int] = {}

    def up(self, number: int) -> int:
        """Return what node `number` gains; it may repeat what was present."""
        return self._pair(number)[0]

    def down(self, number: int) -> int:
        """Return what it loses; it may name what was absent, and never what is present after the change."""
        return self._pair(number)[1]

    def new(self, number: int) -> int:
        """Its value after the change."""
        if number not in self._new:
            node = self.circuit.nodes[number]
            table = isinstance(node.operator, ops.Source)
            self._new[number] = self._table(number) if table else self._value(number, node)
        return self._new[number]

    def old(self, number: int) -> int:
        """Its value before the change."""
        return self.builder.add(ops.Delay(), self.new(number))

    def union(self, *numbers: int) -> int:
        """Return the union of new nodes."""
        return self.apply(ops.Plus(), *numbers)

    def without(self, number: int, *others: int) -> int:
        """Return the rows of a new node that are in none of the others."""
        for other in others:
            number = self.builder.add(ops.Antijoin(), number, other)
        return number

    def apply(self, operator: ops.Operator, *numbers: int) -> int:
        """Return the set of the operator's results for new nodes."""
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
        row = GAINS.get(type(node.operator))
        return row.rule(node.operator, node, self) if row else self._minus(number)

    def _minus(self, number: int) -> Pair:
        """f(a ⊕ δ) ⊖ f(a), precise [FIX Prop. 23]."""
        new, old = self.new(number), self.old(number)
        return self.without(new, old), self.without(old, new)

    def _value(self, number: int, node: Node) -> int:
        """Return the operator on the new sets of its inputs."""
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


Rule = Callable[[Any, Node, Sides], Pair]


@dataclass(frozen=True)
class Gains:
    """A row of the table: the rule, the formulas for gains and losses, and their source."""

    rule: Rule
    up: str
    down: str
    source: str


GAINS: dict[type[ops.Operator], Gains] = {}


def gains(operator: type[ops.Operator], up: str, down: str, source: str) -> Callable[[Rule], Rule]:
    """Enter a rule for an operator into the table."""

    def enter(rule: Rule) -> Rule:
        GAINS[operator] = Gains(rule, up, down, source)
        return rule

    return enter


@gains(ops.Constant, "c at first", "∅", "FIX Fig. 2, ⊤ and ⊥")
def constant_gains(op: ops.Constant, node: Node, sides: Sides) -> Pair:
    """A constant is there from the first step on."""
    rows = sides.apply(op)
    before = sides.builder.add(ops.Delay(), rows)
    return sides.without(rows, before), sides.without(before, rows)


@gains(ops.Distinct, "⁺a", "⁻a", "FIX Def. 1")
@gains(ops.Filter, "σ(⁺a)", "σ(⁻a)", "FIX Fig. 2, ∧ with what does not change")
def filter_gains(op: ops.Operator, node: Node, sides: Sides) -> Pair:
    """Row by row."""
    (source,) = node.inputs
    return sides.apply(op, sides.up(source)), sides.apply(op, sides.down(source))


@gains(ops.Map, "f(⁺a)", "f(⁻a) ∖ f(a')", "FIX Fig. 2, ∃")
def map_gains(op: ops.Map, node: Node, sides: Sides) -> Pair:
    """A row is lost when none is left that has it for its image."""
    (source,) = node.inputs
    lost = sides.apply(op, sides.down(source))
    return sides.apply(op, sides.up(source)), sides.without(lost, sides.apply(op, sides.new(source)))


@gains(ops.Plus, "⋃ᵢ ⁺aᵢ", "(⋃ᵢ ⁻aᵢ) ∖ ⋃ᵢ aᵢ'", "FIX Fig. 2, ∨")
def plus_gains(op: ops.Plus, node: Node, sides: Sides) -> Pair:
    """A union loses what no part has any more."""
    lost = sides.union(*map(sides.down, node.inputs))
    return sides.union(*map(sides.up, node.inputs)), sides.without(lost, *map(sides.new, node.inputs))


@gains(ops.Join, "⋃ᵢ a₁' ⋈ … ⋈ ⁺aᵢ ⋈ … ⋈ aₙ'", "⋃ᵢ a₁ ⋈ … ⋈ ⁻aᵢ ⋈ … ⋈ aₙ", "FIX Fig. 2, ∧")
def join_gains(op: ops.Join, node: Node, sides: Sides) -> Pair:
    """One gain with the new values, or one loss with the old ones."""
    inputs = node.inputs
    gained, lost = [], []
    for i in range(len(inputs)):
        new = [sides.up(n) if j == i else sides.new(n) for j, n in enumerate(inputs)]
        old = [sides.down(n) if j == i else sides.old(n) for j, n in enumerate(inputs)]
        gained.append(sides.apply(op, *new))
        lost.append(sides.apply(op, *old))
    return sides.union(*gained), sides.union(*lost)


@gains(ops.Antijoin, "⁺a ▷ b' ∪ a' ⋈ ⁻b", "⁻a ▷ b ∪ a ⋈ ⁺b", "FIX Fig. 2, ∧ and ¬")
def antijoin_gains(op: ops.Antijoin, node: Node, sides: Sides) -> Pair:
    """¬ exchanges gains and losses."""
    a, b = node.inputs
    join = ops.Join()
    gained = sides.apply(op, sides.up(a), sides.new(b)), sides.apply(join, sides.new(a), sides.down(b))
    lost = sides.apply(op, sides.down(a), sides.old(b)), sides.apply(join, sides.old(a), sides.up(b))
    return sides.union(*gained), sides.union(*lost)


def incrementalize_sets(circuit: Circuit) -> Circuit:
    """Return the circuit of gains and losses: source and sink s become s+ and s-, what is added and what is removed.

    Tables and changes are sets; s+ may repeat what is present, s- may name what is not, and the two are disjoint.
    Raises UnsupportedError where an operator has no value on sets.
    """
    sides = Sides(circuit)
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source):
            sides.new(number)
        if isinstance(node.operator, ops.Sink):
            (source,) = node.inputs
            sides.builder.add(ops.Sink(f"{node.operator.name}+"), sides.up(source))
            sides.builder.add(ops.Sink(f"{node.operator.name}-"), sides.down(source))
    return sides.builder.build()

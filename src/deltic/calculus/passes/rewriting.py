"""The rewriting engine of the passes: a circuit is rebuilt node by node, and a rule may replace a node.

A rule is sound if the replacement equals the old node for all values of the sources. Its type may be
that of a set where the old one was not known to be one, never the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, wraps

from deltic.circuit import operators as ops
from deltic.circuit.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder, Node

Rule = Callable[["Rewriting", Node], "int | None"]
Pass = Callable[[Circuit], Circuit]
Prepare = Callable[["Rewriting"], object]

# Operators that may change though their inputs do not: by the circuit around a body, or by their own body.
_AROUND = (ops.Import, ops.Fixpoint, ops.Bracket)
_REMEMBERING = (ops.Window, ops.Clocked)


def _unprepared(rewriting: Rewriting) -> None:
    return None


class Rewriting:
    """One sweep over a circuit: the old circuit, the new builder, and the new numbers of old nodes.

    Nothing is built before a rule applies: if none does, the new circuit is the old one. Bodies without an operator of
    `kind` stay as they are.
    """

    def __init__(
        self, circuit: Circuit, rule: Rule, prepare: Prepare = _unprepared, kind: type[ops.Operator] = ops.Operator
    ) -> None:
        self.circuit = circuit
        self.applied = False
        self._rule, self._prepare, self._kind = rule, prepare, kind
        self._builder: CircuitBuilder | None = None
        self._numbers: list[int] = []

    @property
    def builder(self) -> CircuitBuilder:
        """The builder of the new circuit; it starts with the old nodes so far, under their old numbers."""
        if self._builder is None:
            self._builder = CircuitBuilder(self.circuit.depth)
            for number in self._numbers:
                node = self.circuit.nodes[number]
                result = self._builder.repeat(node, *node.inputs)
                assert result == number, "no two nodes of a circuit are equal"
        return self._builder

    def made(self, number: int) -> Node:
        """Return a new node; as long as nothing is built, the new nodes are the old ones."""
        return (self.circuit if self._builder is None else self._builder).node(number)

    @cached_property
    def notes(self) -> object:
        """The result of `prepare` for the old circuit."""
        return self._prepare(self)

    @cached_property
    def remembered(self) -> set[int]:
        """The old nodes that must not change, see `remembered`."""
        return remembered(self.circuit)

    def only_read_here(self, number: int) -> bool:
        """Return whether the old node has exactly one reader, so that rewriting it does not duplicate work."""
        return len(self.circuit.readers[number]) == 1

    @property
    def number(self) -> int:
        """The number of the old node that is being rewritten."""
        return len(self._numbers)

    def node(self, number: int) -> Node:
        """Return an old node."""
        return self.circuit.nodes[number]

    def new(self, *numbers: int) -> list[int]:
        """Return the new nodes of old nodes."""
        return [self._numbers[n] for n in numbers]

    def add(self, operator: ops.Operator, *inputs: int) -> int:
        """Add a node over new nodes."""
        return self.builder.add(operator, *inputs)

    def sweep(self, imports: tuple[EdgeType, ...]) -> Circuit:
        """Build the new circuit; its imports get the types of the outer inputs.

        `applied` says whether a rule applied.
        """
        for number, node in enumerate(self.circuit.nodes):
            result = None if number in self.remembered else self._rule(self, node)
            if result is not None and not self.applied:
                self.applied, self._builder = True, self.builder
            self._numbers.append(self._same(node, imports) if result is None else result)
        if self._builder is None:
            return self.circuit
        return without_unread(self._builder.build()) if self.applied else self._builder.build()

    def _same(self, node: Node, imports: tuple[EdgeType, ...]) -> int:
        """Return the new node for an old one that no rule replaces, though its body may change."""
        inputs, built = self.new(*node.inputs), self._builder
        if built is None and not isinstance(node.operator, _AROUND):
            return self.number
        types, before = [self.made(i).type for i in inputs], [self.circuit.nodes[i].type for i in node.inputs]
        operator, same = node.operator, types == before
        if not (same and self._is_left(operator)):
            operator = self._operator(operator, types, imports)
        if operator is node.operator and built is None:
            return self.number
        same = same and operator == node.operator
        return self.builder.repeat(node, *inputs) if same else self.add(operator, *inputs)

    def _is_left(self, operator: ops.Operator) -> bool:
        """Return whether it has a body to which the rule does not apply."""
        return isinstance(operator, ops.Fixpoint | ops.Bracket) and not has_kind(operator.body, self._kind)

    def _operator(
        self, operator: ops.Operator, types: Sequence[EdgeType], imports: tuple[EdgeType, ...]
    ) -> ops.Operator:
        """Return the operator adapted to inputs of these types; the same object if nothing changes."""
        if isinstance(operator, ops.Import) and imports and imports[operator.index] != operator.type:
            outer = imports[operator.index]
            assert isinstance(outer, ZSetType)
            return replace(operator, type=outer)
        if isinstance(operator, ops.Fixpoint | ops.Bracket):
            body = Rewriting(operator.body, self._rule, self._prepare, self._kind)
            result = body.sweep(tuple(types))
            self.applied = self.applied or body.applied
            return operator if result is operator.body else replace(operator, body=result)
        return operator


def rewrites(kind: type[ops.Operator], prepare: Prepare = _unprepared) -> Callable[[Rule], Pass]:
    """Make a pass of a rule: it applies the rule everywhere, in bodies too, until it applies nowhere.

    Circuits without an operator of type `kind` are skipped. `prepare` is called on each circuit before the rule sees
    its nodes; its result is in `notes`.
    """

    def made(rule: Rule) -> Pass:
        @wraps(rule)
        def rewrite(circuit: Circuit) -> Circuit:
            while has_kind(circuit, kind):
                rewriting = Rewriting(circuit, rule, prepare, kind)
                result = rewriting.sweep(())
                if not rewriting.applied or result == circuit:
                    return circuit
                circuit = result
            return circuit

        return rewrite

    return made


def has_kind(circuit: Circuit, *kinds: type) -> bool:
    """Return whether the circuit or a circuit in it has an operator of these types."""
    return any(issubclass(each, kinds) for each in circuit.kinds)


def remembered(circuit: Circuit) -> set[int]:
    """Return the nodes that operators with state of past epochs depend on, directly or not, and those operators.

    They must not depend on the rest of the circuit. Otherwise a change elsewhere would replace the operator and lose
    its state.
    """
    if not has_kind(circuit, *_REMEMBERING):
        return set()
    return circuit.ancestors(remembering(circuit, range(len(circuit.nodes))))


def remembering(circuit: Circuit, numbers: Iterable[int]) -> list[int]:
    """Return those of these nodes whose operators have state of past epochs."""
    return [number for number in numbers if isinstance(circuit.nodes[number].operator, _REMEMBERING)]


def without_unread(circuit: Circuit) -> Circuit:
    """Return the circuit without the nodes that no sink depends on; tables are kept."""
    kept = circuit.ancestors([n for n, op in enumerate(circuit.operators) if isinstance(op, ops.Source | ops.Sink)])
    if len(kept) == len(circuit.nodes):
        return circuit
    builder = CircuitBuilder(circuit.depth)
    numbers: dict[int, int] = {}
    for number in sorted(kept):
        node = circuit.nodes[number]
        numbers[number] = builder.repeat(node, *(numbers[i] for i in node.inputs))
    return builder.build()


def is_set(type_: EdgeType) -> bool:
    """Return whether an edge carries a set, or a bundle of sets."""
    return all(t.is_set for _, t in type_.entries) if isinstance(type_, BundleType) else type_.is_set

"""The body of a fixpoint that derives demanded rows: copies of its relations, and their guards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from deltic.calculus.passes.delay_distinct import is_positive
from deltic.calculus.passes.substitution import copies
from deltic.calculus.planning.factors import Factor, FactorAtom, WantedRows, node_of, sideways
from deltic.calculus.planning.magic.forms import WHOLE, Copy, Edge, Form, Guard, WalkedCircuit, feedbacks, in_order
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.values.types import Schema

UNIT = -1
"""Stands for an imported node with one row without columns."""

_UNIT_TYPE = ZSetType(Schema(()), True)


class UnfitError(Exception):
    """The body has an operator through which demand cannot be passed."""


@dataclass
class _Asked:
    """The demand that a guard collects: factors, and for those from outside the edge through which they come."""

    factors: dict[int, None] = field(default_factory=dict)
    seeds: dict[int, Edge] = field(default_factory=dict)


class Bodies:
    """Builds the body of the new fixpoint for the demand that may arise.

    `allowed` returns the form of demand through an edge from outside, or, for None, through the body.
    """

    def __init__(self, circuit: Circuit, fixpoint: int, allowed: Callable[[Edge | None, str, Form], Form]) -> None:
        operator = circuit.nodes[fixpoint].operator
        assert isinstance(operator, ops.Fixpoint)
        body = operator.body
        self._fixpoint, self._allowed = fixpoint, allowed
        self.builder = CircuitBuilder(body.depth)
        self.imports: list[int] = []
        self.copies: dict[Copy, None] = {}
        self.guards: dict[tuple[Copy, Guard], _Asked] = {}
        self.edges: dict[Edge, list[Form]] = {}
        self.read: dict[Edge, Copy] = {}
        feedbacks = [n for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback)]
        self._inner = WalkedCircuit.of(body, feedbacks, False)
        self._outer = WalkedCircuit.of(circuit, [fixpoint], True)
        self._plain: dict[tuple[bool, int], int] = {}
        self._memo: dict[tuple[bool, int, WantedRows], tuple[int | None, Form]] = {}
        self._head: Copy = ("", WHOLE)
        self._handed: Form = frozenset()
        """The guards of the head whose columns the visited atoms pass on unchanged."""

    def make(self) -> None:
        """Pass demand down from the sinks, then from the rules of each copy, until no new copy arises."""
        for number, node in enumerate(self._outer.circuit.nodes):
            if isinstance(node.operator, ops.Sink) and number in self._outer.below:
                self._input(self._outer, number, 0, WantedRows())
        done = 0
        while done < len(self.copies):
            self._derive(list(self.copies)[done])
            done += 1
        for (copy, guard), asked in self.guards.items():
            factors = list(asked.factors)
            total = self.builder.add(ops.Plus(), *factors) if len(factors) > 1 else factors[0]
            self.builder.add(ops.Sink(self.guard_name(copy, guard)), self.builder.add(ops.Distinct(), total))

    def name(self, copy: Copy) -> str:
        """Return the name of a copy."""
        name, form = copy
        asked = " ".join(sorted(f"[{', '.join(sorted(guard))}]" for guard in form))
        return f"{name}{asked}"

    def guard_name(self, copy: Copy, guard: Guard) -> str:
        """Return the name of a guard."""
        return f"{self.name(copy)} asked by {', '.join(sorted(guard))}"

    def shown(self) -> dict[str, str]:
        """Return the final names of copies and guards: a relation with one copy keeps its name."""
        names = [name for name, _ in self.copies]
        shown = {self.name(copy): copy[0] if names.count(copy[0]) == 1 else self.name(copy) for copy in self.copies}
        guards = {self.guard_name(*key): (self.name(key[0]), key[1]) for key in self.guards}
        return shown | {name: f"{shown[copy]} asked by {', '.join(sorted(g))}" for name, (copy, g) in guards.items()}

    def dear(self, always: Collection[str]) -> Iterator[tuple[Edge, Guard]]:
        """Yield the demand from outside through guards that grow, unless it starts with constants in all columns."""
        unit, circuit = self._unit(), self.builder.build()
        names = {self.guard_name(*key): key for key in self.guards}
        reads = {
            key: {names[n] for factor in asked.factors for n in feedbacks(circuit, factor) if n in names}
            for key, asked in self.guards.items()
        }
        growing = {
            key
            for key, asked in self.guards.items()
            if any(_grows(circuit, f) for f in asked.factors.keys() - asked.seeds)
        }
        for key, asked in self.guards.items():
            (name, _), guard = key
            reached = _reached(key, reads)
            if name not in always and not growing.isdisjoint(reached):
                bounded = all(self._is_bounded(copy) for copy, _ in reached)
                for factor, edge in asked.seeds.items():
                    begins = unit in circuit.ancestors([factor]) or feedbacks(circuit, factor)
                    if not (begins and bounded):
                        yield edge, guard

    def _is_bounded(self, copy: Copy) -> bool:
        """Return whether a copy is demanded by all of its columns."""
        return frozenset().union(*copy[1]) == self._inner.names(self._inner.circuit.sinks[copy[0]])

    # Rules

    def _derive(self, copy: Copy) -> None:
        """Add the relation of a copy: its rules, joined with its guards."""
        name, form = copy
        self._head = copy
        factors = tuple(Factor(self._guard(copy, g), tuple((n, n) for n in sorted(g))) for g in in_order(form))
        self.builder.add(ops.Sink(self.name(copy)), self._guarded(self._inner.circuit.sinks[name], WantedRows(factors)))

    def _guarded(self, number: int, context: WantedRows) -> int:
        node = self._inner.circuit.nodes[number]
        if isinstance(node.operator, ops.Distinct | ops.Plus):
            return self.builder.add(node.operator, *(self._guarded(i, context) for i in node.inputs))
        self._memo.clear()
        self._handed = frozenset()
        new = self._walk(self._inner, number, context)
        assert new is not None
        missing = [f.node for f in context.factors if f.names not in self._handed]
        return self.builder.add(ops.Join(), new, *missing) if missing else new

    def _guard(self, copy: Copy, guard: Guard) -> int:
        """Return the guard of a copy as a feedback of the body."""
        schema = self._inner.circuit.type_of(self._inner.circuit.sinks[copy[0]]).schema
        columns = tuple(c for c in schema.columns if c.name in guard)
        return self.builder.add(ops.Feedback(self.guard_name(copy, guard), Schema(columns)))

    def _ask(self, name: str, context: WantedRows, edge: Edge | None) -> int:
        """Return the feedback of a relation's copy for a demand; records the demand in the guards of the copy."""
        factors = {factor.names: factor for factor in context.factors}
        result = frozenset(factors)
        form = self._allowed(edge, name, result)
        copy = (name, form)
        self.copies.setdefault(copy)
        if edge:
            self.edges.setdefault(edge, []).append(result)
            self.read[edge] = copy
        schema = self._inner.circuit.type_of(self._inner.circuit.sinks[name]).schema
        for guard in in_order(form):
            columns = [c for c in schema.columns if c.name in guard]
            node = node_of(self.builder, factors[guard], columns)
            if edge is None and node == self._guard(copy, guard):
                if copy == self._head:
                    self._handed |= {guard}
                continue
            asked = self.guards.setdefault((copy, guard), _Asked())
            asked.factors[node] = None
            if edge:
                asked.seeds[node] = edge
        return self.builder.add(ops.Feedback(self.name(copy), schema))

    # Nodes, from the sinks down to the relations of the fixpoint

    def _input(self, place: WalkedCircuit, reader: int, position: int, context: WantedRows) -> int | None:
        """Return the new node of an input under a demand; None if it has no node in the body."""
        number = place.circuit.nodes[reader].inputs[position]
        operator, inputs = place.circuit.nodes[number].operator, place.circuit.nodes[number].inputs
        if place.is_outer and isinstance(operator, ops.BundleRelation) and inputs == (self._fixpoint,):
            return self._ask(operator.name, context.part(place.names(number)), (reader, position))
        return self._walk(place, number, context)

    def _walk(self, place: WalkedCircuit, number: int, context: WantedRows) -> int | None:
        if number not in place.below:
            return self._independent(place, number)
        key = (place.is_outer, number, context)
        if key not in self._memo:
            node, before = place.circuit.nodes[number], self._handed
            self._handed = frozenset()
            new = _STEPS.get(type(node.operator), Bodies._other)(self, place, number, node, context)
            self._memo[key] = new, self._handed
            self._handed = before
        new, handed = self._memo[key]
        self._handed |= handed
        return new

    def _independent(self, place: WalkedCircuit, number: int) -> int:
        """Return the new node of an old one that does not depend on the fixpoint; nodes around it are imported as
        sets.
        """
        key = (place.is_outer, number)
        if key not in self._plain:
            node = place.circuit.nodes[number]
            if place.is_outer:
                type_ = replace(place.circuit.type_of(number), is_set=True)
                operator = ops.Import(self._import(number), type_)
                self._plain[key] = self.builder.add(operator)
            elif isinstance(node.operator, ops.Import):
                source = self._outer.circuit.nodes[self._fixpoint].inputs[node.operator.index]
                operator = replace(node.operator, index=self._import(source))
                self._plain[key] = self.builder.add(operator)
            else:
                self._plain[key] = self.builder.add(node.operator, *(self._independent(place, i) for i in node.inputs))
        return self._plain[key]

    def _unit(self) -> int:
        """Return a node with one row without columns."""
        return self.builder.add(ops.Import(self._import(UNIT), _UNIT_TYPE))

    def _import(self, number: int) -> int:
        """Return the index of the import of an outer node."""
        if number not in self.imports:
            self.imports.append(number)
        return self.imports.index(number)

    def _add(self, operator: ops.Operator, *inputs: int | None) -> int | None:
        """Add a node to the body; None if one of its inputs has no node there."""
        there = [i for i in inputs if i is not None]
        return self.builder.add(operator, *there) if len(there) == len(inputs) else None

    def _same(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        return self._add(node.operator, *(self._input(place, number, i, context) for i in range(len(node.inputs))))

    def _plus(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        """A sum passes on the guards that all of its terms pass on."""
        terms, handed = [], []
        for position in range(len(node.inputs)):
            self._handed = frozenset()
            terms.append(self._input(place, number, position, context))
            handed.append(self._handed)
        self._handed = frozenset.intersection(*handed)
        return self._add(node.operator, *terms)

    def _feedback(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        assert isinstance(node.operator, ops.Feedback)
        return self._ask(node.operator.name, context.part(place.names(number)), None)

    def _map(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        operator = node.operator
        assert isinstance(operator, ops.Map)
        kept = copies(operator)
        sources = {
            c.name: e.name for c, e in zip(operator.columns, operator.expressions, strict=True) if c.name in kept
        }
        return self._add(operator, self._input(place, number, 0, context.renamed(sources)))

    def _filter(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        assert isinstance(node.operator, ops.Filter)
        schema = place.circuit.type_of(number).schema
        inner = context.where(node.operator.predicate, schema, self._unit(), self.builder)
        return self._add(node.operator, self._input(place, number, 0, inner))

    def _antijoin(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        left, right = node.inputs
        if right in place.below:
            if not place.is_outer:
                raise UnfitError
            new = self._input(place, number, 0, context)
            atoms = self._atoms(place, {left: new})
            self._input(place, number, 1, sideways(self.builder, context, atoms, place.names(right), True))
            return None
        given = self._independent(place, right)
        inner = context.without(given, place.names(right))
        return self._add(node.operator, self._input(place, number, 0, inner), given)

    def _join(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        """Pass demand to the inputs one after the other, first to those with the most restricted columns."""
        new: dict[int, int | None] = {
            position: self._independent(place, i) for position, i in enumerate(node.inputs) if i not in place.below
        }
        while waiting := [position for position in range(len(node.inputs)) if position not in new]:
            atoms = self._atoms(place, {node.inputs[p]: n for p, n in new.items()})
            asked = {
                p: sideways(self.builder, context, atoms, place.names(node.inputs[p]), place.is_outer) for p in waiting
            }
            first = max(waiting, key=lambda p: (sum(len(f.pairs) for f in asked[p].factors), -p))
            new[first] = self._input(place, number, first, asked[first])
        return self._add(node.operator, *(new[position] for position in range(len(node.inputs))))

    def _atoms(self, place: WalkedCircuit, nodes: dict[int, int | None]) -> list[FactorAtom]:
        """Return the nodes that may restrict others: those without negative weights."""
        return [
            FactorAtom(new, place.names(old))
            for old, new in nodes.items()
            if new is not None and is_positive(place.circuit, old)
        ]

    def _aggregate(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        if not place.is_outer:
            raise UnfitError
        assert isinstance(node.operator, ops.Aggregate)
        self._input(place, number, 0, context.part(node.operator.keys))
        return None

    def _negate(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        if not place.is_outer:
            raise UnfitError
        self._input(place, number, 0, context)
        return None

    def _other(self, place: WalkedCircuit, number: int, node: Node, context: WantedRows) -> int | None:
        if not place.is_outer:
            raise UnfitError
        for position in range(len(node.inputs)):
            self._input(place, number, position, WantedRows())
        return None


_Step = Callable[[Bodies, WalkedCircuit, int, Node, WantedRows], "int | None"]
_STEPS: dict[type[ops.Operator], _Step] = {
    ops.Feedback: Bodies._feedback,
    ops.Map: Bodies._map,
    ops.Filter: Bodies._filter,
    ops.Plus: Bodies._plus,
    ops.Distinct: Bodies._same,
    ops.Join: Bodies._join,
    ops.Semijoin: Bodies._join,
    ops.Antijoin: Bodies._antijoin,
    ops.Aggregate: Bodies._aggregate,
    ops.Negate: Bodies._negate,
}


def _grows(circuit: Circuit, number: int) -> bool:
    """Return whether a factor may have rows that are not projections of the guard that it comes from."""
    node = circuit.nodes[number]
    return not isinstance(node.operator, ops.Feedback | ops.Map) or any(_grows(circuit, i) for i in node.inputs)


def _reached(
    start: tuple[Copy, Guard], reads: dict[tuple[Copy, Guard], set[tuple[Copy, Guard]]]
) -> set[tuple[Copy, Guard]]:
    """Return the guards that grow when a guard grows, including itself."""
    reached = {start}
    while more := {key for key, read in reads.items() if read & reached} - reached:
        reached |= more
    return reached

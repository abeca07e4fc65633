"""The parts of a catalog's circuit that are planned apart, and the circuit in which planned parts replace calls.

A catalog's circuit has a call for each unit of definitions [`Catalog.composed`]. A plan changes a view with the views
that it reads, and with those that have a join in common with it. So other views keep their calls, or the circuits that
an earlier plan made for them, and a new definition is planned with what it reaches alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from deltic.calculus.passes import is_composed, optimize
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder

Forms = Mapping[str, Circuit]
"""The planned circuits of views by name, over tables; a view without one keeps its call."""


@lru_cache(maxsize=4)
def units_of(circuit: Circuit) -> Units:
    """The units of a composed circuit; cached, because a circuit is the new one first, and then the old one."""
    return Units(circuit)


class Units:
    """The calls of a composed circuit with the views of each, and which of them must be planned together."""

    def __init__(self, circuit: Circuit) -> None:
        optimized = optimize(circuit)
        self._nodes, self._having = optimized.nodes, defaultdict[int, list[int]](list)
        self.views: dict[int, list[str]] = {}
        """The views of each call, by its number."""
        for number, operator in enumerate(optimized.operators):
            if isinstance(operator, ops.Call):
                self.views[number] = []
                for join in _joins(operator.circuit):
                    self._having[join].append(number)
            elif isinstance(operator, ops.BundleRelation):
                self.views[self._nodes[number].inputs[0]].append(operator.name)

    def new(self, old: Units) -> list[int]:
        """Return the calls that the old circuit does not have."""
        known = {(node.operator, node.inputs): number for number, node in enumerate(old._nodes)}
        same = list[int]()
        for node in self._nodes:
            same.append(known.get((node.operator, tuple(same[i] for i in node.inputs)), -1))
        return [number for number in self.views if same[number] < 0]

    def around(self, start: Iterable[int]) -> list[int]:
        """These calls, those that they read, and those that have joins in common with any of them."""
        reached, pending = set[int](), list(start)
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                pending += self._near(number)
        return sorted(reached)

    def groups(self) -> list[list[int]]:
        """Return all calls, divided so that no call reads one of another group or has a join in common with it."""
        groups = {number: {number} for number in self.views}
        for number in self.views:
            for other in self._near(number):
                if (joined := groups[other]) is not groups[number]:
                    groups[number] |= joined
                    groups |= dict.fromkeys(joined, groups[number])
        return [sorted(group) for number, group in groups.items() if number == min(group)]

    def _near(self, number: int) -> Iterator[int]:
        """Yield the calls whose views a call reads, and those that have a join in common with it."""
        operator = self._nodes[number].operator
        assert isinstance(operator, ops.Call)
        for join in _joins(operator.circuit):
            yield from self._having[join]
        for source in self._nodes[number].inputs:
            while not isinstance(self._nodes[source].operator, ops.Call | ops.Source):
                (source,) = self._nodes[source].inputs
            if source in self.views:
                yield source


@lru_cache(maxsize=4096)
def _joins(circuit: Circuit) -> frozenset[int]:
    """A hash of each join in a circuit, with all that it is computed from."""
    hashes = list[int]()
    for node in circuit.nodes:
        hashes.append(hash((node.operator, tuple(hashes[i] for i in node.inputs))))
    return frozenset(hashes[i] for i, op in enumerate(circuit.operators) if isinstance(op, ops.Join | ops.Semijoin))


def with_forms(circuit: Circuit, forms: Forms) -> Circuit:
    """Return the composed circuit with the planned circuits of views in place of their calls."""
    if not forms:
        return circuit
    builder, numbers = CircuitBuilder(), list[int | None]()
    tables = {op.name: builder.add(op) for op in circuit.operators if isinstance(op, ops.Source)}
    read = circuit.components_read
    for number, node in enumerate(circuit.nodes):
        operator, inputs = node.operator, [n for i in node.inputs if (n := numbers[i]) is not None]
        if isinstance(operator, ops.BundleRelation | ops.Keep) and operator.name in forms:
            call = ops.Call(forms[operator.name])
            planned = builder.add(call, *(tables[port.name] for port in call.ports))
            numbers.append(builder.add(ops.BundleRelation(operator.name), planned))
        elif isinstance(operator, ops.Call) and read[number] <= forms.keys():
            numbers.append(None)
        else:
            numbers.append(builder.add(operator, *inputs))
    return builder.build()


def forms_of(circuit: Circuit, plan: Circuit) -> Forms:
    """Return the forms with which a plan was made of a composed circuit; a plan in one piece is the form of all
    views.
    """
    if plan is circuit:
        return {}
    if not is_composed(plan):
        return dict.fromkeys(plan.sinks, plan)
    own = {operator for operator in circuit.operators if isinstance(operator, ops.Call)}
    calls = {view: _call(plan, number) for view, number in plan.sinks.items()}
    return {view: call.circuit for view, call in calls.items() if call not in own}


def _call(circuit: Circuit, number: int) -> ops.Call:
    """Return the call that computes a node of a composed circuit."""
    while not isinstance(operator := circuit.nodes[number].operator, ops.Call):
        (number,) = circuit.nodes[number].inputs
    return operator


def kept_names(forms: Iterable[Circuit]) -> set[str]:
    """Return the names of the relations that planned circuits keep."""
    return {op.name for circuit in set(forms) for op in circuit.operators if isinstance(op, ops.Keep)}

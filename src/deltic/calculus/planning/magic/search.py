"""The search for the demand on a fixpoint, from the most restrictive demand to one that holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from deltic.calculus.passes import optimize
from deltic.calculus.planning.magic.assembly import Assembly
from deltic.calculus.planning.magic.bodies import Bodies, UnfitError
from deltic.calculus.planning.magic.forms import WHOLE, Edge, Form
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node

MOST_COPIES = 4
"""The most copies of a relation; a relation with more forms of demand is computed whole."""


@dataclass(frozen=True)
class DemandHints:
    """The relations that are always derived on demand, and those that are always derived in full."""

    always: Collection[str] = ()
    never: Collection[str] = ()

    def within(self, circuit: Circuit) -> DemandHints:
        """Return the hints about relations of a circuit's own recursions."""
        bodies = (op.body for op in circuit.operators if isinstance(op, ops.Fixpoint))
        names = frozenset(name for body in bodies for name in body.sinks)
        return DemandHints(names.intersection(self.always), names.intersection(self.never))


@dataclass(frozen=True)
class PushedDemand:
    """A recursive relation that is derived on demand, and the columns of the demand."""

    relation: str
    columns: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        asked = " and ".join(f"({', '.join(names)})" for names in self.columns)
        return f"{self.relation}: only rows with demanded {asked}"


def push_demand(circuit: Circuit, hints: DemandHints = DemandHints()) -> tuple[Circuit, tuple[PushedDemand, ...]]:
    """Return the circuit with the same sinks whose recursions derive only demanded rows, and those recursions.

    Called circuits are rewritten, too, with demand on all their sinks. If nothing is demanded in part, the circuit
    itself.
    """
    made = {op: _pushed(op.circuit, hints.within(op.circuit)) for op in circuit.operators if isinstance(op, ops.Call)}
    if any(pushed for _, pushed in made.values()):
        circuit = circuit.with_operators(lambda _, op: ops.Call(made[op][0]) if isinstance(op, ops.Call) else op)
    if not any(isinstance(op, ops.Fixpoint) for op in circuit.operators):
        return circuit, tuple(each for _, pushed in made.values() for each in pushed)
    own, result = _pushed(circuit, hints.within(circuit))
    return own, (*(each for _, pushed in made.values() for each in pushed), *result)


@lru_cache(maxsize=4096)
def _pushed(circuit: Circuit, hints: DemandHints) -> tuple[Circuit, tuple[PushedDemand, ...]]:
    """As `push_demand`, of a circuit with a recursion, without the called circuits."""
    result: list[PushedDemand] = []
    given, circuit = circuit, optimize(circuit) if any(_hidden(circuit)) else circuit
    refused = Counter[ops.Operator]()
    for fixpoint in [op for op in circuit.operators if isinstance(op, ops.Fixpoint) and op.body.are_sets]:
        equal = [number for number, op in enumerate(circuit.operators) if op == fixpoint]
        search = _Search(circuit, equal[refused[fixpoint]], hints)
        if search.finds():
            circuit = search.circuit()
            result += search.pushed()
        else:
            refused[fixpoint] += 1
    return (optimize(circuit), tuple(result)) if result else (given, ())


def _hidden(circuit: Circuit) -> Iterator[Node]:
    """Yield the recursive relations that are read by other nodes than sinks."""
    shown = {n.inputs[0] for n in circuit.nodes if isinstance(n.operator, ops.Sink)}
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.BundleRelation) and number not in shown:
            yield node


class _Search:
    """The forms of demand on one fixpoint's relations, from the most restrictive to those that hold."""

    def __init__(self, circuit: Circuit, fixpoint: int, hints: DemandHints) -> None:
        operator = circuit.nodes[fixpoint].operator
        assert isinstance(operator, ops.Fixpoint)
        self._old, self._fixpoint, self._hints = circuit, fixpoint, hints
        self._limits: dict[Edge, Form] = {}
        self._whole = {name for name in operator.body.sinks if name in hints.never}

    def finds(self) -> bool:
        """Return whether some relation is demanded in part."""
        if all(self._is_sink(name) for name in self._read()):
            return False
        try:
            while not self._attempt():
                pass
        except UnfitError:
            return False
        return any(form for _, form in self._bodies.copies)

    def _read(self) -> Iterator[str]:
        """Yield the relations of the fixpoint that are read outside of it."""
        for node in self._old.nodes:
            if isinstance(node.operator, ops.BundleRelation) and node.inputs == (self._fixpoint,):
                yield node.operator.name

    def _is_sink(self, name: str) -> bool:
        """Return whether a sink needs the whole relation."""
        nodes = self._old.nodes
        sources = [nodes[n.inputs[0]] for n in nodes if isinstance(n.operator, ops.Sink)]
        return any(n.operator == ops.BundleRelation(name) and n.inputs == (self._fixpoint,) for n in sources)

    def _attempt(self) -> bool:
        """Build the body; False if that shows that the demand must be less restrictive."""
        self._bodies = bodies = Bodies(self._old, self._fixpoint, self.allowed)
        bodies.make()
        before = dict(self._limits), set(self._whole)
        for edge, forms in bodies.edges.items():
            self._limits[edge] = frozenset.intersection(self._limits.get(edge, forms[0]), *forms)
        names = [name for name, _ in bodies.copies]
        self._whole |= {name for name, form in bodies.copies if form == WHOLE or names.count(name) > MOST_COPIES}
        for edge, guard in bodies.dear(self._hints.always):
            self._limits[edge] -= {guard}
        return before == (self._limits, self._whole)

    def allowed(self, edge: Edge | None, name: str, form: Form) -> Form:
        """Return the form in which a relation is demanded, given the form that would be possible."""
        if name in self._whole:
            return WHOLE
        return form & self._limits.get(edge, form) if edge else form

    def circuit(self) -> Circuit:
        """Return the circuit with the fixpoint restricted to demanded rows."""
        return Assembly(self._old, self._fixpoint, self._bodies).circuit()

    def pushed(self) -> Iterator[PushedDemand]:
        """Yield the relations that are derived on demand."""
        for name, form in self._bodies.copies:
            if form:
                yield PushedDemand(name, tuple(sorted(tuple(sorted(guard)) for guard in form)))

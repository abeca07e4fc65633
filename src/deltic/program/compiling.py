"""Compiling a circuit to the program that maintains it; common parts of several circuits are compiled once.

Linking puts the relations that tables and views reach in dependency order. The order and the names depend only on the
definitions and on the order of tables and views, not on the order in which relations were created. So a program does
not depend on what was compiled before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import deltic.program.operators  # noqa: F401  enters all operators into the tables of `scope`
from deltic.calculus.incrementalize import fallbacks, incrementalize, refuse_fallbacks
from deltic.calculus.passes import optimize
from deltic.calculus.push import Derivatives
from deltic.calculus.surround import surrounded
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.circuit.inlining import inline
from deltic.depth import deep
from deltic.errors import UnsupportedError
from deltic.program.definitions import Table
from deltic.program.histories import Nested
from deltic.program.naming import NamingFacts, named
from deltic.program.program import Program, Stratum
from deltic.program.scope import DraftRelation, ProgramBuilder, Scope
from deltic.program.unsupported import needs_fallback


@dataclass
class LinkedProgram:
    """The parts of a program: the numbers of relations of its tables and views, and those with a wanted name.

    `remembering` lists relations that are included for their state of past epochs, whether read or not.
    """

    tables: dict[str, str] = field(default_factory=dict)
    sinks: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, str] = field(default_factory=dict)
    remembering: list[str] = field(default_factory=list)

    def enter(self, operator: ops.Source | ops.Sink | ops.Keep, relation: str) -> None:
        """Enter the relation of a table, of a view, or of a node that is kept."""
        match operator:
            case ops.Source(name=name):
                self.tables[name] = relation
            case ops.Sink(name=name):
                self.sinks[name] = relation
            case ops.Keep(name=name):
                self.wanted.setdefault(relation, name)


def link(drafts: ProgramBuilder, linked: LinkedProgram, known: NamingFacts) -> Program:
    """Build the program of the tables and views."""
    strata = _reached(drafts, [*linked.tables.values(), *linked.sinks.values(), *linked.remembering], known)
    wanted = {number: name for name, number in sorted(linked.sinks.items(), reverse=True)}
    for number, name in linked.wanted.items():
        wanted.setdefault(number, name)
    numbers = [number for stratum in strata for number in stratum.relations]
    relations = {number: _wanting(drafts.relations[number], wanted.get(number, ""), linked.sinks) for number in numbers}
    rules = {number: drafts.rules[number] for number in numbers if number in drafts.rules}
    return named(ProgramBuilder(relations, rules=rules), strata, linked.tables, linked.sinks, known)


def _wanting(draft: DraftRelation, wanted: str, sinks: Mapping[str, str]) -> DraftRelation:
    """Return the draft with its wanted name: its own, or that of a view; a table of a view's name is renamed."""
    if isinstance(draft.definition, Table):
        return replace(draft, wanted=f"{draft.wanted}.in") if draft.wanted in sinks else draft
    return replace(draft, wanted=wanted) if wanted and not draft.wanted else draft


def _reached(drafts: ProgramBuilder, roots: Sequence[str], known: NamingFacts) -> list[Stratum]:
    """Return the strata that the roots are computed from, each after those that it reads."""
    result = dict[int, Stratum]()
    seen = set[int]()
    pending: list[tuple[Stratum, Iterator[str]]] = []

    def enter(number: str) -> None:
        stratum = drafts.strata[number]
        if id(stratum) not in seen:
            seen.add(id(stratum))
            pending.append((stratum, (read for own in stratum.relations for read in known.reads(drafts, own))))

    for root in roots:
        enter(root)
        while pending:
            stratum, reads = pending[-1]
            if (read := next(reads, None)) is not None:
                enter(read)
            else:
                result[id(stratum)] = stratum
                pending.pop()
    return list(result.values())


_SPARE = 2048
"""The least number of cached relations, beyond twice those of the program, at which the caches are cleared."""


class Compiler:
    """Compiles circuits, one after the other, and reuses common nodes.

    Equal nodes over equal inputs are one node in all circuits. Its change [DBSP Alg. 6.13], the relation of that
    change, its rules and its fingerprint depend only on the node and its inputs, so they are computed once. A program
    consists of what the tables and sinks of its circuit reach: it is the same as if its circuit was the first to be
    compiled.

    `by_iteration`: the circuit is not optimized, and its recursions keep a history of the iterations of each row.
    """

    def __init__(self, by_iteration: bool = False) -> None:
        self.by_iteration = by_iteration
        self._begin()

    def _begin(self) -> None:
        self._surrounded = CircuitBuilder()
        self._derivatives = Derivatives(self._surrounded)
        self._scope = Scope(ProgramBuilder(by_iteration=self.by_iteration), self._derivatives.builder)
        self._known = NamingFacts()
        self._calls: dict[tuple[ops.Call, tuple[int, ...]], tuple[dict[str, int], list[tuple[ops.Keep, int]]]] = {}
        self._kept: list[tuple[ops.Keep, int]] = []
        self._remembers = False

    @deep
    def program(self, circuit: Circuit, *, strict: bool = False) -> Program:
        """Compile a circuit to the program that maintains it.

        Raises UnsupportedError, also for each operator without derivative if `strict`.
        """
        if strict:
            refuse_fallbacks(circuit)
        optimized = circuit if self.by_iteration else optimize(circuit)
        try:
            program = extract(incrementalize(circuit)) if _has_cycles(optimized) else self._program(optimized)
        except UnsupportedError:
            for number, operator in fallbacks(inline(optimized)):
                raise needs_fallback(number, operator) from None
            extract(incrementalize(circuit))  # raises an error with the nodes' numbers in this circuit
            raise
        if strict:
            _refuse_nested(program)
        if len(self._scope.drafts.relations) > 2 * len(program.relations) + _SPARE:
            self._begin()
        return program

    def _program(self, circuit: Circuit) -> Program:
        """Compile an optimized circuit without back-edges."""
        linked, places = LinkedProgram(), list[int | dict[str, int]]()
        self._kept = []
        for node in circuit.nodes:
            places.append(self._place(node, [places[i] for i in node.inputs]))
            place = places[-1]
            if isinstance(place, int) and isinstance(node.operator, ops.Source | ops.Sink):
                linked.enter(node.operator, self._relation(place))
        for operator, place in self._kept:
            linked.enter(operator, self._relation(place))
        sinks = [place for place in map(places.__getitem__, circuit.sinks.values()) if isinstance(place, int)]
        linked.remembering += self._remembering(sinks)
        return link(self._scope.drafts, linked, self._known)

    def _place(self, node: Node, inputs: Sequence[int | dict[str, int]]) -> int | dict[str, int]:
        """Return the node of the compiler for a node over these inputs: for a sink its input, for a call its result."""
        if isinstance(node.operator, ops.BundleRelation) and isinstance(inputs[0], dict):
            return inputs[0][node.operator.name]
        numbers = [place for place in inputs if isinstance(place, int)]
        if isinstance(node.operator, ops.Sink):
            return numbers[0]
        if isinstance(node.operator, ops.Call):
            key = node.operator, tuple(numbers)
            if key not in self._calls:
                self._calls[key] = self._called(*key)
            sinks, kept = self._calls[key]
            self._kept += kept
            return sinks
        self._remembers = self._remembers or isinstance(node.operator, ops.Window | ops.Clocked)
        place = surrounded(self._surrounded, node, numbers)
        if isinstance(node.operator, ops.Keep):
            self._kept.append((node.operator, place))
        return place

    def _called(self, call: ops.Call, inputs: Sequence[int]) -> tuple[dict[str, int], list[tuple[ops.Keep, int]]]:
        """Return the nodes of the compiler for the sinks of a called circuit, and for its relations that are kept."""
        before, self._kept = self._kept, []
        given, places = call.named(inputs), list[int | dict[str, int]]()
        for node in call.circuit.nodes:
            if isinstance(node.operator, ops.Source):
                places.append(given[node.operator.name])
            else:
                places.append(self._place(node, [places[i] for i in node.inputs]))
        kept, self._kept = self._kept, before
        return {name: place for name, i in call.circuit.sinks.items() if isinstance(place := places[i], int)}, kept

    def _remembering(self, places: Sequence[int]) -> Iterator[str]:
        """Yield the relations with state of past epochs below the given nodes, whether rules read them or not.

        This depends only on the nodes of a circuit, not on rules: a view that is defined later over such a node
        continues from its state.
        """
        relations = self._scope.drafts.relations
        changes = [self._derivatives.delta(place) for place in places] if self._remembers else []
        circuit = Circuit(tuple(self._derivatives.builder.nodes))
        for number in sorted(circuit.ancestors(changes)):
            if _remembers(circuit, circuit.nodes[number]):
                read = (atom.relation for body in self._scope.bodies(number) for atom in body.atoms)
                yield from (name for name in read if relations[name].definition.remembers)

    def _relation(self, number: int) -> str:
        """Return the relation of the change of a node."""
        return self._scope.relation(self._derivatives.delta(number))


def extract(circuit: Circuit) -> Program:
    """Return the program of an incremental circuit; UnsupportedError where programs cannot express an operator."""
    scope, linked = Scope(ProgramBuilder(), circuit), LinkedProgram()
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source | ops.Sink | ops.Keep):
            carried = node.inputs[0] if isinstance(node.operator, ops.Sink) else number
            linked.enter(node.operator, scope.relation(carried))
    return link(scope.drafts, linked, NamingFacts())


def _remembers(circuit: Circuit, node: Node) -> bool:
    """Return whether a node of an incremental circuit has state of past epochs beyond the previous value of its
    input.
    """
    if isinstance(node.operator, ops.Delay | ops.Differentiate):
        return not isinstance(circuit.nodes[node.inputs[0]].operator, ops.Integrate)
    return isinstance(node.operator, ops.WindowDelta)


def _has_cycles(circuit: Circuit) -> bool:
    """Return whether the circuit or a circuit that it calls has back-edges."""
    calls = (operator for operator in circuit.operators if isinstance(operator, ops.Call))
    return bool(circuit.closes) or any(_has_cycles(call.circuit) for call in calls)


def program_of(circuit: Circuit) -> Program:
    """Compile a circuit to the program that maintains it; raises UnsupportedError as `Compiler.program` does."""
    return Compiler().program(circuit)


def _refuse_nested(program: Program) -> None:
    """Raise UnsupportedError for a fixpoint inside another."""
    for name, relation in program.relations.items():
        if isinstance(relation.definition, Nested):
            view, *_ = [*program.views_over(name), name]
            raise UnsupportedError(
                f"{view}: the recursion {relation.definition.component} is inside another, and runs again at each "
                "iteration that changes its input; write both as one recursion, or leave `strict` out"
            )

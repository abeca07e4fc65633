"""Lowering the nodes of an incremental circuit to the relations and rules of a program.

Every node of an incremental circuit carries a change. Products distribute over sums, so a change is a sum of changes
of conjunctions over relations: `Scope.bodies` returns these conjunctions. A change that is no such sum is the change
of a relation: `Scope.relation` makes it. Each operator registers one of the two ways in a table here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.program.definitions import Definition, Derived, FixedRows
from deltic.program.program import Stratum
from deltic.program.queries import Atom, Body, Rule, When
from deltic.program.unsupported import refusal
from deltic.values.types import Schema

# Returns the conjunctions whose changes sum up to the value of a node.
Bodies = Callable[["Scope", Any, Node], list[Body]]
# Makes the relation whose change a node carries, from the node, its number and the wanted name.
Maker = Callable[["Scope", Any, Node, int, str], str]

MOST = 8
"""The most conjunctions to which sums are multiplied out; a larger sum becomes a relation."""

LONGEST = 16
"""The most atoms to which nested joins are flattened; beyond that the inputs become relations."""

HIGHEST = 16
"""The most chained maps and filters in one conjunction; without a limit, the conditions of a chain of n have size
n²/2."""

BODIES: dict[type[ops.Operator], Bodies] = {}
RELATIONS: dict[type[ops.Operator], Maker] = {}


def bodies_of(operator: type[ops.Operator]) -> Callable[[Bodies], Bodies]:
    """Register the function that lowers an operator to conjunctions."""
    return lambda lower: BODIES.setdefault(operator, lower)


def relation_of(operator: type[ops.Operator]) -> Callable[[Maker], Maker]:
    """Register the function that lowers an operator to a relation."""
    return lambda lower: RELATIONS.setdefault(operator, lower)


@dataclass(frozen=True)
class DraftRelation:
    """A relation before it is named: the name that it wants, or its role for the relation that it is passed to."""

    wanted: str
    schema: Schema
    definition: Definition
    role: str = ""


@dataclass
class ProgramBuilder:
    """A program under construction, whose relations have numbers for names; `rules` are those of each relation.

    `strata` maps each relation to its stratum; `variables` yields unused variables of the rules under construction.
    """

    relations: dict[str, DraftRelation] = field(default_factory=dict)
    strata: dict[str, Stratum] = field(default_factory=dict)
    rules: dict[str, list[Rule]] = field(default_factory=dict)
    variables: Iterator[int] = field(default_factory=itertools.count)
    by_iteration: bool = False
    """Whether all recursions keep histories, in which rows appear at the iterations of the circuit's own bodies."""
    first: str = ""
    """The relation of one row without columns that is inserted in the first epoch; "" until it is needed."""

    def place(self, stratum: Stratum) -> None:
        """Add a stratum of declared relations."""
        self.strata |= dict.fromkeys(stratum.relations, stratum)

    def declare(self, draft: DraftRelation) -> str:
        """Add a relation; returns a placeholder for its name."""
        name = f"#{len(self.relations)}"
        self.relations[name] = draft
        return name

    def beginning(self) -> str:
        """Return the relation `first`, created on first use."""
        if not self.first:
            self.first = self.declare(DraftRelation("", Schema(()), FixedRows(((),))))
            self.place(Stratum((self.first,), recursive=False))
        return self.first


class Scope:
    """Lowers one circuit: the whole one, or the derivative of a fixpoint's body inside it.

    `component` collects the relations of the recursion that contains the circuit. The relation of a node depends only
    on the node and its inputs; so the circuit may still grow, and relations get their names later.
    """

    def __init__(
        self,
        drafts: ProgramBuilder,
        circuit: Circuit | CircuitBuilder,
        imports: Sequence[str] = (),
        component: list[str] | None = None,
    ) -> None:
        self.drafts, self.circuit, self.imports, self.component = drafts, circuit, imports, component
        self.made: dict[int, str] = {}
        self.whole: dict[int, str] = {}
        self.feedback: dict[str, str] = {}
        self.bundles: dict[int, dict[str, str]] = {}
        self.delayed: dict[int, str] = {}
        self.joins: dict[int, list[Body]] = {}
        self.heights: dict[int, int] = {}
        """The number of chained maps and filters that end at a node."""
        own = circuit.sinks.items() if isinstance(circuit, Circuit) and component is not None else ()
        self.wanted = {number: name for name, number in sorted(own, reverse=True)}
        """The names that nodes want for their relations."""

    def bodies(self, number: int) -> list[Body]:
        """Return the conjunctions whose changes sum up to the value of node `number`."""
        if number in self.whole:
            return [self.atom(self.whole[number], number)]
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.JoinDelta) and not self.whole:
            return self._remembered(number, node)
        if lower := BODIES.get(type(node.operator)):
            return lower(self, node.operator, node)
        if type(node.operator) not in RELATIONS:
            raise refusal(number, node.operator)
        return [self.atom(self.relation(number), number)]

    def _remembered(self, number: int, node: Node) -> list[Body]:
        """Return the conjunctions of a join, lowered once: n joins, each of the previous one with itself, would take 2ⁿ
        steps.

        Each further use gets fresh variables.
        """
        if (result := self.joins.get(number)) is None:
            result = self.joins[number] = BODIES[type(node.operator)](self, node.operator, node)
            return result
        return [body.renamed({variable: next(self.drafts.variables) for variable in body.types}) for body in result]

    def below(self, number: int) -> list[Body]:
        """Return the conjunctions of the input of a map or filter; a relation where too many maps and filters are
        chained.
        """
        return (self._alone(number) if self._height(number) == HIGHEST else None) or self.bodies(number)

    def _height(self, number: int) -> int:
        """Return the number of chained maps and filters that end at this node; the count restarts after the limit."""
        path = list[int]()
        while number not in self.heights and isinstance(self.circuit.nodes[number].operator, ops.Map | ops.Filter):
            path.append(number)
            (number,) = self.circuit.nodes[number].inputs
        height = self.heights.get(number, 0)
        for above in reversed(path):
            height = self.heights[above] = height % HIGHEST + 1
        return height

    def factors(self, number: int) -> list[Body]:
        """Return the conjunctions of an input of a join or antijoin; a relation where they are too many."""
        result = self.bodies(number)
        return (self.kept(number) if len(result) > MOST else None) or result

    def kept(self, number: int) -> list[Body] | None:
        """Return the atom of the relation of a sum.

        None in a recursion, and for a join, because conditions may be pushed into it.
        """
        return self._alone(number) if self._is_sum(number) else None

    def _alone(self, number: int) -> list[Body] | None:
        """Return the atom of the relation of a node; None in a recursion."""
        if self.component is not None and self.is_recursive(number):
            return None
        return [self.atom(self.relation(number), number)]

    def joined(self, number: int) -> list[Body] | None:
        """Return the conjunctions of a node with the join below its maps and filters as a relation; None in a
        recursion.
        """
        if self.component is not None and self.is_recursive(number):
            return None
        inner = number
        while isinstance(self.circuit.nodes[inner].operator, ops.Map | ops.Filter):
            (inner,) = self.circuit.nodes[inner].inputs
        self.whole[inner] = self.relation(inner)
        try:
            return self.bodies(number)
        finally:
            del self.whole[inner]

    def _is_sum(self, number: int) -> bool:
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.Map | ops.Filter):
            return self._is_sum(*node.inputs)
        return isinstance(node.operator, ops.Plus)

    def relation(self, number: int) -> str:
        """Return the relation whose change node `number` carries, created on first use; by default a sum of
        conjunctions.
        """
        if number not in self.made:
            outside, self.drafts.variables = self.drafts.variables, itertools.count()
            try:
                self.made[number] = self._lowered(number, self.wanted.get(number, ""))
            finally:
                self.drafts.variables = outside
        return self.made[number]

    def _lowered(self, number: int, wanted: str) -> str:
        node = self.circuit.nodes[number]
        if make := RELATIONS.get(type(node.operator)):
            return make(self, node.operator, node, number, wanted)
        return self.derived(number, wanted, distinct=False)

    def atom(self, relation: str, number: int) -> Body:
        """Return the conjunction of one atom of a relation, whose columns are those of node `number`."""
        schema = self.circuit.type_of(number).schema
        variables = [next(self.drafts.variables) for _ in schema]
        return Body(
            atoms=(Atom(relation, When.OLD, tuple(variables)),),
            out=dict(zip(schema.names, variables, strict=True)),
            types=dict(zip(variables, (c.value_type for c in schema), strict=True)),
        )

    def declare(self, wanted: str, number: int, definition: Definition) -> str:
        """Return a new relation with the columns of node `number`."""
        return self.drafts.declare(DraftRelation(wanted, self.circuit.type_of(number).schema, definition))

    def place(self, name: str) -> None:
        """Put the relation into a stratum after all earlier ones."""
        self.drafts.place(Stratum((name,), recursive=False))

    def derived(self, number: int, wanted: str, *, distinct: bool) -> str:
        """Return a relation that node `number` is the change of, or of whose derivations, if `distinct`.

        In the body of a fixpoint, a node that depends on no feedback is constant over the iterations: it is a relation
        of a lower stratum, complete before the recursion starts, and so may be negated in it.
        """
        bodies = self.bodies(number)
        name = self.declare(wanted, number, Derived(distinct))
        self.enter(name, number, bodies)
        if self.component is not None and self.is_recursive(number):
            self.component.append(name)
        else:
            self.place(name)
        return name

    def passed(self, role: str, number: int, columns: Sequence[str] = ()) -> str:
        """Return a relation of some or all columns of a change, which is passed to the relation that is defined
        next.
        """
        schema, bodies = self.circuit.type_of(number).schema, self.bodies(number)
        chosen = schema.part(columns or schema.names)
        name = self.drafts.declare(DraftRelation("", chosen, Derived(distinct=False), role))
        self.enter(name, number, bodies, chosen.names)
        self.place(name)
        return name

    def defined(self, wanted: str, number: int, definition: Definition) -> str:
        """Return a relation with the columns of node `number` and a definition of its own."""
        name = self.declare(wanted, number, definition)
        self.place(name)
        return name

    def enter(self, name: str, number: int, bodies: list[Body], columns: Sequence[str] = ()) -> None:
        """Add the rules that derive a relation from `bodies`, which sum up to node `number` or some of its columns."""
        for body in bodies:
            terms = tuple(body.out[n] for n in columns or self.circuit.type_of(number).schema.names)
            named = replace(body, names={**self._column_names(body), **body.names})
            self.drafts.rules.setdefault(name, []).append(Rule(name, terms, named))

    def _column_names(self, body: Body) -> dict[int, str]:
        """Return the names of columns for the variables of atoms."""
        schemas = {atom: self.drafts.relations[atom.relation].schema for atom in body.atoms}
        columns = [(t, c.name) for a in body.atoms for t, c in zip(a.terms, schemas[a], strict=True)]
        return {term: name for term, name in columns if isinstance(term, int)}

    def is_recursive(self, number: int) -> bool:
        """Return whether the node depends on a relation of the fixpoint."""
        assert isinstance(self.circuit, Circuit)
        return any(isinstance(self.circuit.nodes[n].operator, ops.Feedback) for n in self.circuit.ancestors([number]))

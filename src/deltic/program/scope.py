"""Lowering: from the nodes of an incremental circuit to the relations and rules of a program.

Every node of an incremental circuit carries a change. Sums distribute over products, so each change is a sum of changes
of conjunctions over relations: `Scope.bodies` finds the conjunctions. What is no such sum is a relation itself:
`Scope.relation` makes it. Each operator enters one of the two ways in which it is lowered into a table here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.program.definitions import Definition, Derived, FixedRows
from deltic.program.program import Stratum
from deltic.program.queries import Atom, Body, Rule, When
from deltic.program.unsupported import refusal
from deltic.values.types import Schema

# The conjunctions whose changes sum up to the value of a node.
Bodies = Callable[["Scope", Any, Node], list[Body]]
# The relation whose change a node carries, with the number of the node and the name that is wanted for it.
Maker = Callable[["Scope", Any, Node, int, str], str]
Entered = TypeVar("Entered", Bodies, Maker)

MOST = 8
"""Conjunctions to which sums are multiplied out: beyond that a sum is a relation of its own."""

LONGEST = 16
"""Atoms to which joins of joins are one conjunction: beyond that what is joined is a relation of its own."""

HIGHEST = 16
"""Maps and filters, one over the other, to which conditions are one conjunction: a chain of n would have n²/2."""

BODIES: dict[type[ops.Operator], Bodies] = {}
RELATIONS: dict[type[ops.Operator], Maker] = {}


def bodies_of(operator: type[ops.Operator]) -> Callable[[Bodies], Bodies]:
    """Enter how an operator becomes conjunctions."""
    return lambda lower: BODIES.setdefault(operator, lower)


def relation_of(operator: type[ops.Operator]) -> Callable[[Maker], Maker]:
    """Enter how an operator becomes a relation."""
    return lambda lower: RELATIONS.setdefault(operator, lower)


@dataclass(frozen=True)
class DraftRelation:
    """A relation without its name: what it would like to be called, or its role for the one that it is passed on to."""

    wanted: str
    schema: Schema
    definition: Definition
    role: str = ""


@dataclass
class ProgramBuilder:
    """Programs in the making, whose relations have numbers for names; `rules` are those of each relation.

    `strata` has that of each relation, and `variables` are those that are free in the rules of the present one.
    """

    relations: dict[str, DraftRelation] = field(default_factory=dict)
    strata: dict[str, Stratum] = field(default_factory=dict)
    rules: dict[str, list[Rule]] = field(default_factory=dict)
    variables: Iterator[int] = field(default_factory=itertools.count)
    by_iteration: bool = False
    """Whether all recursions have histories, in which rows appear at the iterations of the circuit's own bodies."""
    first: str = ""
    """The relation of one row of no columns that comes in the first epoch, where somebody waits for it."""

    def place(self, stratum: Stratum) -> None:
        """Add a stratum of relations that were declared."""
        self.strata |= dict.fromkeys(stratum.relations, stratum)

    def declare(self, draft: DraftRelation) -> str:
        """Add a relation; the result is a placeholder for its name."""
        name = f"#{len(self.relations)}"
        self.relations[name] = draft
        return name

    def beginning(self) -> str:
        """The relation `first`, made where it is not there."""
        if not self.first:
            self.first = self.declare(DraftRelation("", Schema(()), FixedRows(((),))))
            self.place(Stratum((self.first,), recursive=False))
        return self.first


class Scope:
    """Lowering of one circuit: the whole one, or the derivative of a fixpoint's body inside it.

    `component` collects the relations of the recursion in which the circuit stands. What is made of a node of the whole
    depends on it, and what it reads, alone: its circuit may be in the making, and views give names in the end.
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
        """How many maps and filters stand one over the other below and at a node that is one."""
        own = circuit.sinks.items() if isinstance(circuit, Circuit) and component is not None else ()
        self.wanted = {number: name for name, number in sorted(own, reverse=True)}
        """The names that nodes want for their relations."""

    def bodies(self, number: int) -> list[Body]:
        """The conjunctions whose changes sum up to the value of node `number`."""
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
        """The conjunctions of a join: n joins, each of the one before with itself, are lowered once each, not 2ⁿ times.

        Each use has variables of its own.
        """
        if (result := self.joins.get(number)) is None:
            result = self.joins[number] = BODIES[type(node.operator)](self, node.operator, node)
            return result
        return [body.renamed({variable: next(self.drafts.variables) for variable in body.types}) for body in result]

    def below(self, number: int) -> list[Body]:
        """The conjunctions of what a map or a filter reads; where too many stand below it, a relation of its own."""
        return (self._alone(number) if self._height(number) == HIGHEST else None) or self.bodies(number)

    def _height(self, number: int) -> int:
        """How many maps and filters are one conjunction at this node: beyond the highest they are counted again."""
        path = list[int]()
        while number not in self.heights and isinstance(self.circuit.nodes[number].operator, ops.Map | ops.Filter):
            path.append(number)
            (number,) = self.circuit.nodes[number].inputs
        height = self.heights.get(number, 0)
        for above in reversed(path):
            height = self.heights[above] = height % HIGHEST + 1
        return height

    def factors(self, number: int) -> list[Body]:
        """The conjunctions of what a join or an antijoin reads; where they are too many, a relation of its own."""
        result = self.bodies(number)
        return (self.kept(number) if len(result) > MOST else None) or result

    def kept(self, number: int) -> list[Body] | None:
        """The relation of a sum, alone; None in a recursion, and for a join, whose conditions may stand above it."""
        return self._alone(number) if self._is_sum(number) else None

    def _alone(self, number: int) -> list[Body] | None:
        """The relation of a node; None in a recursion."""
        if self.component is not None and self.is_recursive(number):
            return None
        return [self.atom(self.relation(number), number)]

    def joined(self, number: int) -> list[Body] | None:
        """The conjunctions of a join, maybe under maps and filters, as a relation; None in a recursion."""
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
        """The relation whose change node `number` carries, made when it is new; a sum where it is no other."""
        if number not in self.made:
            outside, self.drafts.variables = self.drafts.variables, itertools.count()
            try:
                self.made[number] = self._made(number, self.wanted.get(number, ""))
            finally:
                self.drafts.variables = outside
        return self.made[number]

    def _made(self, number: int, wanted: str) -> str:
        node = self.circuit.nodes[number]
        if make := RELATIONS.get(type(node.operator)):
            return make(self, node.operator, node, number, wanted)
        return self.derived(number, wanted, distinct=False)

    def atom(self, relation: str, number: int) -> Body:
        """The conjunction of one relation alone, whose columns are those of node `number`."""
        schema = self.circuit.type_of(number).schema
        variables = [next(self.drafts.variables) for _ in schema]
        return Body(
            atoms=(Atom(relation, When.OLD, tuple(variables)),),
            out=dict(zip(schema.names, variables, strict=True)),
            types=dict(zip(variables, (c.value_type for c in schema), strict=True)),
        )

    def declare(self, wanted: str, number: int, definition: Definition) -> str:
        """A new relation with the columns of node `number`."""
        return self.drafts.declare(DraftRelation(wanted, self.circuit.type_of(number).schema, definition))

    def place(self, name: str) -> None:
        """Order the relation after all that were placed before it."""
        self.drafts.place(Stratum((name,), recursive=False))

    def derived(self, number: int, wanted: str, *, distinct: bool) -> str:
        """A relation whose rows' derivations change by node `number`.

        In the body of a fixpoint, what depends on no feedback is the same at every iteration: it is a relation of a
        lower stratum, complete before the recursion starts, and so may be negated in it.
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
        """A relation of some or all columns of a change, which is passed on to the next relation that is defined."""
        schema = self.circuit.type_of(number).schema
        columns = columns or schema.names
        chosen = Schema(tuple(schema.columns[schema.index(c)] for c in columns))
        bodies = self.bodies(number)
        name = self.drafts.declare(DraftRelation("", chosen, Derived(distinct=False), role))
        self.enter(name, number, bodies, columns)
        self.place(name)
        return name

    def defined(self, wanted: str, number: int, definition: Definition) -> str:
        """A relation with the columns of node `number` and a definition of its own."""
        name = self.declare(wanted, number, definition)
        self.place(name)
        return name

    def enter(self, name: str, number: int, bodies: list[Body], columns: Sequence[str] = ()) -> None:
        """The rules that derive a relation from `bodies`, whose changes sum up to node `number`, or some columns."""
        for body in bodies:
            terms = tuple(body.out[n] for n in columns or self.circuit.type_of(number).schema.names)
            named = replace(body, names={**self._column_names(body), **body.names})
            self.drafts.rules.setdefault(name, []).append(Rule(name, terms, named))

    def _column_names(self, body: Body) -> dict[int, str]:
        """The columns' names for the variables of atoms."""
        schemas = {atom: self.drafts.relations[atom.relation].schema for atom in body.atoms}
        columns = [(t, c.name) for a in body.atoms for t, c in zip(a.terms, schemas[a], strict=True)]
        return {term: name for term, name in columns if isinstance(term, int)}

    def is_recursive(self, number: int) -> bool:
        """Whether the node depends on a relation of the fixpoint."""
        assert isinstance(self.circuit, Circuit)
        return any(isinstance(self.circuit.nodes[n].operator, ops.Feedback) for n in self.circuit.ancestors([number]))

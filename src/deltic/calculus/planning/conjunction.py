"""What the joins below a node say as one conjunction: atoms over variables, conditions, and atoms that must be absent.

A join, a filter, a semijoin and the left side of an antijoin are read through, and so are maps that only rename and
drop columns; every other node is an atom. Sums are atoms too: a sum of conjunctions is read term by term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, show, substituted
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.semijoin import Semijoin


@dataclass(frozen=True)
class NodeAtom:
    """Node `node` of a circuit with a variable for each of its columns, in their order; no variable stands twice."""

    node: int
    variables: tuple[str, ...]

    def pairs(self, builder: CircuitBuilder) -> list[tuple[str, str]]:
        """The columns of its node, each with its variable."""
        return list(zip(builder.type_of(self.node).schema.names, self.variables, strict=True))

    def __str__(self) -> str:
        return f"%{self.node}({', '.join(self.variables)})"


@dataclass(frozen=True)
class NodeConjunction:
    """The rows of all atoms, joined on the variables that they share, that the filters keep and no absent atom matches.

    Weights are those of the atoms multiplied; the absent atoms are sets.
    """

    atoms: tuple[NodeAtom, ...]
    filters: tuple[exp.Expression, ...] = ()
    absent: tuple[NodeAtom, ...] = ()

    def parts(self) -> Iterator[frozenset[str]]:
        """The variables of each atom, each filter and each absent atom."""
        yield from (frozenset(atom.variables) for atom in (*self.atoms, *self.absent))
        yield from (frozenset(columns_of(predicate)) for predicate in self.filters)

    def over(self, nodes: Sequence[int] | Mapping[int, int]) -> NodeConjunction:
        """The same conjunction of other nodes: `nodes[n]` for node n."""
        atoms, absent = (
            tuple(NodeAtom(nodes[a.node], a.variables) for a in each) for each in (self.atoms, self.absent)
        )
        return NodeConjunction(atoms, self.filters, absent)

    def __str__(self) -> str:
        parts = [*map(str, self.atoms), *(f"!{atom}" for atom in self.absent), *(show(f) for f in self.filters)]
        return ", ".join(parts)


def conjunctions(circuit: Circuit, number: int, kept: Container[int] = ()) -> list[NodeConjunction]:
    """The conjunctions whose sum node `number` is, before it is mapped."""
    node = circuit.nodes[number]
    if isinstance(node.operator, ops.Plus | ops.Map):
        return [
            result
            for source in node.inputs
            for result in (
                [conjunction_of(circuit, source, kept)] if source in kept else conjunctions(circuit, source, kept)
            )
        ]
    return [conjunction_of(circuit, number, kept)]


def conjunction_of(circuit: Circuit, number: int, kept: Container[int] = ()) -> NodeConjunction:
    """Node `number` as a conjunction, whose variables for the node's columns are their names.

    Nodes that are `kept` are atoms.
    """
    reader = _Reader(circuit, kept)
    names = circuit.type_of(number).schema.names
    reader.taken.update(names)
    reader.read(number, {name: name for name in names})
    return NodeConjunction(tuple(reader.atoms), tuple(reader.filters), tuple(reader.absent))


class _Reader:
    """Reads downwards: each node receives the variables of its columns, and names the others."""

    def __init__(self, circuit: Circuit, kept: Container[int]) -> None:
        self.circuit, self.kept = circuit, kept
        self.atoms: list[NodeAtom] = []
        self.filters: list[exp.Expression] = []
        self.absent: list[NodeAtom] = []
        self.taken: set[str] = set()

    def read(self, number: int, given: Mapping[str, str]) -> None:
        """Add what node `number` says; `given` are the variables of some of its columns."""
        operator, inputs = self.circuit.nodes[number].operator, self.circuit.nodes[number].inputs
        names = self.circuit.type_of(number).schema.names
        variables = {name: given[name] if name in given else self.fresh(name) for name in names}
        if number in self.kept:
            self.atoms.append(NodeAtom(number, tuple(variables.values())))
        elif isinstance(operator, ops.Map) and renames(operator):
            sources = [expression.name for expression in operator.expressions]
            self.read(inputs[0], dict(zip(sources, variables.values(), strict=True)))
        elif isinstance(operator, ops.Join | Semijoin):
            for source in inputs:
                self.read(source, self.part(source, variables))
        elif isinstance(operator, ops.Filter):
            self.read(inputs[0], variables)
            self.filters.append(renamed(operator.predicate, variables))
        elif isinstance(operator, ops.Antijoin):
            self.read(inputs[0], variables)
            self.absent.append(NodeAtom(inputs[1], tuple(self.part(inputs[1], variables).values())))
        else:
            self.atoms.append(NodeAtom(number, tuple(variables.values())))

    def part(self, number: int, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables of the node's columns, which have their names among others."""
        return {name: variables[name] for name in self.circuit.type_of(number).schema.names}

    def fresh(self, name: str) -> str:
        """A variable that no other column has."""
        result = name
        while result in self.taken:
            result += "'"
        self.taken.add(result)
        return result


def renames(operator: ops.Map) -> bool:
    """Whether the map takes over columns, each once at most, and does nothing else."""
    names = [e.name for e in operator.expressions if isinstance(e, exp.Column)]
    return len(set(names)) == len(operator.expressions) and not operator.partial


def renamed(expression: exp.Expression, names: Mapping[str, str]) -> exp.Expression:
    """The expression with other names for its columns."""
    return substituted(expression, {name: column(new) for name, new in names.items()})


def build(builder: CircuitBuilder, conjunction: NodeConjunction, kept: Sequence[str]) -> int:
    """The node of a conjunction over nodes of the builder: of its variables those that are kept, in their order.

    A variable of one atom alone is dropped before the join.
    """
    counts = Counter(variable for part in conjunction.parts() for variable in part)
    needed = {*kept, *(variable for variable, count in counts.items() if count > 1)}
    numbers = [_columns(builder, a.node, [p for p in a.pairs(builder) if p[1] in needed]) for a in conjunction.atoms]
    number = builder.add(ops.Join(), *numbers) if len(numbers) > 1 else numbers[0]
    for predicate in conjunction.filters:
        number = builder.add(ops.Filter(predicate), number)
    for atom in conjunction.absent:
        number = builder.add(ops.Antijoin(), number, _columns(builder, atom.node, atom.pairs(builder)))
    return _columns(builder, number, [(variable, variable) for variable in kept])


def _columns(builder: CircuitBuilder, number: int, pairs: Sequence[tuple[str, str]]) -> int:
    """The node with some of its columns, each with another name; the node itself where that changes nothing."""
    schema = builder.type_of(number).schema
    if [old for old, _ in pairs] == [new for _, new in pairs] == list(schema.names):
        return number
    columns = tuple(replace(schema.columns[schema.index(old)], name=new) for old, new in pairs)
    return builder.add(ops.Map(columns, tuple(column(old) for old, _ in pairs)), number)

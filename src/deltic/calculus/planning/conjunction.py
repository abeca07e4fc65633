"""The joins below a node as one conjunction: atoms over variables, conditions, and negated atoms.

Joins, filters, semijoins, the left side of antijoins, and maps that only rename and drop columns are expanded; every
other node is an atom. A sum is an atom, too; `conjunctions` expands it term by term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, show, substituted
from deltic.circuit.graph import Circuit, CircuitBuilder


@dataclass(frozen=True)
class NodeAtom:
    """Node `node` of a circuit with a variable for each of its columns, in order; the variables are distinct."""

    node: int
    variables: tuple[str, ...]

    def pairs(self, builder: CircuitBuilder) -> list[tuple[str, str]]:
        """Return the columns of its node, each with its variable."""
        return list(zip(builder.type_of(self.node).schema.names, self.variables, strict=True))

    def __str__(self) -> str:
        return f"%{self.node}({', '.join(self.variables)})"


@dataclass(frozen=True)
class NodeConjunction:
    """The join of all atoms on shared variables, restricted by the filters and the negated atoms.

    Weights of atoms are multiplied; the negated atoms `absent` are sets.
    """

    atoms: tuple[NodeAtom, ...]
    filters: tuple[exp.Expression, ...] = ()
    absent: tuple[NodeAtom, ...] = ()

    def parts(self) -> Iterator[frozenset[str]]:
        """Yield the variables of each atom, each negated atom and each filter."""
        yield from (frozenset(atom.variables) for atom in (*self.atoms, *self.absent))
        yield from (frozenset(columns_of(predicate)) for predicate in self.filters)

    def over(self, nodes: Sequence[int] | Mapping[int, int]) -> NodeConjunction:
        """Return the same conjunction over other nodes: `nodes[n]` for node n."""
        atoms, absent = (
            tuple(NodeAtom(nodes[a.node], a.variables) for a in each) for each in (self.atoms, self.absent)
        )
        return NodeConjunction(atoms, self.filters, absent)

    def __str__(self) -> str:
        parts = [*map(str, self.atoms), *(f"!{atom}" for atom in self.absent), *(show(f) for f in self.filters)]
        return ", ".join(parts)


def conjunctions(circuit: Circuit, number: int, kept: Container[int] = ()) -> list[NodeConjunction]:
    """Return the conjunctions whose sum is node `number`, up to maps."""
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
    """Node `number` as a conjunction; the variables for the node's columns are the column names.

    The nodes `kept` are not expanded.
    """
    reader = _Reader(circuit, kept)
    names = circuit.type_of(number).schema.names
    reader.taken.update(names)
    reader.read(number, {name: name for name in names})
    return NodeConjunction(tuple(reader.atoms), tuple(reader.filters), tuple(reader.absent))


class _Reader:
    """Expands nodes downwards: a node receives the variables of some columns and makes fresh ones for the others."""

    def __init__(self, circuit: Circuit, kept: Container[int]) -> None:
        self.circuit, self.kept = circuit, kept
        self.atoms: list[NodeAtom] = []
        self.filters: list[exp.Expression] = []
        self.absent: list[NodeAtom] = []
        self.taken: set[str] = set()

    def read(self, number: int, given: Mapping[str, str]) -> None:
        """Add the conjunction of node `number`; `given` are the variables of some of its columns."""
        operator, inputs = self.circuit.nodes[number].operator, self.circuit.nodes[number].inputs
        names = self.circuit.type_of(number).schema.names
        variables = {name: given[name] if name in given else self.fresh(name) for name in names}
        if number in self.kept:
            self.atoms.append(NodeAtom(number, tuple(variables.values())))
        elif isinstance(operator, ops.Map) and renames(operator):
            sources = [expression.name for expression in operator.expressions]
            self.read(inputs[0], dict(zip(sources, variables.values(), strict=True)))
        elif isinstance(operator, ops.Join | ops.Semijoin):
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
        """Return the variables of an input's columns, selected by name."""
        return {name: variables[name] for name in self.circuit.type_of(number).schema.names}

    def fresh(self, name: str) -> str:
        """Return a variable that no other column has."""
        result = name
        while result in self.taken:
            result += "'"
        self.taken.add(result)
        return result


def renames(operator: ops.Map) -> bool:
    """Return whether the map only copies columns, each at most once."""
    names = [e.name for e in operator.expressions if isinstance(e, exp.Column)]
    return len(set(names)) == len(operator.expressions) and not operator.partial


def renamed(expression: exp.Expression, names: Mapping[str, str]) -> exp.Expression:
    """Return the expression with its columns renamed."""
    return substituted(expression, {name: column(new) for name, new in names.items()})


def build(builder: CircuitBuilder, conjunction: NodeConjunction, kept: Sequence[str]) -> int:
    """Build a node for a conjunction over nodes of the builder; its columns are the variables `kept`, in order.

    A variable that occurs in only one atom is dropped before the join.
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
    """Return the node with some of its columns, renamed; the same node if nothing changes."""
    schema = builder.type_of(number).schema
    if [old for old, _ in pairs] == [new for _, new in pairs] == list(schema.names):
        return number
    columns = tuple(replace(schema.column(old), name=new) for old, new in pairs)
    return builder.add(ops.Map(columns, tuple(column(old) for old, _ in pairs)), number)

"""The demanded rows of a node as factors, relations over some of its columns, and how they are passed down.

A *factor* is a relation over some columns of the demanded rows; a row must agree with one of its rows. Factors of one
node have disjoint columns, and a row must agree with all of them. They are passed sideways: the demand on one input of
a join is the join of the join's factors with the other inputs that connect them to this one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, conjuncts, infer
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Column, Schema


@dataclass(frozen=True)
class Factor:
    """Some columns of a node, each with its name in the demanded rows."""

    node: int
    pairs: tuple[tuple[str, str], ...]

    @property
    def names(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(name for _, name in self.pairs)

    def renamed(self, names: Mapping[str, str]) -> Factor:
        """Return the factor with its columns renamed; columns without a new name are dropped, and equal new names
        merged.
        """
        pairs = {names[name]: old for old, name in reversed(self.pairs) if name in names}
        return Factor(self.node, tuple((old, name) for name, old in sorted(pairs.items())))

    def part(self, names: Collection[str]) -> Factor:
        """Return the factor restricted to the columns with these names."""
        return Factor(self.node, tuple(pair for pair in self.pairs if pair[1] in names))


@dataclass(frozen=True)
class FactorAtom:
    """A node that may restrict the rows of others on shared columns."""

    node: int
    names: frozenset[str]


@dataclass(frozen=True)
class FactorCondition:
    """A filter, or an antijoin with a node, that demanded rows pass."""

    operator: ops.Operator
    inputs: tuple[int, ...]
    names: frozenset[str]


@dataclass(frozen=True)
class WantedRows:
    """The demand on a node: factors and conditions of the demanded rows; empty if all rows are demanded."""

    factors: tuple[Factor, ...] = ()
    conditions: tuple[FactorCondition, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> WantedRows:
        """Return the demand with its columns renamed."""
        factors = (factor.renamed(names) for factor in self.factors)
        return WantedRows(tuple(factor for factor in factors if factor.pairs))

    def part(self, names: Collection[str]) -> WantedRows:
        """Return the demand restricted to some columns."""
        return self.renamed({name: name for name in names})

    def where(self, predicate: exp.Expression, schema: Schema, unit: int, builder: CircuitBuilder) -> WantedRows:
        """Return the demand extended by a filter: by columns that equal constants, and columns that equal others.

        `unit` is a node with one row without columns.
        """
        factors = self.factors
        for equation in conjuncts(predicate):
            bound = {name for factor in factors for name in factor.names}
            if (result := _constant(equation, schema)) and result[0].name not in bound:
                node = builder.add(ops.Map((result[0],), (result[1],)), unit)
                factors = (*factors, Factor(node, ((result[0].name, result[0].name),)))
            else:
                factors = tuple(_with_equal(factor, equation, schema, bound) for factor in factors)
        condition = FactorCondition(ops.Filter(predicate), (), frozenset(columns_of(predicate)))
        return WantedRows(factors, (*self.conditions, condition))

    def without(self, right: int, names: Collection[str]) -> WantedRows:
        """Return the demand extended by an antijoin with a node."""
        return replace(self, conditions=(*self.conditions, FactorCondition(ops.Antijoin(), (right,), frozenset(names))))


def sideways(
    builder: CircuitBuilder, context: WantedRows, atoms: Sequence[FactorAtom], wanted: frozenset[str], begins: bool
) -> WantedRows:
    """Return the demand on an input with columns `wanted` of a join with demand `context`; `atoms` are the other
    inputs.

    Atoms that are not connected to the context restrict the input only if `begins`.
    """
    groups = [group for group in _groups(context.factors, atoms) if begins or group.factors]
    result: list[Factor] = []
    for group in groups:
        for part in _groups(*_pruned(group, wanted, begins)):
            if part.names & wanted and (begins or part.factors):
                result.append(part.factor(builder, context.conditions).part(wanted))
    return WantedRows(tuple(result))


def node_of(builder: CircuitBuilder, factor: Factor, columns: Sequence[Column] | None = None) -> int:
    """Return the node of a factor, with the given columns, or its own."""
    schema = builder.type_of(factor.node).schema
    sources = {name: old for old, name in factor.pairs}
    kept = columns or [replace(schema.column(old), name=name) for old, name in factor.pairs]
    if tuple(kept) == schema.columns and all(sources[c.name] == c.name for c in kept):
        return factor.node
    return builder.add(ops.Map.of_defined(kept, [column(sources[c.name]) for c in kept], schema), factor.node)


@dataclass(frozen=True)
class _Group:
    """Factors and atoms that are connected by shared columns."""

    factors: tuple[Factor, ...]
    atoms: tuple[FactorAtom, ...]

    @property
    def names(self) -> frozenset[str]:
        return _names(self.factors, self.atoms)

    def factor(self, builder: CircuitBuilder, conditions: Sequence[FactorCondition]) -> Factor:
        """Return the group as one factor, with the conditions that it can evaluate."""
        decided = [c for c in conditions if c.names <= self.names]
        if len(self.factors) == 1 and not self.atoms and not decided:
            return self.factors[0]
        nodes = [*(node_of(builder, factor) for factor in self.factors), *(atom.node for atom in self.atoms)]
        node = builder.add(ops.Join(), *nodes) if len(nodes) > 1 else nodes[0]
        for condition in decided:
            node = builder.add(condition.operator, node, *condition.inputs)
        return Factor(node, tuple((name, name) for name in sorted(self.names)))


def _groups(factors: Sequence[Factor], atoms: Sequence[FactorAtom]) -> list[_Group]:
    """Return the connected components of factors and atoms by shared columns."""
    groups: list[_Group] = []
    for own in (*(_Group((factor,), ()) for factor in factors), *(_Group((), (atom,)) for atom in atoms)):
        met = [group for group in groups if group.names & own.names]
        groups = [group for group in groups if group not in met]
        merged = [*met, own]
        groups.append(_Group(tuple(f for g in merged for f in g.factors), tuple(a for g in merged for a in g.atoms)))
    return groups


def _pruned(group: _Group, wanted: frozenset[str], begins: bool) -> tuple[tuple[Factor, ...], tuple[FactorAtom, ...]]:
    """Return the group without atoms that restrict no wanted column, directly or through others."""
    atoms = list(group.atoms)
    for atom in reversed(group.atoms):
        rest = [other for other in atoms if other is not atom]
        factors = _restricted(group.factors, rest, wanted, begins)
        if factors == _restricted(group.factors, atoms, wanted, begins) and not atom.names <= _names(
            group.factors, rest
        ):
            atoms = rest
    return group.factors, tuple(atoms)


def _restricted(
    factors: Sequence[Factor], atoms: Sequence[FactorAtom], wanted: frozenset[str], begins: bool
) -> frozenset[str]:
    """Return the wanted columns that factors and atoms restrict."""
    groups = (group for group in _groups(factors, atoms) if begins or group.factors)
    return frozenset().union(*(group.names & wanted for group in groups))


def _names(factors: Sequence[Factor], atoms: Sequence[FactorAtom]) -> frozenset[str]:
    return frozenset().union(*(factor.names for factor in factors), *(atom.names for atom in atoms))


def _constant(equation: exp.Expression, schema: Schema) -> tuple[Column, exp.Expression] | None:
    """Return the column that an equation makes constant, with its value; no floats, because equal ones may differ."""
    if not isinstance(equation, exp.EQ):
        return None
    for side, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if isinstance(side, exp.Column) and isinstance(other, exp.Expression) and not columns_of(other):
            result, own = infer(other, {}), schema.column(side.name)
            if result.type is own.type and not result.nullable and not own.type.is_float:
                return Column(own.name, own.type), other.copy()
    return None


def _with_equal(factor: Factor, equation: exp.Expression, schema: Schema, bound: Collection[str]) -> Factor:
    """Return the factor extended by a column that an equation makes equal to one of its columns."""
    if not isinstance(equation, exp.EQ):
        return factor
    for side, other in ((equation.left, equation.right), (equation.right, equation.left)):
        if isinstance(side, exp.Column) and isinstance(other, exp.Column) and side.name in factor.names:
            one, two = (schema.column(c.name).type for c in (side, other))
            if other.name not in bound and one is two and not one.is_float:
                source = next(old for old, name in factor.pairs if name == side.name)
                return Factor(factor.node, (*factor.pairs, (source, other.name)))
    return factor

"""Atoms: the bindings of their variables that a relation yields or excludes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, conjunction
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog.checks.checked import CheckedRule
from deltic.datalog.lowering.scalars import scalar
from deltic.datalog.lowering.scopes import LoweringScope
from deltic.datalog.syntax.expressions import Expression, Unnamed, Variable, Wildcard
from deltic.datalog.syntax.formulas import BodyAtom
from deltic.values.types import Column


def lower_atom(atom: BodyAtom, rule: CheckedRule, scope: LoweringScope) -> int:
    """Return a node with one column for each variable of the atom; a row's weight is the number of rows that match."""
    node = _selected(scope.builder, scope.relation(atom.relation), atom, rule)
    attributes = scope.builder.type_of(node).schema.columns
    variables = _first_places(atom)
    columns = [
        Column(name, attributes[place].type, attributes[place].nullable and _may_be_null(atom.arguments[place]))
        for name, place in variables.items()
    ]
    return project(scope.builder, node, columns, [column(attributes[place].name) for place in variables.values()])


def lower_absent_atom(atom: BodyAtom, rule: CheckedRule, scope: LoweringScope) -> int:
    """Return a set with one column for each variable of a negated atom: the bindings for which some row matches.

    If the relation does not depend on the recursion, all but the renaming is computed in the whole circuit.
    """
    place = scope if scope.is_recursive(atom.relation) else scope.outside
    node = _selected(place.builder, place.relation(atom.relation), atom, rule)
    attributes = place.builder.type_of(node).schema.columns
    variables = _first_places(atom)
    kept = [Column(attributes[place].name, attributes[place].type) for place in variables.values()]
    result = project(place.builder, node, kept, [column(attribute.name) for attribute in kept])
    node = scope.bring(place.builder.distinct(result), place)
    columns = [Column(name, attribute.type) for name, attribute in zip(variables, kept, strict=True)]
    return project(scope.builder, node, columns, [column(attribute.name) for attribute in kept])


def project(builder: CircuitBuilder, node: int, columns: Sequence[Column], values: Sequence[exp.Expression]) -> int:
    """Return a map to these columns, dropping rows with undefined values; the node itself if it has them already."""
    schema = builder.type_of(node).schema
    same = schema.columns == tuple(columns)
    if same and all(isinstance(v, exp.Column) and v.name == c.name for v, c in zip(values, columns, strict=True)):
        return node
    return builder.add(ops.Map.of_defined(columns, values, schema), node)


def _first_places(atom: BodyAtom) -> dict[str, int]:
    """Return the first position of each variable of the atom."""
    places: dict[str, int] = {}
    for place, argument in enumerate(atom.arguments):
        if isinstance(argument, Variable):
            places.setdefault(argument.name, place)
    return places


def _may_be_null(argument: Expression) -> bool:
    """Return whether NULL matches an argument; a comparison with a constant excludes it anyway."""
    return not isinstance(argument, Variable) or isinstance(argument, Unnamed)


def _selected(builder: CircuitBuilder, node: int, atom: BodyAtom, rule: CheckedRule) -> int:
    """Return the rows that match the atom's constants and repeated variables; NULL matches only `_`."""
    attributes = builder.type_of(node).schema.names
    first = _first_places(atom)
    predicates: list[exp.Expression] = []
    for place, argument in enumerate(atom.arguments):
        if isinstance(argument, Variable) and first[argument.name] != place:
            earlier = column(attributes[first[argument.name]])
            predicates.append(exp.EQ(this=column(attributes[place]), expression=earlier))
        elif not _may_be_null(argument) and builder.type_of(node).schema.columns[place].nullable:
            is_null = exp.Is(this=column(attributes[place]), expression=exp.Null())
            predicates.append(exp.Not(this=is_null))
        elif not isinstance(argument, Variable | Wildcard):
            predicates.append(exp.EQ(this=column(attributes[place]), expression=scalar(argument, rule)))
    return builder.add(ops.Filter(conjunction(predicates)), node) if predicates else node

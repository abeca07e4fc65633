"""Programs to definitions of the catalog: one for each stratum, each relation from its table, facts and rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from deltic.catalog import Catalog, Definition, Part, Table, View
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column as named
from deltic.circuit.graph import Circuit
from deltic.circuit.operators.custom import applied
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import ZSetType
from deltic.datalog.checks.checked import CheckedProgram, Relation, Rule
from deltic.datalog.lowering.atoms import make_set, project
from deltic.datalog.lowering.rules import lower_rule
from deltic.datalog.lowering.scalars import scalar
from deltic.datalog.lowering.scopes import Inside, Outside, Scope
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.syntax.formulas import Atom, bare, with_inner

FRONT = "Datalog"


def lower(checked: CheckedProgram) -> Circuit:
    """The circuit of a program that reads no relations of others: a source for each table, a sink for each view."""
    return Catalog((define(checked),)).circuit


def define(checked: CheckedProgram) -> Part:
    """The tables of a program, and the definitions of its views; those of one stratum are one."""
    relations = checked.relations.values()
    tables = [Table(r.name, r.schema, place=r.span.place) for r in relations if r.is_table]
    lowering = _Lowering(checked)
    strata = [[checked.relations[name] for name in stratum] for stratum in checked.strata]
    derived = [stratum for stratum in strata if any(relation.is_derived for relation in stratum)]
    definitions = {stratum[0].name: lowering.define(stratum) for stratum in derived}
    made = {name: lowering.define_applied(name) for name in checked.applied}
    order = (*(r.name for r in relations if r.is_derived), *made)
    return Part(FRONT, tables, (*definitions.values(), *made.values()), order)


class _Lowering:
    def __init__(self, checked: CheckedProgram) -> None:
        self._checked = checked
        self._rules: dict[str, list[Rule]] = defaultdict(list)
        self._facts: dict[str, list[Rule]] = defaultdict(list)
        self._texts: dict[str, list[str]] = defaultdict(list)
        for rule in checked.rules:
            self._texts[rule.head.relation].append(rule.span.text)
            if plain := simplify(rule):
                (self._rules if plain.body else self._facts)[plain.head.relation].append(plain)
        self._structures = {r.name: r.structures for r in checked.relations.values() if r.is_table}
        self._types = {**checked.others, **{r.name: ZSetType(r.schema, True) for r in checked.relations.values()}}

    def define(self, stratum: Sequence[Relation]) -> Definition:
        """The relations of a stratum, over those that they read."""
        scope = Outside(self._types, self._structures)
        names = {relation.name for relation in stratum}
        if len(names) > 1 or any(_mentions(rule, names) for name in names for rule in self._rules[name]):
            self._lower_recursive(stratum, scope)
        else:
            (relation,) = stratum
            scope.relations[relation.name] = self._union(relation, scope)
        for relation in stratum:
            scope.builder.add(ops.Sink(relation.name), scope.relations[relation.name])
        return Definition(tuple(map(self._view, stratum)), scope.builder.build())

    def define_applied(self, name: str) -> Definition:
        """What an operator of Python makes of relations: a set that nobody reads but rules."""
        made = self._checked.applied[name]
        scope = Outside(self._types, self._structures)
        node = scope.builder.add(applied(made.custom), *(scope.relation(given) for given in made.inputs))
        scope.builder.add(ops.Sink(name), make_set(scope.builder, node))
        view = View(name, self._types[name], True, made.span.text, made.span.place)
        return Definition((view,), scope.builder.build())

    def _view(self, relation: Relation) -> View:
        text = "\n".join(dict.fromkeys(self._texts[relation.name]))
        type_, place = self._types[relation.name], relation.span.place
        return View(relation.name, type_, relation.is_hidden, text, place, demand=relation.demand)

    def _lower_recursive(self, stratum: Sequence[Relation], scope: Outside) -> None:
        """Mutually recursive relations: a fixpoint whose body derives each once from the last of all.

        Helpers are nodes of the body, and views of the fixpoint afterwards.
        """
        names = [relation.name for relation in stratum]
        helpers = [self._checked.relations[name] for name in self._checked.helpers if name in names]
        growing = [relation for relation in stratum if relation not in helpers]
        inside = Inside(scope, {relation.name: relation.schema for relation in growing})
        for helper in helpers:
            inside.relations[helper.name] = self._union(helper, inside)
        for relation in growing:
            inside.builder.add(ops.Sink(relation.name), self._union(relation, inside))
        fixpoint = scope.builder.add(ops.Fixpoint(inside.builder.build()), *inside.inputs)
        for relation in growing:
            scope.relations[relation.name] = scope.builder.add(ops.Component(relation.name), fixpoint)
        for helper in helpers:
            scope.relations[helper.name] = self._union(helper, scope)

    def _union(self, relation: Relation, scope: Scope) -> int:
        """The set of all rows of a relation: its table's, its facts, and what its rules derive."""
        parts = [scope.bring(number, scope.outside) for number in self._given(relation, scope.outside)]
        parts += [lower_rule(rule, relation.schema, scope) for rule in self._rules[relation.name]]
        if not parts:
            nothing = scope.outside.builder.add(ops.Constant(relation.schema, ()))
            parts.append(scope.bring(nothing, scope.outside))
        different = dict.fromkeys(parts)
        total = parts[0] if len(different) == 1 else scope.builder.add(ops.Plus(), *different)
        return _chosen(relation, make_set(scope.builder, total), scope)

    def _given(self, relation: Relation, outside: Outside) -> list[int]:
        """The nodes of the whole circuit that a relation starts from."""
        given = [outside.source(relation.name)] if relation.is_table else []
        rows = tuple(dict.fromkeys(row for fact in self._facts[relation.name] if None not in (row := _row(fact))))
        if rows:
            given.append(outside.builder.add(ops.Constant(relation.schema, rows)))
        return given


def _chosen(relation: Relation, node: int, scope: Scope) -> int:
    """One row for the values of each choice domain; in a recursion those of the iteration before, and new ones."""
    builder, is_recursive = scope.builder, bool(relation.choices) and scope.is_recursive(relation.name)
    before = scope.relation(relation.name) if is_recursive else None
    if before is not None:
        for key in relation.choices:
            columns = [column for column in relation.schema if column.name in key]
            taken = project(builder, before, columns, [named(column.name) for column in columns])
            node = builder.add(ops.Antijoin(), node, make_set(builder, taken))
    for key in relation.choices:
        node = builder.add(ops.Top(key, (), 1), node)
    return node if before is None else make_set(builder, builder.add(ops.Plus(), before, node))


def _row(fact: Rule) -> tuple[object, ...]:
    """The values of a fact, None for what is undefined."""
    return tuple(evaluate(scalar(argument, fact), {}, {}) for argument in fact.head.arguments)


def _mentions(rule: Rule, names: set[str]) -> bool:
    """Whether the rule's body has an atom of one of these relations."""
    atoms = (atom for literal in with_inner(rule.body) if isinstance(atom := bare(literal), Atom))
    return any(atom.relation in names for atom in atoms)

"""Programs to definitions of the catalog: one for each stratum, each relation from its table, facts and rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

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
    defined = [lowering.define(stratum) for stratum in checked.strata if lowering.is_derived(stratum)]
    views = (*(r.name for r in relations if r.is_derived), *checked.applied)
    there = {view.name for definition in defined for view in definition.views}
    return Part(FRONT, tables, defined, tuple(name for name in views if name in there))


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

    def is_derived(self, stratum: Collection[str]) -> bool:
        """Whether some relation of a stratum has rules or facts, or is made by an operator of Python."""
        applied, relations = self._checked.applied, self._checked.relations
        return any(name in applied or relations[name].is_derived for name in stratum)

    def define(self, stratum: Collection[str]) -> Definition:
        """The relations of a stratum, over those that they read; what nothing reads afterwards is no view."""
        scope = Outside(self._types, self._structures, self._checked.word_size)
        if len(stratum) > 1 or any(_mentions(rule, stratum) for name in stratum for rule in self._rules[name]):
            self._lower_recursive(stratum, scope)
        else:
            (name,) = stratum
            scope.relations[name] = self._node(name, scope)
        others = [rule for name, rules in self._rules.items() if name not in stratum for rule in rules]
        shown = [n for n in stratum if n not in self._checked.applied or any(_mentions(rule, {n}) for rule in others)]
        for name in shown:
            scope.builder.add(ops.Sink(name), scope.relations[name])
        return Definition(tuple(map(self._view, shown)), scope.builder.build())

    def _view(self, name: str) -> View:
        if made := self._checked.applied.get(name):
            return View(name, self._types[name], True, made.span.text, made.span.place)
        relation, text = self._checked.relations[name], "\n".join(dict.fromkeys(self._texts[name]))
        return View(name, self._types[name], relation.is_hidden, text, relation.span.place, demand=relation.demand)

    def _lower_recursive(self, stratum: Collection[str], scope: Outside) -> None:
        """Mutually recursive relations: a fixpoint whose body derives each once from the last of all.

        Helpers are nodes of the body, and views of the fixpoint afterwards.
        """
        helpers = [name for name in self._checked.helpers if name in stratum]
        growing = [name for name in stratum if name not in helpers]
        inside = Inside(scope, {name: self._checked.relations[name].schema for name in growing})
        for helper in helpers:
            inside.relations[helper] = self._node(helper, inside)
        for name in growing:
            inside.builder.add(ops.Sink(name), self._node(name, inside))
        fixpoint = scope.builder.add(ops.Fixpoint(inside.builder.build()), *inside.inputs)
        for name in growing:
            scope.relations[name] = scope.builder.add(ops.Component(name), fixpoint)
        for helper in helpers:
            scope.relations[helper] = self._node(helper, scope)

    def _node(self, name: str, scope: Scope) -> int:
        """The set of all rows of a relation, or of those that an operator of Python makes."""
        if made := self._checked.applied.get(name):
            return make_set(scope.builder, scope.builder.add(applied(made.custom), *map(scope.relation, made.inputs)))
        return self._union(self._checked.relations[name], scope)

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


def _mentions(rule: Rule, names: Collection[str]) -> bool:
    """Whether the rule's body has an atom of one of these relations."""
    atoms = (atom for literal in with_inner(rule.body) if isinstance(atom := bare(literal), Atom))
    return any(atom.relation in names for atom in atoms)

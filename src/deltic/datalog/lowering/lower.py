"""Lowers programs to catalog definitions: one for each stratum, each relation from its table, facts and rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from deltic.catalog import Catalog, CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column as named
from deltic.circuit.expressions import literal
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.graph import Circuit
from deltic.circuit.operators.custom import applied
from deltic.datalog.checks.checked import CheckedProgram, CheckedRelation, CheckedRule
from deltic.datalog.lowering.atoms import project
from deltic.datalog.lowering.rules import lower_rule
from deltic.datalog.lowering.scalars import scalar
from deltic.datalog.lowering.scopes import Inside, LoweringScope, WholeCircuit
from deltic.datalog.lowering.simplify import simplify
from deltic.datalog.memory import ClauseMemory, Defined, MadeOnce
from deltic.datalog.syntax.formulas import BodyAtom, bare, with_inner
from deltic.values.types import Type

FRONT = "Datalog"


def lower(checked: CheckedProgram) -> Circuit:
    """Return the circuit of a program without external relations: a source for each table, a sink for each view."""
    return Catalog((define(checked),)).circuit


def define(checked: CheckedProgram, memory: ClauseMemory | None = None) -> FrontEndDefinitions:
    """Return the tables of a program, and the definitions of its views, one for each stratum.

    Strata that are unchanged since an earlier program come from the `memory`.
    """
    memory = memory or ClauseMemory()
    relations = checked.relations.values()
    tables = [CatalogTable(r.name, r.schema, place=r.span.place) for r in relations if r.is_table]
    lowering = _Lowering(checked, memory.definitions)
    defined = [lowering.define(stratum) for stratum in checked.strata if lowering.is_derived(stratum)]
    memory.definitions.forget()
    views = (*(r.name for r in relations if r.is_derived), *checked.applied)
    there = {view.name for definition in defined for view in definition.views}
    return FrontEndDefinitions(FRONT, tables, defined, tuple(name for name in views if name in there))


class _Lowering:
    def __init__(self, checked: CheckedProgram, known: MadeOnce[Defined]) -> None:
        self._checked, self._known = checked, known
        self._written: dict[str, list[CheckedRule]] = defaultdict(list)
        for rule in checked.rules:
            self._written[rule.head.relation].append(rule)
        self._plain: dict[str, list[CheckedRule]] = {}
        self._structures = {r.name: r.structures for r in checked.relations.values() if r.is_table}
        self._types = {**checked.others, **{r.name: ZSetType(r.schema, True) for r in checked.relations.values()}}

    def is_derived(self, stratum: Collection[str]) -> bool:
        """Return whether some relation of a stratum has rules or facts, or is derived by a Python operator."""
        applied, relations = self._checked.applied, self._checked.relations
        return any(name in applied or relations[name].is_derived for name in stratum)

    def define(self, stratum: Collection[str]) -> ViewDefinitions:
        """Return the definition of the relations of a stratum, over the relations that they read."""
        rules = [rule for name in stratum for rule in self._written[name]]
        known = self._known.get(*rules)
        if known is not None and known.given == self._around(stratum, known.reads):
            return known.definition
        made = [self._checked.applied[name] for name in stratum if name in self._checked.applied]
        mentioned = {atom.relation for rule in rules for atom in _atoms(rule)}
        reads = tuple(sorted(mentioned.union(*(application.inputs for application in made))))
        definition = self._define(stratum)
        self._known.keep(Defined(reads, self._around(stratum, reads), definition), *rules)
        return definition

    def _around(self, stratum: Collection[str], reads: Collection[str]) -> object:
        """Return a stratum's dependencies other than its rules; `reads` are the relations that it reads."""
        checked, names = self._checked, (*stratum, *reads)
        own = [(checked.relations.get(name), checked.applied.get(name), name in checked.helpers) for name in stratum]
        others = [(self._types.get(name), self._structures.get(name)) for name in names]
        return own, others, self._shown(stratum), checked.word_size

    def _define(self, stratum: Collection[str]) -> ViewDefinitions:
        scope = WholeCircuit(self._types, self._structures, self._checked.word_size)
        if len(stratum) > 1 or any(_mentions(rule, stratum) for name in stratum for rule in self._rules(name)):
            self._lower_recursive(stratum, scope)
        else:
            (name,) = stratum
            scope.relations[name] = self._node(name, scope)
        shown = self._shown(stratum)
        for name in shown:
            scope.builder.add(ops.Sink(name), scope.relations[name])
        return ViewDefinitions(tuple(map(self._view, shown)), scope.builder.build())

    def _shown(self, stratum: Collection[str]) -> list[str]:
        """Return the relations of a stratum that become views; results of operators only if others read them."""
        applied = self._checked.applied
        return [n for n in stratum if n not in applied or self._is_read(n, stratum)]

    def _is_read(self, name: str, stratum: Collection[str]) -> bool:
        """Return whether rules of other strata read a relation."""
        others = (rule for other in self._written if other not in stratum for rule in self._rules(other))
        return any(_mentions(rule, {name}) for rule in others)

    def _rules(self, name: str) -> list[CheckedRule]:
        """Return the rules of a relation in plain form, without facts."""
        return [rule for rule in self._simplified(name) if rule.body]

    def _simplified(self, name: str) -> list[CheckedRule]:
        """Return the rules and facts of a relation in plain form, without those that derive nothing."""
        if name not in self._plain:
            self._plain[name] = [plain for rule in self._written.get(name, ()) if (plain := simplify(rule))]
        return self._plain[name]

    def _view(self, name: str) -> CatalogView:
        if made := self._checked.applied.get(name):
            return CatalogView(name, self._types[name], True, made.span.text, made.span.place)
        text = "\n".join(dict.fromkeys(rule.span.text for rule in self._written[name]))
        relation = self._checked.relations[name]
        place, demand, rules = relation.span.place, relation.demand, tuple(self._parts(name))
        return CatalogView(name, self._types[name], relation.is_hidden, text, place, demand=demand, rules=rules)

    def _parts(self, name: str) -> list[tuple[str, str]]:
        """Return the text and place of each part of a relation's union; with subsumption, of the union of all its rows.

        In a recursion its last part, with the name of the relation as text, has the rows of the previous iteration.
        """
        if name in self._checked.subsumed:
            every, gone = self._checked.subsumed[name]
            less = dict.fromkeys(rule.span.text for rule in self._written.get(gone, ()))
            parts = [([text] if text != name else [], place) for text, place in self._parts(every)]
            return [("\n".join((*text, *less)), place) for text, place in parts]
        facts = [rule.span for rule in self._simplified(name) if not rule.body]
        relation = self._checked.relations[name]
        own = [(f"the table {name}", relation.span.place)] if relation.is_table else []
        own += [("\n".join(span.text for span in facts), facts[0].place)] if facts else []
        return own + [(rule.span.text, rule.span.place) for rule in self._rules(name)]

    def _lower_recursive(self, stratum: Collection[str], scope: WholeCircuit) -> None:
        """Lower mutually recursive relations to a fixpoint, whose body derives each from all of the previous iteration.

        Helpers are nodes of the body, and are computed again from the fixpoint as views.
        """
        helpers = [name for name in self._checked.helpers if name in stratum]
        growing = [name for name in stratum if name not in helpers]
        inside = Inside(scope, {name: self._checked.relations[name].schema for name in growing})
        for helper in helpers:
            inside.relations[helper] = self._node(helper, inside)
        relations = [self._checked.relations[name] for name in stratum if name in self._checked.relations]
        limits = [_limit(r.name, r.limit, inside) for r in relations if r.limit is not None]
        for name in growing:
            inside.builder.add(ops.Sink(name), _limited(name, self._node(name, inside), limits, inside))
        scope.relations |= inside.close()
        for helper in helpers:
            scope.relations[helper] = self._node(helper, scope)

    def _node(self, name: str, scope: LoweringScope) -> int:
        """Return the set of all rows of a relation, or the result of a Python operator."""
        if made := self._checked.applied.get(name):
            return scope.builder.distinct(scope.builder.add(applied(made.custom), *map(scope.relation, made.inputs)))
        return self._union(self._checked.relations[name], scope)

    def _union(self, relation: CheckedRelation, scope: LoweringScope) -> int:
        """Return the set of all rows of a relation: from its table, its facts, and its rules."""
        parts = [*self._initial(relation, scope)]
        parts += [lower_rule(rule, relation.schema, scope) for rule in self._rules(relation.name)]
        parts = parts or [scope.constant(relation.schema)]
        different = dict.fromkeys(parts)
        total = parts[0] if len(different) == 1 else scope.builder.add(ops.Plus(), *different)
        return _chosen(relation, scope.builder.distinct(total), scope)

    def _initial(self, relation: CheckedRelation, scope: LoweringScope) -> Iterator[int]:
        """Yield the nodes for a relation's table and facts."""
        if relation.is_table:
            yield scope.bring(scope.outside.source(relation.name), scope.outside)
        facts = (rule for rule in self._simplified(relation.name) if not rule.body)
        if rows := dict.fromkeys(row for fact in facts if None not in (row := _row(fact))):
            yield scope.constant(relation.schema, [*rows])


def _chosen(relation: CheckedRelation, node: int, scope: LoweringScope) -> int:
    """One row for the values of each choice domain; in a recursion previously chosen rows are kept."""
    builder, is_recursive = scope.builder, bool(relation.choices) and scope.is_recursive(relation.name)
    before = scope.relation(relation.name) if is_recursive else None
    if before is not None:
        for key in relation.choices:
            columns = [column for column in relation.schema if column.name in key]
            taken = project(builder, before, columns, [named(column.name) for column in columns])
            node = builder.add(ops.Antijoin(), node, builder.distinct(taken))
    for key in relation.choices:
        node = builder.add(ops.Top(key, (), 1), node)
    return node if before is None else builder.distinct(builder.add(ops.Plus(), before, node))


def _limit(name: str, limit: int, scope: LoweringScope) -> int:
    """Return a relation without columns that has a row once a relation of the recursion has at least `limit` rows."""
    builder = scope.builder
    count = ops.Aggregate((), (ops.AggregateCall("count", "", "size"),))
    enough = exp.GTE(this=named("size"), expression=literal(limit, Type.INT64))
    result = builder.add(ops.Filter(enough), builder.add(count, scope.relation(name)))
    return builder.distinct(project(builder, result, (), ()))


def _limited(name: str, node: int, limits: Sequence[int], scope: LoweringScope) -> int:
    """Return the previous rows of a relation, and those of the node unless a limit is reached.

    All relations of the recursion then stay unchanged: Rᵢ₊₁ = Rᵢ ∪ T(Rᵢ, E) while r has fewer rows in Rᵢ, and else Rᵢ.
    The result depends only on the iterations, not on the order of evaluation or of changes.
    """
    builder = scope.builder
    for limit in limits:
        node = builder.add(ops.Antijoin(), node, limit)
    return builder.distinct(builder.add(ops.Plus(), scope.relation(name), node)) if limits else node


def _row(fact: CheckedRule) -> tuple[object, ...]:
    """Return the values of a fact, None for an undefined one."""
    return tuple(evaluate(scalar(argument, fact), {}, {}) for argument in fact.head.arguments)


def _mentions(rule: CheckedRule, names: Collection[str]) -> bool:
    """Return whether the rule's body reads one of these relations."""
    return any(atom.relation in names for atom in _atoms(rule))


def _atoms(rule: CheckedRule) -> Iterator[BodyAtom]:
    """Return the atoms of a rule's body, including negated ones and those in aggregates."""
    return (atom for literal in with_inner(rule.body) if isinstance(atom := bare(literal), BodyAtom))

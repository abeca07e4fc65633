"""A checked program to definitions of the catalog: one for each set of mutually recursive relations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from deltic.catalog import CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.catalog.components import components
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.datalog.lowering.atoms import project
from deltic.datalog.lowering.scopes import Inside, LoweringScope, WholeCircuit
from deltic.errors import Diagnostic, ProgramError
from deltic_ddlog import checked as c
from deltic_ddlog import core
from deltic_ddlog.check import ResolvedModules
from deltic_ddlog.lowering.code import Compiled, Environment
from deltic_ddlog.lowering.columns import INSPECTED, Form, catalog_name, delayed_name, index_name
from deltic_ddlog.lowering.expressions import Expressions
from deltic_ddlog.lowering.reductions import Step, reduced, with_rows
from deltic_ddlog.lowering.rules import RuleBindings
from deltic_ddlog.records import RecordError

FRONT = "DDlog"


@dataclass(frozen=True)
class Inspected:
    """The rows that an `InspectStep` reads: the view `name`; `known` maps variables to its columns."""

    name: str
    clause: c.InspectStep
    known: Environment


class _Relations(WholeCircuit):
    """The whole circuit of a definition, in which multisets and streams are as they are."""

    def seen(self, node: int) -> int:
        return node


class Lowered:
    """A program as tables and views, and how its records stand in them."""

    def __init__(self, checked: ResolvedModules) -> None:
        self.checked, self._expressions = checked, Expressions(Compiled(checked))
        self.columns = self._expressions.columns
        self._rules: dict[str, list[tuple[c.ResolvedRule, c.Head]]] = defaultdict(list)
        for rule in checked.rules:
            for head in rule.heads:
                self._rules[head.relation].append((rule, head))
        self.inspected: list[Inspected] = []
        """The relations that can be read once `part` is made."""
        self._shown: dict[str, ZSetType] = {}

    def form(self, relation: str) -> Form:
        """Return how a relation's records stand in rows."""
        return self.columns.form(self.checked.relations[relation].record)

    @cached_property
    def delays(self) -> dict[str, int]:
        """The delays at which relations are read, in transactions."""
        result: dict[str, int] = {}
        for rule in self.checked.rules:
            for atom in rule.body:
                if isinstance(atom, c.MatchStep | c.AbsentStep) and atom.delay:
                    result[atom.relation] = max(result.get(atom.relation, 0), atom.delay)
        return result

    @cached_property
    def part(self) -> FrontEndDefinitions:
        """The tables of the program, and the definitions of its views. Raises ProgramError."""
        self._check_records()
        definitions = tuple(self._definitions())
        return FrontEndDefinitions(
            FRONT, tuple(self._tables()), definitions, tuple(v.name for d in definitions for v in d.views)
        )

    def _check_records(self) -> None:
        """Raise ProgramError for relations whose records cannot be stored."""
        findings = []
        for relation in self.checked.relations.values():
            try:
                self.columns.codecs.check(relation.record)
            except RecordError as error:
                findings.append(relation.span.error(f"{relation.name}: {error}", "compute with such values in rules"))
        if findings:
            raise ProgramError(findings)

    def _tables(self) -> Iterator[CatalogTable]:
        for relation in self.checked.relations.values():
            schema, is_bag = self.form(relation.name).schema, not self._is_set(relation)
            if relation.role == "input":
                yield CatalogTable(catalog_name(relation.name), schema, is_bag=is_bag, place=relation.span.place)
            for delay in range(1, self.delays.get(relation.name, 0) + 1):
                yield CatalogTable(delayed_name(relation.name, delay), schema, is_bag=is_bag, place=relation.span.place)

    def _definitions(self) -> Iterator[ViewDefinitions]:
        for names in components(self._graph):
            relations = [self.checked.relations[name] for name in names]
            if names[0] in self._recursions:
                self._check_recursion(names)
                yield self._recursive(relations)
                yield from self._inspections(relations)
            elif relations[0].role != "input" or names[0] in self._rules:
                yield self._plain(relations[0])
        for index in self.checked.indexes.values():
            yield self._index(index)

    def _is_set(self, relation: c.ResolvedRelation) -> bool:
        """Return whether each record counts once. Relations neither input, output nor recursive count derivations."""
        is_counted = relation.role == "internal" and relation.name not in self._recursions
        return relation.semantics == "relation" and not is_counted

    @cached_property
    def _recursions(self) -> frozenset[str]:
        """The relations that depend on themselves."""
        groups = [names for names in components(self._graph) if len(names) > 1 or names[0] in self._graph[names[0]]]
        return frozenset(name for names in groups for name in names)

    @cached_property
    def _graph(self) -> dict[str, list[str]]:
        """For each relation what its rules read of this transaction."""
        return {name: [atom.relation for atom in self._reads(name)] for name in self.checked.relations}

    def _reads(self, relation: str) -> Iterator[c.MatchStep | c.AbsentStep]:
        """Yield the atoms of this transaction that a relation is derived from."""
        for rule, _ in self._rules.get(relation, ()):
            for clause in rule.body:
                if isinstance(clause, c.MatchStep | c.AbsentStep) and not clause.delay:
                    yield clause

    def _check_recursion(self, names: Sequence[str]) -> None:
        """Raise ProgramError for a recursion through negation, multisets or streams."""
        findings, hint = list[Diagnostic](), "compute what `not` reads in a relation before it"
        for name in names:
            relation = self.checked.relations[name]
            if relation.semantics != "relation":
                findings.append(relation.span.error(f"the {relation.semantics} {name} depends on itself"))
            for atom in self._reads(name):
                if isinstance(atom, c.AbsentStep) and atom.relation in names:
                    message = f"{name} depends on {atom.relation}, which it is computed with, by `not`"
                    findings.append(atom.span.error(message, hint))
        if findings:
            raise ProgramError(list(dict.fromkeys(findings)))

    # Definitions

    def _scope(self) -> _Relations:
        return _Relations(self._types, {})

    @cached_property
    def _types(self) -> dict[str, ZSetType]:
        """The types of the program's tables and views."""
        result: dict[str, ZSetType] = {}
        for relation in self.checked.relations.values():
            type_ = ZSetType(self.form(relation.name).schema, self._is_set(relation))
            result |= {delayed_name(relation.name, d): type_ for d in range(self.delays.get(relation.name, 0) + 1)}
        return result

    def _view(self, relation: c.ResolvedRelation) -> CatalogView:
        type_ = ZSetType(self.form(relation.name).schema, self._is_set(relation))
        text = "\n".join(dict.fromkeys(rule.span.text for rule, _ in self._rules.get(relation.name, ())))
        parts, place = tuple(self._parts(relation)), relation.span.place
        return CatalogView(catalog_name(relation.name), type_, text=text, place=place, rules=parts)

    def _parts(self, relation: c.ResolvedRelation) -> Iterator[tuple[str, str]]:
        """Yield the text and place of each part of a relation's union."""
        if relation.role == "input":
            yield f"the relation {relation.name}", relation.span.place
        rules = self._rules.get(relation.name, ())
        if facts := [rule.span for rule, _ in rules if not rule.body]:
            yield "\n".join(dict.fromkeys(fact.text for fact in facts)), facts[0].place
        yield from ((rule.span.text, rule.span.place) for rule, _ in rules if rule.body)

    def _plain(self, relation: c.ResolvedRelation) -> ViewDefinitions:
        scope, before = self._scope(), len(self.inspected)
        node = self._union(relation, scope)
        if not self._is_set(relation):
            node = scope.builder.add(ops.Keep(catalog_name(relation.name)), node)
        scope.builder.add(ops.Sink(catalog_name(relation.name)), node)
        return ViewDefinitions((self._view(relation), *self._looked(relation, before)), scope.builder.build())

    def _recursive(self, relations: Sequence[c.ResolvedRelation]) -> ViewDefinitions:
        scope = self._scope()
        inside = Inside(scope, {catalog_name(r.name): self.form(r.name).schema for r in relations})
        for relation in relations:
            inside.builder.add(ops.Sink(catalog_name(relation.name)), self._union(relation, inside))
        for name, node in inside.close().items():
            scope.builder.add(ops.Sink(name), node)
        return ViewDefinitions(tuple(map(self._view, relations)), scope.builder.build())

    def _inspections(self, relations: Sequence[c.ResolvedRelation]) -> Iterator[ViewDefinitions]:
        """Yield the rows that `InspectStep` reads in recursive rules: their bindings at the fixpoint."""
        for relation in relations:
            scope, before = self._scope(), len(self.inspected)
            for rule, head in self._rules.get(relation.name, ()):
                if head is rule.heads[0] and any(isinstance(clause, c.InspectStep) for clause in rule.body):
                    self._derived(rule, head, scope)
            if views := self._looked(relation, before):
                yield ViewDefinitions(views, scope.builder.build())

    def _looked(self, relation: c.ResolvedRelation, before: int) -> tuple[CatalogView, ...]:
        """Return the views of what is inspected, after a number of them."""
        place = relation.span.place
        return tuple(CatalogView(each.name, self._shown[each.name], place=place) for each in self.inspected[before:])

    def _union(self, relation: c.ResolvedRelation, scope: LoweringScope) -> int:
        """Return the content of a relation: its input, its facts, and the rows that its rules derive."""
        outside = scope.outside
        schema = self.form(relation.name).schema
        parts = []
        if relation.role == "input":
            parts.append(scope.bring(outside.source(catalog_name(relation.name)), outside))
        if facts := self._facts(relation):
            parts.append(scope.constant(schema, facts))
        for rule, head in self._rules.get(relation.name, ()):
            if rule.body:
                parts.append(self._derived(rule, head, scope))
        parts = parts or [scope.constant(schema)]
        node = parts[0] if len(parts) == 1 else scope.builder.add(ops.Plus(), *parts)
        return scope.builder.distinct(node) if self._is_set(relation) else node

    def _facts(self, relation: c.ResolvedRelation) -> tuple[tuple[object, ...], ...]:
        form = self.form(relation.name)
        heads = (head for rule, head in self._rules.get(relation.name, ()) if not rule.body)
        rows = (form.row(self._expressions.constant(head.record)) for head in heads)
        return tuple(dict.fromkeys(rows) if self._is_set(relation) else rows)

    def _derived(self, rule: c.ResolvedRule, head: c.Head, scope: LoweringScope) -> int:
        body, is_first = RuleBindings(scope, self._expressions, self.form), head is rule.heads[0]
        clauses = with_rows(rule.body)
        while clauses:
            clause, *clauses = clauses
            if isinstance(clause, c.GroupBy):
                step, clauses, head = reduced(self.checked, clause, clauses, head, body.known)
                _add(body, step)
            elif not isinstance(clause, c.InspectStep):
                _add(body, clause)
            elif is_first and scope is scope.outside:
                self._look(clause, body, scope)
        return body.head(head)

    def _look(self, clause: c.InspectStep, body: RuleBindings, scope: LoweringScope) -> None:
        """A view of what is known where an `InspectStep` stands."""
        name = f"{INSPECTED}.{len(self.inspected)}"
        columns = list(dict.fromkeys(each for binding in body.known.values() for each in binding.columns))
        node = project(scope.builder, body.node, columns, [column(each.name) for each in columns])
        scope.builder.add(ops.Sink(name), node)
        self._shown[name] = scope.builder.type_of(node)
        self.inspected.append(Inspected(name, clause, dict(body.known)))

    def _index(self, index: c.Index) -> ViewDefinitions:
        """Return the records of an index, each after the values of its parameters."""
        scope = self._scope()
        body = RuleBindings(scope, self._expressions, self.form)
        form, name, span = self.form(index.relation), "?record", index.span
        whole = core.As(span=span, type=form.record, name=name, pattern=index.pattern)
        body.add(c.MatchStep(index.relation, whole, delay=0, differentiated=False, span=span))
        keys = [(f"key?{i}", body.known[each].columns[0]) for i, (each, _) in enumerate(index.parameters)]
        pairs = [*keys, *zip(form.names, body.known[name].columns, strict=True)]
        columns = [replace(each, name=called) for called, each in pairs]
        node = project(scope.builder, body.node, columns, [column(each.name) for _, each in pairs])
        scope.builder.add(ops.Sink(index_name(index.name)), node)
        view = CatalogView(index_name(index.name), scope.builder.type_of(node), place=span.place)
        return ViewDefinitions((view,), scope.builder.build())


def _add(body: RuleBindings, clause: Step) -> None:
    """Add a clause; raises ProgramError where a variable would have values that cannot be stored."""
    try:
        body.add(clause)
    except RecordError as error:
        raise ProgramError([clause.span.error(str(error), "use such values where they are made")]) from error

"""The search for an explanation: from the row down, each row once, premises of a recursion at earlier iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from deltic.catalog import Catalog, ViewDefinitions
from deltic.circuit import operators as ops
from deltic.circuit.operators.keep import Keep
from deltic.engine.version import Version
from deltic.errors import DelticError
from deltic.values import in_order
from deltic.why.derivations import Derivation, Fact, RowDerivations
from deltic.why.explanation import Explanation, ExplanationStep, shown
from deltic.why.relations import (
    Bound,
    DefinedView,
    RecursiveRelation,
    Relation,
    RelationScope,
    Row,
    SourceTable,
    VersionReader,
)
from deltic.why.rows import Evaluator

_Key = tuple[object, ...]


class ExplanationSearch:
    """Explains rows of a catalog's views over one version; a search reads no more than what its rows need."""

    def __init__(
        self, catalog: Catalog, version: Version, through: bool = True, others: Sequence[ViewDefinitions] = ()
    ) -> None:
        self.catalog, self.version, self.through = catalog, version, through
        self.evaluator = Evaluator(VersionReader(catalog, version, others))
        self.derivations = RowDerivations(self.evaluator)

    def row_with(self, name: str, bound: Bound) -> Row:
        """The first row with these values; raises DelticError where none has them."""
        rows = self.rows_with(name, bound)
        if not rows:
            told = ", ".join(f"{column} = {shown(value)}" for column, value in bound.items())
            raise DelticError(f"{name} has no row{told and f' with {told}'}; why_not says what is missing")
        return rows[0]

    def rows_with(self, name: str, bound: Bound) -> list[Row]:
        """The rows with these values, in order."""
        rows = self.evaluator.rows_of(self.relation(name), bound)
        there = (row for row, weight in rows.items() if weight > 0)
        return sorted(there, key=lambda row: [in_order(value) for value in row])

    def relation(self, name: str) -> DefinedView | SourceTable:
        """The view of that name, or the table."""
        return self.evaluator.reader.relation(name)

    def why(self, name: str, row: Row, depth: int | None = None, budget: int = 100_000) -> Explanation:
        """The explanation of a row that is there, of least height by iterations."""
        fact = Fact(self.relation(name), row)
        root = self._explained(fact, depth, budget)
        return Explanation(root, self.version.epoch, lambda: self._others(fact, depth, budget))

    def _others(self, fact: Fact, depth: int | None, budget: int) -> Iterator[ExplanationStep]:
        """The steps of the row's other derivations."""
        for by, place, derivation in islice(self.ways(fact), 1, None):
            yield self._explained(fact, depth, budget, (by, place, derivation))

    def _explained(
        self, root: Fact, depth: int | None, budget: int, first: tuple[str, str, Derivation] | None = None
    ) -> ExplanationStep:
        """The step of a row, with those below it: a row that several steps need is one step."""
        steps: dict[_Key, ExplanationStep] = {}
        made: list[tuple[ExplanationStep, Derivation, list[Fact]]] = []
        root = self._identified(root)
        pending = [(root, 0)]
        while pending:
            fact, level = pending.pop()
            if (key := _key(fact)) in steps:
                continue
            step = steps[key] = _step(fact)
            if isinstance(fact.relation, SourceTable):
                continue
            is_stopped = not self.through and isinstance(fact.relation, DefinedView) and level > 0
            if is_stopped or len(steps) > budget or (depth is not None and level >= depth):
                step.is_cut = True
                continue
            way = first if first is not None and not level else next(self.ways(fact), None)
            if way is None:
                raise DelticError(f"why: no derivation of {step} is among the rows of epoch {self.version.epoch}")
            step.by, step.place, derivation = way
            facts = [self._identified(premise) for premise in derivation.premises if isinstance(premise, Fact)]
            made.append((step, derivation, facts))
            pending += [(premise, level + 1) for premise in reversed(facts)]
        for step, derivation, facts in made:
            rows = iter(facts)
            step.variables = derivation.variables
            step.premises = tuple(steps[_key(next(rows))] if isinstance(p, Fact) else p for p in derivation.premises)
        _measure(result := steps[_key(root)])
        return result

    def _identified(self, fact: Fact) -> Fact:
        """The fact under its own iteration; a view that is a relation of a recursion, as that."""
        relation = fact.relation
        if isinstance(relation, DefinedView):
            scope = self.evaluator.reader.scope(relation.name)
            leaf = self.evaluator.leaf(scope, scope.circuit.sinks[relation.name])
            if not isinstance(leaf, RecursiveRelation) or leaf.name != relation.name:
                return fact
            relation = leaf
        if isinstance(relation, RecursiveRelation):
            since = self.evaluator.since(relation, fact.row)
            return Fact(RecursiveRelation(relation.recursion, relation.name, relation.schema, since), fact.row)
        return fact

    def ways(self, fact: Fact) -> Iterator[tuple[str, str, Derivation]]:
        """The derivations of a row, each with the rule and where that is written."""
        fact = self._identified(fact)
        for scope, number, by, place in self.rules(fact.relation):
            yield from ((by, place, derivation) for derivation in self.derivations.of_row(scope, number, fact.row))

    def rules(self, relation: Relation) -> Sequence[tuple[RelationScope, int, str, str]]:
        """The nodes that make rows of a relation, each with its rule's text and where that is written."""
        if isinstance(relation, SourceTable):
            return ()
        if isinstance(relation, DefinedView):
            scope = self.evaluator.reader.scope(relation.name)
        else:
            outer = relation.recursion.outer
            at = None if relation.at is None else relation.at - 1
            scope = RelationScope(relation.recursion.operator.body, outer.definition, relation.recursion, at)
        number = scope.circuit.sinks[relation.name]
        while isinstance(scope.circuit.nodes[number].operator, ops.Distinct | Keep):
            (number,) = scope.circuit.nodes[number].inputs
        node = scope.circuit.nodes[number]
        branches = node.inputs if isinstance(node.operator, ops.Plus) else (number,)
        view = self.catalog.views.get(relation.name)
        unnamed = "the query" if isinstance(relation, DefinedView) else ""
        text, place = (unnamed, "") if view is None else (view.text, view.place)
        texts = _rule_texts(relation.name, text, len(branches))
        return [(scope, branch, rule, place) for branch, rule in zip(branches, texts, strict=True)]


def _rule_texts(name: str, text: str, count: int) -> list[str]:
    """The text of each rule, where the text of the view has a line for each; else the number of the rule."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == count:
        return lines
    if count == 1:
        return [text or f"the definition of {name}"]
    return [f"branch {number} of {count} of {name}" for number in range(1, count + 1)]


def _key(fact: Fact) -> _Key:
    relation = fact.relation
    if isinstance(relation, RecursiveRelation):
        return id(relation.recursion), relation.name, relation.at, fact.row
    return type(relation), relation.name, fact.row


def _step(fact: Fact) -> ExplanationStep:
    relation = fact.relation
    at = relation.at if isinstance(relation, RecursiveRelation) else None
    by = "table" if isinstance(relation, SourceTable) else f"view {relation.name}"
    return ExplanationStep(relation.name, relation.schema.names, fact.row, at, by)


def _measure(root: ExplanationStep) -> None:
    """Set the heights, those of premises first."""
    done: set[int] = set()
    pending: list[tuple[ExplanationStep, bool]] = [(root, False)]
    while pending:
        step, is_below_done = pending.pop()
        if id(step) in done:
            continue
        if is_below_done:
            step.height = 0 if step.by == "table" or step.is_cut else 1 + max((p.height for p in step.steps), default=0)
            done.add(id(step))
        else:
            pending += [(step, True), *((premise, False) for premise in step.steps)]

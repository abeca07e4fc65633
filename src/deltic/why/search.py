"""The search for explanations: from a row down, each row once, with premises of a recursion at earlier iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter

from deltic.catalog import Catalog, ViewDefinitions
from deltic.catalog.words import Rules
from deltic.circuit import operators as ops
from deltic.engine.version import Version
from deltic.errors import DelticError
from deltic.values import in_order
from deltic.why.bound import Bound, Row
from deltic.why.derivations import Derivation, Fact, RowDerivations, subtracts
from deltic.why.exclusions import Exclusions
from deltic.why.explanation import Absence, Explanation, ExplanationStep, Note, as_written, shown, steps_below
from deltic.why.lasting import MOST_WAYS, Ranks, Way, lasting
from deltic.why.relations import (
    DefinedView,
    Earlier,
    RecursiveRelation,
    Relation,
    SourceTable,
    VersionReader,
    identity,
)
from deltic.why.rows import Evaluator
from deltic.why.scopes import RecursionBody, RelationScope, ScopedNode
from deltic.why.words import bound_of

_Key = tuple[object, ...]


class ExplanationSearch:
    """Explains rows of a catalog's views in one version; a search reads only the rows that it needs."""

    def __init__(
        self, catalog: Catalog, version: Version, through: bool, others: Sequence[ViewDefinitions], earlier: Earlier
    ) -> None:
        """`others` are definitions in addition to the catalog's; `earlier` returns versions of earlier epochs."""
        self.catalog, self.version, self.through = catalog, version, through
        self.evaluator = Evaluator(VersionReader(catalog, version, others, earlier))
        self.derivations = RowDerivations(self.evaluator)
        self.exclusions = Exclusions(self.derivations.copies)
        self._ranked: dict[RecursionBody, Ranks] = {}
        self._branches: dict[tuple[object, str], Sequence[tuple[int, str, str]]] = {}

    def row_with(self, name: str, bound: Bound) -> Row:
        """Return the first row with these values; raises DelticError if there is none."""
        rows = self.rows_with(name, bound)
        if not rows:
            message = ", ".join(f"{column} = {shown(value)}" for column, value in bound.items())
            doors = "why_not says what is missing (in SQL EXPLAIN WHY NOT, on the command line deltic why --not)"
            raise DelticError(f"{name} has no row{message and f' with {message}'}; {doors}")
        return rows[0]

    def rows_with(self, name: str, bound: Bound) -> list[Row]:
        """Return the rows with these values, in order."""
        rows = self.evaluator.rows_of(self.relation(name), bound)
        there = (row for row, weight in rows.items() if weight > 0)
        return sorted(there, key=in_order)

    def relation(self, name: str) -> DefinedView | SourceTable:
        """Return the view of that name, or the table."""
        return self.evaluator.reader.relation(name)

    def why(self, name: str, row: Row, depth: int | None = None, budget: int = 100_000) -> Explanation:
        """Return the explanation of a present row, of least height by iterations."""
        fact = Fact(self.relation(name), row)
        root = self.step_of(fact, depth, budget)
        return Explanation(root, self.version.epoch, lambda higher: self._others(fact, depth, budget, higher))

    def step_of(self, fact: Fact, depth: int | None, budget: int = 100_000) -> ExplanationStep:
        """Return the step of a present row with those below it."""
        root = self._explained(fact, depth, budget)
        assert root is not None
        return root

    def _others(self, fact: Fact, depth: int | None, budget: int, higher: bool) -> Iterator[ExplanationStep]:
        """Yield the steps of the row's other derivations; with `higher` also of those from rows that appear later."""
        root = self._identified(fact)
        ways = (way for way in self.derivations_of(root) if way != self._way(root))
        for way in chain(ways, self._later(root) if higher else ()):
            if (step := self._explained(fact, depth, budget, way)) is not None:
                yield step

    def _later(self, root: Fact) -> Iterator[Way]:
        """Yield the derivations from rows of the end that appear with or after the row, by their iterations."""
        relation = root.relation
        if not isinstance(relation, RecursiveRelation):
            return
        found = []
        for way in self.derivations_of(Fact(replace(relation, at=None), root.row)):
            facts = (self._identified(premise).relation for premise in way[2].premises if isinstance(premise, Fact))
            own = (f for f in facts if isinstance(f, RecursiveRelation) and f.recursion is relation.recursion)
            found.append((max((each.at or 0 for each in own), default=0), way))
        yield from (way for last, way in sorted(found, key=itemgetter(0)) if last >= (relation.at or 0))

    def _explained(
        self, asked: Fact, depth: int | None, budget: int, first: Way | None = None
    ) -> ExplanationStep | None:
        """Return the step of a row with those below it; a row that several steps need becomes one step.

        `first` derives the row itself; then the result is None if a premise of it rests on the row.
        """
        steps: dict[_Key, ExplanationStep] = {}
        made: list[tuple[ExplanationStep, Derivation, list[Fact]]] = []
        root = self._identified(asked)
        pending, initial = [(root, 0)], list[tuple[Fact, int]]()
        while pending or initial:
            if not pending:
                pending, initial = initial, []
                self._look_up([fact for fact, _ in pending])
            fact, level = pending.pop()
            if (key := _key(fact)) in steps:
                if first is not None and fact.row == root.row and key == _key(root):
                    return None
                continue
            step = steps[key] = self._step(fact)
            if isinstance(fact.relation, SourceTable):
                continue
            is_stopped = not self.through and isinstance(fact.relation, DefinedView) and level > 0
            if is_stopped or len(made) >= budget or (depth is not None and level >= depth):
                step.is_cut = True
                continue
            way = first if first is not None and not level else self._way(fact)
            if way is None:
                raise DelticError(f"why: no derivation of {step} is among the rows of epoch {self.version.epoch}")
            step.by, step.place, derivation = way
            if not derivation.lasts and self._is_ranked_now(
                fact, [root, *(each for _, _, facts in made for each in facts)]
            ):
                return self._explained(asked, depth, budget, first)
            facts = [self._identified(premise) for premise in derivation.premises if isinstance(premise, Fact)]
            made.append((step, derivation, facts))
            for premise in reversed(facts):
                (initial if _is_initial(premise.relation) else pending).append((premise, level + 1))
        for step, derivation, facts in made:
            rows = iter(facts)
            step.variables = derivation.variables
            step.premises = tuple(
                steps[_key(next(rows))] if isinstance(premise, Fact) else _in_words(premise, step.by)
                for premise in derivation.premises
            )
        for step in steps_below(steps[_key(root)]):
            step.height = 0 if step.by == "table" or step.is_cut else 1 + max((p.height for p in step.steps), default=0)
        return steps[_key(root)]

    def _look_up(self, facts: Sequence[Fact]) -> None:
        """Look up at once the rows of relations from which rules copy the rows of the first iteration."""
        for relation in {fact.relation for fact in facts}:
            rows = [fact.row for fact in facts if fact.relation == relation]
            for node, *_ in self.rules(relation):
                self.evaluator.look_up(node, rows)

    def _identified(self, fact: Fact) -> Fact:
        """Return the fact at its own first iteration; a view that is a recursion's relation becomes that relation."""
        relation = fact.relation
        if isinstance(relation, DefinedView):
            leaf = self.evaluator.leaf(self.evaluator.reader.scope(relation.name, relation.back).sink(relation.name))
            if not isinstance(leaf, RecursiveRelation) or leaf.name != relation.name:
                return fact
            relation = leaf
        if isinstance(relation, RecursiveRelation):
            ranked = self._ranked.get(relation.recursion, {}).get((relation.name, fact.row))
            is_before = ranked is not None and (relation.at is None or ranked[0] <= relation.at)
            at = ranked[0] if ranked and is_before else self.evaluator.history(relation, fact.row).span(relation.at)[0]
            return Fact(replace(relation, at=at), fact.row)
        return fact

    def _is_ranked_now(self, fact: Fact, entered: Sequence[Fact]) -> bool:
        """Search once for each recursion for derivations that last, for a row that lasts; whether some were found."""
        relation = fact.relation
        if not isinstance(relation, RecursiveRelation) or relation.recursion in self._ranked:
            return False
        if not self.evaluator.in_the_end(relation, fact.row):
            return False
        own = [
            e
            for e in entered
            if isinstance(e.relation, RecursiveRelation) and e.relation.recursion is relation.recursion
        ]
        roots = [each for each in own if self.evaluator.in_the_end(each.relation, each.row)]
        self._ranked[relation.recursion] = lasting(roots, self.evaluator, self.derivations_of)
        return bool(self._ranked[relation.recursion])

    def derivations_of(self, fact: Fact) -> Iterator[Way]:
        """Yield the derivations of a row at its iteration, each with the rule and its position in the source.

        In a monotone recursion, a rule that reads none of its relations derives all of its rows at the first iteration.
        """
        relation, rules = fact.relation, self.rules(fact.relation)
        at = relation.at if isinstance(relation, RecursiveRelation) and relation.recursion.is_monotone else None
        for node, *rule in rules:
            if at is not None and at > 1 and not self.evaluator.is_recursive(*node.place):
                continue
            parts = self._parts(node.scope, relation.name) if len(rules) == 1 else ()
            for way in self.derivations.of_row(node, fact.row):
                place, of = way.part or (0, 1)
                by = parts[place] if len(parts) == of else rule
                completed = self.exclusions.completed(node, fact.row, way)
                yield *by, replace(completed, variables=bound_of(completed.variables, self.evaluator.words(node.scope)))

    def _way(self, fact: Fact) -> Way | None:
        """Return the derivation that explains a row: of the first ones, one that lasts if possible."""
        relation = fact.relation
        if isinstance(relation, RecursiveRelation):
            ranked = self._ranked.get(relation.recursion, {}).get((relation.name, fact.row))
            if ranked is not None and ranked[0] == relation.at:
                return ranked[1]
        ways = list(islice(_until_one_lasts(self.derivations_of(fact)), MOST_WAYS))
        return ways[-1] if ways and ways[-1][2].lasts else next(iter(ways), None)

    def _step(self, fact: Fact) -> ExplanationStep:
        relation, at, until = fact.relation, None, None
        if isinstance(relation, RecursiveRelation):
            at, until = relation.at, self.evaluator.until(relation, fact.row)
        by = "table" if isinstance(relation, SourceTable) else f"view {relation.name}"
        step = ExplanationStep(relation.name, relation.schema.names, fact.row, at, until, by)
        back = relation.recursion.outer.back if isinstance(relation, RecursiveRelation) else relation.back
        step.epoch = self.version.epoch - back if back else None
        return step

    def _parts(self, scope: RelationScope, name: str) -> Rules:
        """Return the rules of a view, or the queries of another recursive relation."""
        if name in scope.definition.names:
            view = self.catalog.views.get(name)
            return () if view is None else view.rules
        return self.evaluator.words(scope).texts.rules.get(name, ())

    def rules(self, relation: Relation) -> Sequence[tuple[ScopedNode, str, str]]:
        """Return the nodes that derive rows of a relation, each with its rule's text and position in the source."""
        if isinstance(relation, SourceTable):
            return ()
        if isinstance(relation, DefinedView):
            scope = self.evaluator.reader.scope(relation.name, relation.back)
        else:
            scope = relation.recursion.after(None if relation.at is None else relation.at - 1)
        place = scope.recursion or scope, relation.name
        if place not in self._branches:
            self._branches[place] = self._branches_of(scope, relation)
        return [(scope.node(number), text, written) for number, text, written in self._branches[place]]

    def _branches_of(self, scope: RelationScope, relation: Relation) -> Sequence[tuple[int, str, str]]:
        """Return the nodes of a scope that derive rows of a relation, as `rules` has them."""
        node = scope.sink(relation.name)
        while isinstance(node.operator, ops.Distinct | ops.Keep):
            node = node.below
        is_union = isinstance(node.operator, ops.Plus) and not any(map(subtracts, node.inputs))
        branches = node.inputs if is_union else (node,)
        names = scope.definition.names
        is_view = relation.name in names
        view = self.catalog.views.get(relation.name if is_view else names[0])
        unnamed = "the query" if isinstance(relation, DefinedView) else ""
        text, place = (unnamed, "") if view is None else (view.text if is_view else "", view.place)
        known = self._parts(scope, relation.name)
        text = "\n".join(dict.fromkeys(line for part, _ in known for line in part.splitlines())) or text
        rules = known if len(known) == len(branches) else _unknown_rules(relation.name, text, place, len(branches))
        return [(branch.number, *rule) for branch, rule in zip(branches, rules, strict=True)]


def _in_words(premise: Absence | Note, rule: str) -> Absence | Note:
    """Return a premise with the names that the rule has."""
    if isinstance(premise, Note):
        return Note(as_written(premise.text, rule))
    return replace(premise, where=as_written(premise.where, rule)) if premise.where else premise


def _unknown_rules(name: str, text: str, place: str, count: int) -> Sequence[tuple[str, str]]:
    """Return the text and place of a definition, or the number of each of its parts."""
    if count == 1:
        return [(text or f"the definition of {name}", place)]
    return [(f"branch {number} of {count} of {name}", place) for number in range(1, count + 1)]


def _is_initial(relation: Relation) -> bool:
    """Return whether it is a relation of a recursion at the first iteration."""
    return isinstance(relation, RecursiveRelation) and relation.at == 1


def _key(fact: Fact) -> _Key:
    return *identity(fact.relation), fact.row


def _until_one_lasts(ways: Iterator[Way]) -> Iterator[Way]:
    """Yield the derivations up to the first one whose premises all hold at the end."""
    for way in ways:
        yield way
        if way[2].lasts:
            return

"""A derived relation that is not recursive, under its refresh policy: updated by delta queries, or recomputed.

Both add derivations to the same counts: a recomputation adds all derivations minus the present counts. An update
changes nothing until it is complete, so it can be abandoned without a trace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf

from deltic.engine.operators.beginning import beginning, least_visited
from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.operators.small import SmallSearch
from deltic.engine.refresh import AbandonedError, CostHistory, Policy, Refresh
from deltic.engine.refreshed_step import Reach, RefreshedStep
from deltic.engine.result import ComponentReport
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.queries import Query

Order = tuple[str, tuple[int, ...]]
"""A relation that is probed, and the order of its columns."""
_A_ROW = 3e-7
"""The approximate processor time of a search for each visited row, in seconds."""


class RuleSearches:
    """The delta queries of one rule. Each of `beginnings` has a positive atom as its delta, so it can find all rows."""

    def __init__(self, evaluations: Sequence[Evaluation], states: Mapping[str, State]) -> None:
        absent = max(len(each.query.body.absent) for each in evaluations)
        self.evaluations = evaluations
        self.beginnings = [each for each in evaluations if len(each.query.body.absent) == absent]
        self._positive = [states[atom.relation] for atom in self.beginnings[0].query.body.atoms]

    def were_empty(self) -> bool:
        """Return whether it is a join, and all of its positive atoms were empty before the present change."""
        return len(self._positive) > 1 and all(state.was_empty() for state in self._positive)


class DerivedStep(RefreshedStep):
    """The step of one relation; `rules` makes the evaluations of the queries of each of its rules, when first needed.

    `stores` are the relations whose rows are stored.
    """

    is_timed = is_due = False
    quick = 0.02

    def __init__(
        self,
        name: str,
        rules: Callable[[], Iterable[Sequence[Evaluation]]],
        follows: frozenset[str],
        environment: Environment,
        refresh: Refresh,
        history: CostHistory,
        stores: Callable[[str], bool],
    ) -> None:
        states = environment.states
        self._make_rules = rules
        super().__init__((name,), states, follows, environment.visits, refresh, history)
        self._state, self._environment, self._stores, self._is_stored = states[name], environment, stores, stores(name)

    @cached_property
    def _rules(self) -> list[RuleSearches]:
        return [RuleSearches(evaluations, self._environment.states) for evaluations in self._make_rules()]

    @property
    def _queries(self) -> Iterator[Query]:
        return (each.query for rule in self._rules for each in rule.evaluations)

    def orders(self) -> frozenset[Order]:
        """Make its queries, and return the relations that they probe, each with the order of its columns."""
        return frozenset(order for rule in self._rules for each in rule.evaluations for order in each.orders)

    @cached_property
    def reads_stored_rows(self) -> bool:
        """Return whether the rows of all relations that it reads are stored."""
        return all(self._stores(name) for query in self._queries for name in query.relations)

    @cached_property
    def can_recompute(self) -> bool:
        """Return whether the rows of the relation and of all that it reads are stored."""
        return bool(self._rules) and self._is_stored and self.reads_stored_rows

    def run(self) -> ComponentReport | None:
        """Update the relation. Return a report if it was recomputed."""
        if (copied := self._copied()) is not None:
            self._state.set_change(copied, self._is_stored)
            return None
        if self.refresh.policy is Policy.INCREMENTAL or not self.can_recompute:
            self._add(self._updated())
            return None
        if not self._state.contents.runs:
            self.record(lambda reach: self._add(self._updated()))
            return None
        started, visited = time.perf_counter(), self.visits.rows
        if (reason := self.refreshed()) is None:
            return None
        rows_in = sum(self.changes().values())
        rows_out = 0 if self._state.delta is None else len(self._state.delta)
        costs = self.visits.rows - visited, time.perf_counter() - started, self._state.nbytes
        return ComponentReport(self.relations, "derived", "recompute", reason, rows_in, rows_out, *costs)

    @cached_property
    def _only(self) -> Evaluation | None:
        """The only query of a bag; None for others."""
        every = [each for rule in self._rules for each in rule.evaluations]
        return every[0] if len(every) == 1 and self._state.kind is not RelationKind.SET else None

    def _copied(self) -> Run | None:
        """Return the change of another relation that is the change of this one, too; None if there is none."""
        if self._only is None or self.refresh.policy is Policy.FULL:
            return None
        delta = self.lower[self._only.query.delta.relation].delta
        return None if delta is None or delta.times.size else self._only.copied(delta)

    def decision(self) -> Iterator[str]:
        """Yield the estimates on which the policy decides, if updates have taken noticeable time."""
        for (source, sign), rows in self.history.largest.items():
            expected = self.history.predict({(source, sign): rows}) or 0.0
            change = f"{rows:,} rows {'added to' if sign > 0 else 'removed from'} {source}"
            costs = f"{expected:.2g} s, all rows {self.expected():.2g} s"
            yield f"{self.relations[0]}: {change} are expected to cost {costs}"

    def begin(self) -> None:
        """Compute all rows: each rule once."""
        self.record(lambda reach: self._add(self._whole()))

    def update(self, reach: Reach) -> None:
        """Add the derivations from the changes below. If `reach` raises AbandonedError, nothing was added."""
        faults = list(self._environment.faults)
        reach(0)
        try:
            with self._environment.judged(lambda: reach(0)):
                batch = self._updated()
        except AbandonedError:
            self._environment.faults.be(faults)
            raise
        self._add(batch)

    def compute(self, reach: Reach) -> None:
        """Compute all derivations, and add them minus the present counts."""
        batch = self._whole()
        counted = self._state.contents if self._state.counts is None else self._state.counts
        for run in counted.runs:
            batch.add(run.words, -run.all_weights())
        self._add(batch)

    def _add(self, derivations: CountChanges) -> None:
        self._state.add_derivations(derivations, self._is_stored)

    def _updated(self) -> CountChanges:
        """Return the change of the counts from the changes below. A rule whose atoms were all empty is computed in
        full.
        """
        batch, small = CountChanges(), list[SmallSearch]()
        for rule in self._rules:
            if self.reads_stored_rows and rule.were_empty():
                self._begin(rule, batch)
            else:
                for evaluation in rule.evaluations:
                    self._follow(evaluation, batch, small)
        for derived in self._environment.derivations(small) if small else ():
            batch.add(derived.words, derived.weights)
        return batch

    def _follow(self, evaluation: Evaluation, batch: CountChanges, small: list[SmallSearch]) -> None:
        """Add the derivations from the change of an atom, or the search for them if the change is small."""
        delta = self.lower[evaluation.query.delta.relation].delta
        if delta is None:
            return
        if (search := evaluation.small(delta)) is not None:
            small.append(search)
            return
        for derived in evaluation.run(delta):
            batch.add(derived.words, derived.weights)

    def _whole(self) -> CountChanges:
        """Return all derivations."""
        batch = CountChanges()
        for rule in self._rules:
            self._begin(rule, batch)
        return batch

    def _begin(self, rule: RuleSearches, batch: CountChanges) -> None:
        """Add all derivations of a rule, from all rows of one of its atoms."""
        start = beginning(rule.beginnings)
        whole = self.lower[start.query.delta.relation].whole()
        for derived in start.run(whole, version=_present):
            batch.add(derived.words, derived.weights)

    def expected(self) -> float:
        """Return the expected processor seconds of a recomputation: those of the last, or an estimate by its plans."""
        if self.history.profile.work:
            return super().expected()
        return _A_ROW * sum(least_visited(rule.beginnings) for rule in self._rules)


def _present(arrangement: Arrangement) -> tuple[Run, ...]:
    """Return the present version of an arrangement, merged, so that rows which cancel out are not visited."""
    return arrangement.current(most=inf)

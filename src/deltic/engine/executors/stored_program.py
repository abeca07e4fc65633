"""A program over the relations of one store: their queries, kernels and recursions, and what these cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from deltic.circuit.graph import Circuit
from deltic.engine.executors.defined import DefinedStep
from deltic.engine.executors.derived import DerivedStep
from deltic.engine.operators.binding import value_of
from deltic.engine.operators.query import Environment, Evaluation, no_inner_engine
from deltic.engine.operators.search import Visits
from deltic.engine.options import Options
from deltic.engine.plan.plan import Plan
from deltic.engine.protocol import Engine
from deltic.engine.recursion.component import component_of
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.refresh import CostHistories, Policy
from deltic.engine.result import ComponentReport, StratumWork
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.store import Store
from deltic.errors import CountOverflowError
from deltic.program.program import Program, Stratum
from deltic.progress import step_began, step_ended

Done = TypeVar("Done")
Costs = dict[tuple[str, ...], tuple[int, float]]
"""The rows visited and the seconds spent, by the relations that steps compute."""


class EpochWork:
    """The work of the present epoch's steps over one store. Each step is also shown as progress of its views."""

    def __init__(self, program: Program, visits: Visits, place: str = "") -> None:
        self._program, self._visits, self._place = program, visits, place
        self._shown: dict[str, str] = {}
        self.forget()

    def forget(self) -> None:
        """Start an epoch."""
        self.costs: Costs = {}
        self.reports: list[ComponentReport] = []

    def of(self, relations: tuple[str, ...], take: Callable[[], Done], shown: str = "") -> Done:
        """Take a step that computes these relations. Progress has the views over the first one, or over `shown`.

        A CountOverflowError names the relations.
        """
        started, visited = time.perf_counter(), self._visits.rows
        step_began(doing := self._computing(shown or relations[0]))
        try:
            result = take()
        except CountOverflowError as error:
            raise error.of(relations) from None
        rows, seconds = self._visits.rows - visited, time.perf_counter() - started
        known, spent = self.costs.get(relations, (0, 0.0))
        self.costs[relations] = known + rows, spent + seconds
        step_ended(doing, rows, seconds)
        return result

    @property
    def strata(self) -> tuple[StratumWork, ...]:
        """The work of each stratum, if each had one step."""
        return tuple(StratumWork(relations, *cost) for relations, cost in self.costs.items())

    def _computing(self, name: str) -> str:
        """Return what is shown of a step: the views that it computes, or that are computed from it."""
        if name not in self._shown:
            views = self._program.views_by_relation.get(name, ("a view",))
            self._shown[name] = f"computing {', '.join(views)}{self._place}"
        return self._shown[name]


def add_costs(costs: Costs, more: Costs) -> None:
    """Add costs to others."""
    for relations, (rows, seconds) in more.items():
        visited, spent = costs.get(relations, (0, 0.0))
        costs[relations] = visited + rows, spent + seconds


def work_of(program: Program, costs: Costs) -> tuple[StratumWork, ...]:
    """Return the work of each stratum of a program, in order, from the costs of single relations."""
    parts = {s.relations: [costs[(name,)] for name in s.relations if (name,) in costs] for s in program.strata}
    sums = {relations: map(sum, zip(*part, strict=True)) for relations, part in parts.items() if part}
    return tuple(StratumWork(relations, *both) for relations, both in sums.items())


class StoredProgram:
    """A program whose relations are all in one store. New ones are empty."""

    def __init__(
        self,
        program: Program,
        store: Store,
        options: Options,
        inner: Callable[[Circuit], Engine] = no_inner_engine,
        draws: bool = True,
        passed: Collection[str] = (),
        place: str = "",
    ) -> None:
        """Add the program's new relations to the store. See `Environment` for `inner` and `draws`.

        The rows of relations that are `passed` on are not stored. Progress names the `place`.
        """
        store.define(program, lambda literal: value_of(literal, store.interner), options.bags)
        store.keep_keys(options.keys)
        self.program, self.store, self.options, self.states = program, store, options, store.states
        self._passed = passed
        self.forgettable: Collection[str] = ()
        """The relations of which rows may be forgotten. What is derived from them is never recomputed."""
        self.environment = Environment(
            self.states,
            store.interner,
            iteration_limit=options.iteration_limit,
            recursion_timeout=options.recursion_timeout,
            thresholds=options.thresholds,
            inner_engine=inner,
            draws=draws,
        )
        self.work = EpochWork(program, self.environment.visits, place)
        """What the steps of the present epoch cost and report."""
        self._evaluations, self._derived = list[Evaluation](), list[DerivedStep]()
        self.histories = CostHistories()
        """What the recursions, and the relations that can be recomputed, have cost."""

    def evaluation(self, plan: Plan, reads_as_named: bool = False) -> Evaluation:
        """Return the evaluation of a planned query."""
        domains = self.store.domains.variables[plan.query.rule]
        self._evaluations.append(Evaluation(plan, domains, self.environment, reads_as_named))
        return self._evaluations[-1]

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """The planned queries of the program's rules, also of those that have not run yet."""
        for step in self._derived:
            step.orders()
        return self._evaluations

    def is_stored(self, name: str) -> bool:
        """Return whether the rows of a relation are stored."""
        return name not in self._passed and self.states[name].kind is not RelationKind.TRANSIENT

    def defined(self, name: str) -> DefinedStep:
        """Return what updates a relation with a kernel."""
        return DefinedStep(name, self.states, self.environment, self.is_stored(name))

    def derived(
        self, name: str, rules: Callable[[], Iterable[Sequence[Evaluation]]], follows: frozenset[str]
    ) -> DerivedStep:
        """Return what updates a relation by the delta queries of its rules, which find all derivations here."""
        history, refresh = self.histories.of((name,)), self.options.refresh
        if not frozenset(self.forgettable).isdisjoint(self.program.reads(name)):
            refresh = replace(refresh, policy=Policy.INCREMENTAL)
        self._derived.append(DerivedStep(name, rules, follows, self.environment, refresh, history, self.is_stored))
        return self._derived[-1]

    def recursive(self, stratum: Stratum, evaluations: Sequence[Evaluation]) -> Recursive:
        """Return what updates a recursion by the delta queries of its rules."""
        strategy, refresh = self.options.strategies.of(stratum.relations), self.options.refresh.of(stratum)
        component = component_of(stratum, self.states, evaluations, strategy, self.environment)
        return Recursive(component, self.states, refresh, self.histories.of(stratum.relations))

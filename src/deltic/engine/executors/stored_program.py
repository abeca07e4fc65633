"""A program over the relations of one store: their queries, kernels and recursions, and what these cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from deltic.circuit.graph import Circuit
from deltic.engine.executors.defined import DefinedStep
from deltic.engine.executors.derived import DerivedStep
from deltic.engine.executors.epoch_work import EpochWork
from deltic.engine.operators.binding import value_of
from deltic.engine.operators.query import Environment, Evaluation, no_inner_engine
from deltic.engine.options import Options
from deltic.engine.plan.plan import Plan
from deltic.engine.protocol import Engine
from deltic.engine.recursion.component import component_of
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.refresh import CostHistories, Policy
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.store import Store
from deltic.program.program import Program, Stratum


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

"""The order of an epoch: one stratum after the other, each only if a relation that it reads has changed."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deltic.engine.executors.inline.derived import DerivedStep
from deltic.engine.image import Json
from deltic.engine.operators.kernel import KERNELS, RelationUpdater
from deltic.engine.operators.query import Environment, Evaluation
from deltic.engine.operators.search import Visits
from deltic.engine.recursion.component_of import component_of
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.recursion.strategy import Strategies
from deltic.engine.refresh import CostHistory, Refresh
from deltic.engine.result import ComponentReport, StratumWork
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import DomainOverflow
from deltic.engine.storage.state import State, StoreSnapshot
from deltic.errors import CountOverflowError
from deltic.program.definitions import Definition, Derived
from deltic.program.program import Program

# For this many sets of changed relations, the affected strata are cached.
_COURSES = 256


@dataclass(frozen=True)
class StrataReport:
    """What an epoch did to recursions and recomputed relations, and the work of each stratum."""

    components: tuple[ComponentReport, ...] = ()
    work: tuple[StratumWork, ...] = ()


class Strata:
    """Updates all derived relations by the `delta` of tables and constants."""

    def __init__(
        self,
        program: Program,
        states: Mapping[str, State],
        evaluations: Sequence[Evaluation],
        strategies: Strategies,
        refresh: Refresh,
        environment: Environment,
    ) -> None:
        by_head: dict[str, list[Evaluation]] = defaultdict(list)
        for evaluation in evaluations:
            by_head[evaluation.query.head].append(evaluation)
        self._steps: list[DerivedStep | _Defined | Recursive] = []
        for stratum in program.strata:
            result = [e for name in stratum.relations for e in by_head.get(name, ())]
            name = stratum.relations[0]
            definition = program.relations[name].definition
            if stratum.recursive:
                component = component_of(stratum, states, result, strategies.of(stratum.relations), environment)
                self._steps.append(Recursive(component, states, refresh.of(stratum)))
            elif isinstance(definition, Derived):
                self._steps.append(DerivedStep(name, states, result, refresh, environment))
            elif type(definition) in KERNELS:
                kernel = KERNELS[type(definition)](definition, states, states[name], environment)
                self._steps.append(_Defined(name, definition, states, kernel, environment.visits))
        self._states = states
        self._environment = environment
        self._courses: dict[frozenset[str], _Course] = {}

    def may_change(self, relations: frozenset[str]) -> frozenset[str]:
        """Return the relations that may change in an epoch that changes these. Cached."""
        return self._course(relations).relations

    def _course(self, changed: frozenset[str]) -> _Course:
        if changed not in self._courses:
            if len(self._courses) >= _COURSES:
                self._courses.clear()
            steps, relations = [], set(changed)
            for step in self._steps:
                if not step.follows.isdisjoint(relations) or step.is_timed:
                    steps.append(step)
                    relations.update(step.relations)
            self._courses[changed] = _Course(tuple(steps), frozenset(relations))
        return self._courses[changed]

    def adopt(self, other: Strata, kept: Mapping[str, str]) -> None:
        """Let kept strata reuse the cost histories of another program's; `kept` maps names to the other's names."""
        learned = {frozenset(step.relations): step for step in other._adaptive}
        for step in self._adaptive:
            if step.relations[0] in kept:
                was = learned.get(frozenset(kept[name] for name in step.relations))
                if was is not None:
                    step.history = was.history

    def decisions(self, relations: Collection[str]) -> Iterator[str]:
        """Yield a line on the policy's estimates for each of these relations that is not recursive."""
        for step in self._steps:
            if isinstance(step, DerivedStep) and step.relations[0] in relations:
                yield from step.decision()

    @property
    def _adaptive(self) -> Iterator[DerivedStep | Recursive]:
        """Yield the strata that are updated or recomputed, whichever costs less."""
        for step in self._steps:
            if isinstance(step, Recursive) or (isinstance(step, DerivedStep) and step.can_recompute):
                yield step

    def learned(self) -> list[dict[str, Json]]:
        """Return the cost histories of strata as JSON."""
        known = (step for step in self._adaptive if step.history.profile.iterations or step.history.coefficients)
        return [{"relations": step.relations, **step.history.written()} for step in known]

    def learn(self, learned: Sequence[Mapping[str, Json]]) -> None:
        """Restore the cost histories of strata."""
        by_relations = {frozenset(about["relations"]): about for about in learned}
        for step in self._adaptive:
            if (about := by_relations.get(frozenset(step.relations))) is not None:
                step.history = CostHistory.read(about)

    def run(self, grow: Callable[[DomainOverflow], None], new: Collection[str] = ()) -> StrataReport:
        """Run one epoch, and set the deltas of derived relations. It ends with all changes merged.

        Relations that are `new` are empty, and are computed from all that they read. Kept relations have been computed
        from the rows with which new ones start, so these rows are no change to them. If a computed value has no place,
        `grow` makes room and repacks the present rows, and only the stratum restarts.
        """
        for name in self._states.keys() & new:
            self._end_change(self._states[name])
        changed = {name for name, state in self._states.items() if state.delta is not None}
        reports, work, visits = [], [], self._environment.visits
        for step in self._steps if new else self._course(frozenset(changed)).steps:
            begins = step.relations[0] in new
            if begins or not step.follows.isdisjoint(changed) or step.is_due:
                self._environment.check()
                started, visited = time.perf_counter(), visits.rows
                report = self._settled(step, begins, grow)
                work.append(StratumWork(step.relations, visits.rows - visited, time.perf_counter() - started))
                if begins:
                    for name in step.relations:
                        self._end_change(self._states[name])
                else:
                    changed |= {name for name in step.relations if self._states[name].delta is not None}
                if report is not None:
                    reports.append(report)
        for name in changed:
            self._states[name].compact()
        return StrataReport(tuple(reports), tuple(work))

    def _settled(
        self, step: DerivedStep | _Defined | Recursive, begins: bool, grow: Callable[[DomainOverflow], None]
    ) -> ComponentReport | None:
        """Run a step, and retry it until all domains hold its values.

        Raises DomainOverflow if a recursion with Python operators lacks room: the whole epoch must then undo the
        changes that these operators have received.
        """
        states = [self._states[name] for name in step.relations]
        while True:
            before, faults = StoreSnapshot.of(states), list(self._environment.faults)
            try:
                return step.begin() if begins else step.run()
            except DomainOverflow as overflow:
                if isinstance(step, Recursive) and step.is_timed:
                    raise
                before.restore()
                for state in states:
                    state.delta = None
                self._environment.faults.be(faults)
                grow(overflow)
            except CountOverflowError as error:
                raise error.of(step.relations) from None

    def _end_change(self, state: State) -> None:
        """End the change of a new relation's first rows. If rows are not stored, keep the change for its readers."""
        state.compact()
        if state.kind is not RelationKind.TRANSIENT:
            state.delta = None


@dataclass(frozen=True)
class _Course:
    """The possible work of an epoch: steps, in order, and the relations that the epoch may change."""

    steps: tuple[DerivedStep | _Defined | Recursive, ...]
    relations: frozenset[str]


class _Defined:
    """A relation with a kernel, which reads the relations of its definition."""

    def __init__(
        self, name: str, definition: Definition, states: Mapping[str, State], kernel: RelationUpdater, visits: Visits
    ) -> None:
        self.relations, self._visits = (name,), visits
        self.follows, self.is_timed = frozenset(definition.sources), definition.is_timed
        self.state, self.kernel = states[name], kernel
        self.sources = [states[name] for name in definition.sources]

    @property
    def is_due(self) -> bool:
        """Return whether it must run even if nothing below it changes."""
        return self.kernel.is_due

    def run(self) -> ComponentReport | None:
        """Compute the relation's change from those of its sources."""
        started, before = time.perf_counter(), self._visits.rows
        change = self.kernel.change()
        if change is not None and len(change):
            self.state.delta = change
            self.state.append(change)
        if not self.kernel.recomputes:
            return None
        visited, seconds = self._visits.rows - before, time.perf_counter() - started
        rows_in = sum(len(source.delta) for source in self.sources if source.delta is not None)
        outcome = "fallback", "recompute", self.kernel.recomputes, rows_in, len(change or ()), visited, seconds
        return ComponentReport(self.relations, *outcome, self.state.nbytes)

    def begin(self) -> None:
        """Compute all rows: the change is all rows of its sources. Sources without stored rows have run before."""
        deltas = [source.delta for source in self.sources]
        for source in self.sources:
            if source.kind is not RelationKind.TRANSIENT:
                source.delta = source.whole()
        try:
            if any(source.delta for source in self.sources):
                self.run()
        finally:
            for source, delta in zip(self.sources, deltas, strict=True):
                source.delta = delta

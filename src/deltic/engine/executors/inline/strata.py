"""The order of an epoch: one stratum after the other, each only if a relation that it reads has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from deltic.engine.executors.defined import DefinedStep
from deltic.engine.executors.derived import DerivedStep, Order
from deltic.engine.executors.inline.epoch_runner import Grow
from deltic.engine.executors.stored_program import StoredProgram
from deltic.engine.operators.kernel import KERNELS
from deltic.engine.operators.query import Evaluation
from deltic.engine.plan.planner import plans_of
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.result import ComponentReport
from deltic.engine.storage.columns import DomainOverflow
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State
from deltic.program.definitions import Derived

# For this many sets of changed relations, the affected strata are cached.
_COURSES = 256


class Strata:
    """Updates all derived relations by the `delta` of tables and constants."""

    def __init__(self, stored: StoredProgram, orders: Mapping[str, frozenset[Order]]) -> None:
        """Prepare the steps of a program. The queries of a relation with known `orders` are planned when they run."""
        self._states, self._environment, self._work = stored.states, stored.environment, stored.work
        self._store, program = stored.store, stored.program
        self.orders = dict[str, frozenset[Order]]()
        """The orders that the queries of each derived relation probe."""
        self._steps: list[DerivedStep | DefinedStep | Recursive] = []
        for stratum in program.strata:
            name = stratum.relations[0]
            definition = program.relations[name].definition
            if stratum.recursive:
                queries = [e for each in stratum.relations for rule in _by_rule(stored, each) for e in rule]
                self._steps.append(stored.recursive(stratum, queries))
            elif isinstance(definition, Derived):
                follows = frozenset[str]().union(*(rule.follows for rule in program.rules_of(name)))
                step = stored.derived(name, partial(_by_rule, stored, name), follows)
                self.orders[name] = orders[name] if name in orders else step.orders()
                for relation, order in self.orders[name]:
                    self._states[relation].declare(order)
                self._steps.append(step)
            elif type(definition) in KERNELS:
                self._steps.append(stored.defined(name))
        self._courses: dict[frozenset[str], _Course] = {}

    def course(self, changed: frozenset[str]) -> _Course:
        """Return the possible work of an epoch that changes these relations. Cached."""
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

    def decisions(self, relations: Collection[str]) -> Iterator[str]:
        """Yield a line on the policy's estimates for each of these relations that is not recursive."""
        for step in self._steps:
            if isinstance(step, DerivedStep) and step.relations[0] in relations:
                yield from step.decision()

    def run(self, grow: Grow, new: Collection[str] = ()) -> None:
        """Run one epoch, and set the deltas of derived relations. It ends with all changes merged.

        Relations that are `new` are empty, and are computed from all that they read. Kept relations have been computed
        from the rows with which new ones start, so these rows are no change to them. If a computed value has no place,
        `grow` makes room and repacks the present rows, and only the stratum restarts.
        """
        for name in self._states.keys() & new:
            self._end_change(self._states[name])
        changed = {state.relation.name for state in self._store.changed()}
        self._work.forget()
        for step in self._steps if new else self.course(frozenset(changed)).steps:
            begins = step.relations[0] in new
            if begins or not step.follows.isdisjoint(changed) or step.is_due:
                self._environment.check()
                report = self._work.of(step.relations, partial(self._settled, step, begins, grow))
                if begins:
                    for name in step.relations:
                        self._end_change(self._states[name])
                else:
                    changed |= {name for name in step.relations if self._states[name].delta is not None}
                if report is not None:
                    self._work.reports.append(report)
        for name in changed:
            self._states[name].compact()

    def _settled(self, step: DerivedStep | DefinedStep | Recursive, begins: bool, grow: Grow) -> ComponentReport | None:
        """Run a step, and retry it until all domains hold its values.

        Raises DomainOverflow if a recursion with Python operators lacks room: the whole epoch must then undo the
        changes that these operators have received.
        """
        faults = list(self._environment.faults)
        while True:
            try:
                return step.begin() if begins else step.run()
            except DomainOverflow as overflow:
                if isinstance(step, Recursive) and step.is_timed:
                    raise
                self._environment.faults.be(faults)
                grow(overflow, [self._states[name] for name in step.relations])

    def _end_change(self, state: State) -> None:
        """End the change of a new relation's first rows. If rows are not stored, keep the change for its readers."""
        state.compact()
        if state.kind is not RelationKind.TRANSIENT:
            state.delta = None


def _by_rule(stored: StoredProgram, name: str) -> list[list[Evaluation]]:
    """Return the evaluations of the delta queries of each rule of a relation."""
    return [[stored.evaluation(plan) for plan in plans_of(rule)] for rule in stored.program.rules_of(name)]


@dataclass(frozen=True)
class _Course:
    """The possible work of an epoch: steps, in order, and the relations that the epoch may change."""

    steps: tuple[DerivedStep | DefinedStep | Recursive, ...]
    relations: frozenset[str]

"""Evaluates queries: the segments of a plan in turn, from the change to the derivations of the head."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.expressions.checks import undefined
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.interrupts import postponed
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.operators import scalar
from deltic.engine.operators.binding import Binder, Binding, BoundSegment, wide
from deltic.engine.operators.columns import ColumnOperation, Columns
from deltic.engine.operators.faults import Faults
from deltic.engine.operators.intervals import intervals_of
from deltic.engine.operators.search import Derivations, ExcludedRows, QueryStatistics, Visits, search
from deltic.engine.operators.seen import Samples
from deltic.engine.operators.small import SmallSearch, derivations
from deltic.engine.parallel import processor_time
from deltic.engine.plan.grouping import plan_groups
from deltic.engine.plan.intervals import plan_intervals
from deltic.engine.plan.plan import Compute, Intervals, Plan, PlanAccess, Range
from deltic.engine.plan.planner import PlanStatistics
from deltic.engine.plan.planner import plan as planned
from deltic.engine.plan.segments import is_test
from deltic.engine.plan.shifts import Shift, plan_shifts
from deltic.engine.protocol import Engine
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.columns import Column, Domain, placed
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import NO_TIMES, NO_WEIGHTS, Run, near
from deltic.engine.storage.state import State
from deltic.program.queries import Query, Term, When, variable_name, variables_of, with_names
from deltic.values.types import Type

# From this many rows on, a range of one of their columns is worth an order.
_MANY = 256

Mask = npt.NDArray[np.bool_]
# Returns the runs of one version of an arrangement.
Version = Callable[[Arrangement], tuple[Run, ...]]


@dataclass
class VisitLimit:
    """Calls `ring`, at a point where an epoch may be ended, once the epoch has visited `rows` rows."""

    rows: float = float("inf")
    ring: Callable[[], None] = lambda: None


def _are_far(runs: Sequence[Sequence[Run]]) -> bool:
    """Return whether some run is in remote storage."""
    for atom in runs:
        for run in atom:
            if run.is_far:
                return True
    return False


def no_inner_engine(circuit: Circuit) -> Engine:
    """Fail: shards leave recursions inside recursions to one engine, so there is no inner engine here."""
    raise AssertionError(f"a recursion inside a recursion has no engine here:\n{circuit}")


def nobody() -> None:
    """The judge that lets everything continue."""


@dataclass
class Environment:
    """The shared state of the evaluation of all queries."""

    states: Mapping[str, State]
    interner: Interner
    visits: Visits = field(default_factory=Visits)
    iteration_limit: int = ITERATION_LIMIT
    recursion_timeout: float | None = RECURSION_TIMEOUT
    thresholds: Thresholds = DEFAULTS
    faults: Faults = field(default_factory=Faults)
    alarm: VisitLimit = field(default_factory=VisitLimit)
    inner_engine: Callable[[Circuit], Engine] = no_inner_engine
    """Makes the engine of a recursion inside a recursion."""
    draws: bool = True
    """Whether plans use samples of relations. For rows in files, sampling reads more than a small change does."""
    judge: Callable[[], None] = nobody
    """Called regularly while queries run. It may raise to end them."""

    @contextmanager
    def judged(self, judge: Callable[[], None]) -> Iterator[None]:
        """Apply a judge to queries in this block."""
        self.judge = judge
        try:
            yield
        finally:
            self.judge = nobody

    def derivations(self, searches: Sequence[SmallSearch]) -> Iterator[Derivations]:
        """Yield the derivations of small searches for one head. Raises DomainOverflow if a value has no place."""
        for derived in derivations(searches, self.visits, self.thresholds):
            postponed.check()
            self.judge()
            if len(derived):
                yield derived

    def check(self) -> None:
        """Handle signals that arrived, and ring the alarm if it is due. Either may raise to end the epoch."""
        postponed.check()
        if self.visits.rows >= self.alarm.rows:
            self.alarm.ring()


class Evaluation:
    """A query's plan, bound to the states of the relations that it reads.

    If a recursive relation changes, lower strata have changed before, and are read in their present state. A query that
    `reads_as_named` always reads each atom in the state that the atom names. If the query `looks_up`, sums of a
    column and a constant are looked up, as long as they all fit into their types.
    """

    def __init__(
        self,
        plan: Plan,
        domains: dict[int, Domain],
        environment: Environment,
        reads_as_named: bool = False,
        looks_up: bool = True,
    ) -> None:
        self.plan, self.domains, self.environment = plan, domains, environment
        self._reads_as_named = reads_as_named
        self.query = plan.query
        self.head = environment.states[self.query.head]
        self.value_types = {variable_name(v): t for v, t in self.query.body.types.items()}
        self.types = {name: t.type for name, t in self.value_types.items()}
        self.actual = QueryStatistics()
        self._nodes: dict[int, ColumnOperation] = {}
        self._programs: dict[object, Any] = {}
        self._binding: Binding | None = None
        self._grouped: dict[object, Evaluation | None] = {}
        self._ordered: dict[object, Evaluation] = {}
        self._many: dict[object, bool] = {}
        self._accesses = [access for segment in plan.segments for access in segment.accesses[1:]]
        self._read = [[(a, self.arrangement(a)) for a in segment.accesses[1:]] for segment in plan.segments]
        """The arrangements that each segment probes, with their accesses."""
        self._probed = [arrangement for read in self._read for _, arrangement in read]
        self._compared: tuple[Layout | None, Layout | None, bool] = (None, None, False)
        """The last layouts of the change and of the head, and whether they are equal."""
        self._shifts: tuple[Shift, ...] = ()
        self._by_shifts: Evaluation | None = None
        if looks_up and (other := plan_shifts(self.query)) is not None:
            self._by_shifts, self._shifts = self._planned(other[0]), other[1]
        self._by_ranges: Evaluation | None = None
        if looks_up and not self._shifts and (by_ranges := plan_intervals(self.query)) is not None:
            self._by_ranges = self._planned(by_ranges)

    def arrangement(self, access: PlanAccess) -> Arrangement:
        """Return the arrangement that an access probes. It may not be built yet."""
        return self.environment.states[access.relation].declare(access.order)

    @property
    def orders(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The relations that it probes, each with the order of its columns."""
        yield from ((access.relation, access.order) for access in self._accesses)
        for other in (self._by_shifts, self._by_ranges):
            yield from other.orders if other is not None else ()

    def build(self, relations: Container[str] | None = None) -> None:
        """Build the arrangements that it probes, of all relations or of these."""
        started = processor_time()
        for access, arrangement in zip(self._accesses, self._probed, strict=True):
            if not arrangement.is_built and (relations is None or access.relation in relations):
                self.environment.states[access.relation].arrangement(access.order)
        self.environment.visits.building += processor_time() - started

    def in_one_search(self, plan: Callable[[Query], Plan]) -> Evaluation:
        """Return this evaluation if one search computes all; else one that asks for the rest and shares statistics."""
        if self._is_one_search:
            return self
        result = self._planned(plan(self.query))
        result.actual = self.actual
        return result

    def _planned(self, plan: Plan) -> Evaluation:
        """Return an evaluation of the same query by another plan."""
        domains = self.domains
        if (intervals := plan.intervals) is not None:
            domains = {**domains, **{end: Domain.all(Type.INT64) for end in (intervals.least, intervals.greatest)}}
        return Evaluation(plan, domains, self.environment, self._reads_as_named, looks_up=False)

    @property
    def binding(self) -> Binding:
        """Return the plan bound to the present layouts. Check its basis before each use."""
        if self._binding is None or not self._binding.basis.holds:
            interner = self.environment.interner
            self._binding = Binder(self.plan, self.head, self.domains, self.types, self._packed_as, interner).bind()
        return self._binding

    def _packed_as(self, access: PlanAccess) -> Arrangement:
        """Return the arrangement with the layout of an access."""
        if access.when is When.DELTA and access.order == self._delta_state.canonical:
            return self._delta_state.contents
        return self.arrangement(access)

    def run(
        self,
        delta: Run,
        recursive: frozenset[str] = frozenset(),
        now: int = 0,
        version: Version | None = None,
        past: ExcludedRows | None = None,
    ) -> Iterator[Derivations]:
        """Yield the derivations from a change of the query's delta relation.

        Times count for the relations in `recursive`. If all of them are at most `now`, the derivations have no times,
        and belong to iteration now + 1. `version` returns the runs of an arrangement to read, if not those of the
        present epoch. Large batches may lack the rows that are `past`.
        """
        if not recursive and (copied := self.copied(delta)) is not None:
            yield Derivations(copied.words, NO_TIMES, copied.weights)
            return
        if not recursive and version is None and (small := self.small(delta)) is not None:
            yield from self.environment.derivations([small])
            return
        visited = self.environment.visits.rows
        for derived in self._searched(delta, recursive, now, version, past):
            self.actual.derived += len(derived)
            yield derived
        self.actual.changed += len(delta)
        self.actual.visited += self.environment.visits.rows - visited

    def copied(self, delta: Run) -> Run | None:
        """Return the derivations from a change if they are its rows as they are; None if they have to be searched."""
        if not self._is_copy:
            return None
        layouts = self._delta_state.layout, self.head.layout
        if self._compared[0] is not layouts[0] or self._compared[1] is not layouts[1]:
            self._compared = *layouts, layouts[0] == layouts[1]
        if not self._compared[2]:
            return None
        count = len(delta)
        self.environment.visits.rows += count
        self.actual.add(count, count, count)
        return delta if self.query.body.sign > 0 else delta.negated()

    @cached_property
    def _is_copy(self) -> bool:
        """Return whether the head has the variables of its only atom, in order."""
        body, terms = self.query.body, self.query.delta.terms
        is_alone = len(body.atoms) == 1 and not (body.absent or body.conditions or body.equations)
        variables = dict.fromkeys(term for term in terms if isinstance(term, int))
        return is_alone and tuple(self.plan.head) == terms == tuple(variables)

    def small(self, delta: Run) -> SmallSearch | None:
        """Return the search for all derivations from a small change in the present epoch; None if that takes more."""
        is_large = len(delta) >= self.environment.thresholds.grouped
        if not self._is_one_search or is_large or self.by_intervals() is not None:
            return None
        plan = self._plan_for(len(delta))
        if not plan._is_one_search or (others := plan._present_runs()) is None:
            return None
        bound = plan.binding.segments[0]
        bound.tables.find_labels(self.environment.interner)
        source = self._delta_state.arranged(delta, bound.segment.accesses[0].order)
        return SmallSearch(bound.tables, bound.output.words, self.query.body.sign, [(source,), *others], self.actual)

    @cached_property
    def _is_one_search(self) -> bool:
        """Return whether one search of compiled code finds all derivations."""
        return len(self.plan.segments) == 1 and self.plan.segments[0].compute is None and self.plan.intervals is None

    def _present_runs(self) -> list[tuple[Run, ...]] | None:
        """Return the runs of the atoms that its first search probes; None if some are not built, or far."""
        result = []
        for access, arrangement in self._read[0]:
            if not arrangement.is_built:
                return None
            result.append(arrangement.current() if access.when is When.NEW else arrangement.before)
        return None if _are_far(result) else result

    def _searched(
        self,
        delta: Run,
        recursive: frozenset[str],
        now: int,
        version: Version | None,
        past: ExcludedRows | None,
    ) -> Iterator[Derivations]:
        """Yield the derivations that the searches of its plan find."""
        by_intervals = None if recursive or delta.is_heavy else self.by_intervals()
        plan = by_intervals or self._plan_for(len(delta))
        for arrangement in plan._probed:
            if not arrangement.is_built:
                if version is None and plan._finds_nothing(recursive):
                    return
                plan.build()
                break
        if plan.plan.intervals is None:
            source = self._delta_state.arranged(delta, plan.plan.segments[0].accesses[0].order)
        else:
            source = plan._intervals(plan.plan.intervals, delta)
        yield from plan._segment(0, source, self.query.body.sign, recursive, now, version, past)

    def _intervals(self, intervals: Intervals, delta: Run) -> Run:
        """Return the intervals from which the search for the derivations of a change starts."""
        self.environment.visits.rows += len(delta)
        terms = enumerate(self.query.delta.terms)
        values = {v: self._delta_state.layout.value(delta.words, i) for i, v in terms if isinstance(v, int)}
        groups = [self.domains[v].encode(*values[v]) for v in intervals.kept]
        columns = self._columns(values.items(), len(delta))
        return intervals_of(
            intervals, columns, np.array(groups, np.uint64).reshape(len(groups), len(delta)), delta.all_weights()
        )

    def _finds_nothing(self, recursive: Container[str]) -> bool:
        """Return whether an atom that must be present is known to be empty in the version that is read."""
        absent = {(a.relation, a.when) for a in self.query.body.absent}
        for access in self._accesses:
            if (access.relation, access.when) not in absent:
                state = self.environment.states[access.relation]
                if not state.contents.runs if self._is_new(access, recursive) else state.was_empty():
                    return True
        return False

    @property
    def _delta_state(self) -> State:
        return self.environment.states[self.query.delta.relation]

    def _plan_for(self, count: int) -> Evaluation:
        """Return the evaluation to use for a change of `count` rows."""
        if (looked_up := self.by_look_ups()) is not None:
            return looked_up
        return (self.by_groups() if count >= self.environment.thresholds.grouped else None) or self._by_tests()

    def by_look_ups(self) -> Evaluation | None:
        """Return the evaluation that looks up sums, as long as the sums of all values fit; None if there is none."""
        return self._by_shifts if all(shift.is_defined(self.domains) for shift in self._shifts) else None

    def by_intervals(self) -> Evaluation | None:
        """Return the evaluation that starts from intervals; None if there is none, or ranges skip too little."""
        if (made := self._by_ranges) is None:
            return None
        for segment, read in zip(made.plan.segments, made._read, strict=True):
            for step in segment.steps:
                if isinstance(step, Range):
                    access, arrangement = read[step.atom - 1]
                    return made if arrangement.is_built or self._are_many(access, step.column) else None
        return None

    def _are_many(self, access: PlanAccess, columns: int) -> bool:
        """Return whether many rows agree in the first columns of an access, at its present magnitude."""
        key = access.relation, self._magnitude(access.relation)
        if key not in self._many:
            seen = Samples(self.environment.states, self.environment.interner) if self.environment.draws else None
            self._many[key] = seen is not None and seen.matches(access.relation, access.order[:columns]) >= _MANY
        return self._many[key]

    @cached_property
    def _has_choice(self) -> bool:
        """Return whether its plan depends on selectivities: it probes several atoms, and tests their values."""
        if len(self._accesses) < 2 or not self.environment.draws:
            return False
        of_change = self.query.delta.variables()
        tests = [c for c in self.query.body.conditions if is_test(c, self.value_types)]
        return any(not of_change.issuperset(variables_of(c)) for c in tests)

    def _by_tests(self) -> Evaluation:
        """Return the evaluation planned by the selectivity of tests at the present magnitudes, with the same orders."""
        if not self._has_choice:
            return self
        present = tuple(self._magnitude(access.relation) for access in self._accesses)
        if present not in self._ordered:
            seen = Samples(self.environment.states, self.environment.interner)
            statistics = PlanStatistics(
                part=lambda condition: seen.part(condition, self.query.body, self.types),
                matches=lambda atom, columns: seen.matches(atom.relation, columns),
            )
            result = planned(self.query, statistics=statistics)
            orders = {access for segment in result.segments for access in segment.accesses[1:]}
            is_other = result.segments != self.plan.segments and orders <= set(self._accesses)
            self._ordered[present] = self._planned(result) if is_other else self
        return self._ordered[present]

    def _magnitude(self, relation: str) -> int:
        return len(self.environment.states[relation].contents).bit_length() // 3

    def by_groups(self) -> Evaluation | None:
        """Return the evaluation for large changes, planned for the present magnitudes; None if there is none."""
        body = self.query.body
        states = [self.environment.states[atom.relation] for atom in (*body.atoms, *body.absent)]
        readable = [self._readable(state) for state in states]
        present = tuple((len(s.contents).bit_length() // 3, orders) for s, orders in zip(states, readable, strict=True))
        if present not in self._grouped:
            sizes = {state.relation.name: len(state.contents) for state in states}
            orders = {state.relation.name: orders for state, orders in zip(states, readable, strict=True)}
            plan = plan_groups(self.query, sizes, orders, tuple(self._delta_state.by_order))
            self._grouped[present] = None if plan is None else self._planned(plan)
        return self._grouped[present]

    def _readable(self, state: State) -> tuple[tuple[int, ...], ...]:
        """Return the orders of a relation that a large change may read. No order of a recursive relation is built for
        it.
        """
        if state.kind not in (RelationKind.RECURSIVE, RelationKind.RECURSIVE_BAG, RelationKind.HISTORY):
            return tuple(state.by_order)
        own = {access.order for access in self._accesses if access.relation == state.relation.name}
        return tuple(order for order, a in state.by_order.items() if a.is_built or order in own)

    def _segment(
        self,
        index: int,
        source: Run,
        sign: int,
        recursive: frozenset[str],
        now: int,
        version: Version | None,
        past: ExcludedRows | None = None,
    ) -> Iterator[Derivations]:
        bound, read = self.binding.segments[index], self._read[index]
        if version is not None:
            runs = [(source,), *(version(arrangement) for _, arrangement in read)]
        elif recursive:
            runs = [(source,), *(self._runs(access, arrangement, recursive) for access, arrangement in read)]
        else:
            runs = [(source,), *(a.current() if access.when is When.NEW else a.before for access, a in read)]
            if index == 0:
                self._have_near(runs)
        timed = [False] * len(runs)
        if recursive:
            timed = [bool(source.times.size) and (index > 0 or self.query.delta.relation in recursive)]
            timed += [access.relation in recursive for access, _ in read]
            if all(run.max_time <= now for atom, t in zip(runs, timed, strict=True) if t for run in atom):
                timed = [False] * len(timed)
        environment = self.environment
        bound.tables.find_labels(environment.interner)
        sizes = environment.thresholds
        if bound.segment.compute is not None:
            past, sizes = None, sizes._replace(large=sizes.last_chunk + 1)
        result = search(bound.tables, bound.output.words, runs, sign, timed, now, environment.visits, sizes, past)
        try:
            for derived in result:
                postponed.check()
                environment.judge()
                if not len(derived):
                    continue
                if bound.segment.compute is None:
                    yield derived
                else:
                    yield from self._compute(bound, index, derived, recursive, now, version)
        finally:
            result.close()

    def _have_near(self, runs: list[tuple[Run, ...]]) -> None:
        """Return runs; of far ones, the parts that the first segment's look-ups by its input may need."""
        if not _are_far(runs):
            return
        (source,), accesses = runs[0], self.plan.segments[0].accesses
        intervals = self.plan.intervals
        layout = wide(self.domains, intervals.input) if intervals else self._packed_as(accesses[0]).layout
        for atom, columns in self.plan.segments[0].found_by_input().items():
            values = [layout.value(source.words, column) for column in columns]
            theirs = self.arrangement(accesses[atom]).layout
            runs[atom] = near(runs[atom], *theirs.between(theirs.beginning(values)))

    def _runs(self, access: PlanAccess, arrangement: Arrangement, recursive: frozenset[str]) -> tuple[Run, ...]:
        """Return the runs of the version of an arrangement that an access reads.

        Changes of lower strata belong to iteration 0: when a recursive relation changes, they are past.
        """
        if not self._is_new(access, recursive):
            return arrangement.before
        return arrangement.runs if access.relation in recursive else arrangement.current()

    def _is_new(self, access: PlanAccess, recursive: Container[str]) -> bool:
        is_past = self.query.delta.relation in recursive and access.relation not in recursive
        return access.when is When.NEW or (is_past and not self._reads_as_named)

    def _compute(
        self,
        bound: BoundSegment,
        index: int,
        derived: Derivations,
        recursive: frozenset[str],
        now: int,
        version: Version | None,
    ) -> Iterator[Derivations]:
        """Compute and filter the results of a segment, then run the next segment, or compute the head."""
        segment, derived = bound.segment, derived.merged()
        assert segment.compute is not None
        columns = self._columns(zip(segment.output, bound.output.values(derived.words), strict=True), len(derived))
        if segment.compute.conditions:
            columns = columns.where(scalar.keep(segment.compute.conditions, columns))
        variables = [variable_name(variable) for variable, _ in segment.compute.values]
        values = scalar.held_of_each([expression for _, expression in segment.compute.values], columns)
        columns = replace(columns, values={**columns.values, **dict(zip(variables, values, strict=True))})
        last = index + 1 == len(self.plan.segments)
        terms: Sequence[Term] = self.plan.head if last else segment.computed
        computed = iter(scalar.held_of_each([term for term in terms if not isinstance(term, int)], columns))
        result = [columns.values[variable_name(t)] if isinstance(t, int) else next(computed) for t in terms]
        kept = columns.positions
        if (defined := self._defined(columns, segment.compute)) is not None:
            result = [(array[defined], None if nulls is None else nulls[defined]) for array, nulls in result]
            kept = kept[defined]
        layout = bound.computed or self.head.layout
        places = self.head.domains if last else [self.domains[v] for v in terms if isinstance(v, int)]
        words = layout.pack((), count := len(kept), placed(places, result))
        times = derived.times[kept] if derived.times.size else NO_TIMES
        weights = derived.weights[kept] if derived.weights.size else NO_WEIGHTS
        self._report(columns, derived)
        if last:
            yield Derivations(words, times, weights)
        elif count:
            # A search adds one to the greatest time of its rows; these results have been through one search already.
            source = Run(words, times - np.int32(1) if times.size else times, weights)
            yield from self._segment(index + 1, source, 1, recursive, now, version)

    def _columns(self, values: Iterable[tuple[int, Column]], count: int) -> Columns:
        named = {variable_name(v): column for v, column in values}
        places, interner = np.arange(count), self.environment.interner
        return Columns(named, self.types, count, interner, [], places, self._nodes, self._programs)

    def _defined(self, columns: Columns, compute: Compute) -> Mask | None:
        """Return the mask of the derived rows, in which all required values are defined; None if all rows are."""
        undefined = []
        for variable, _ in compute.values:
            _, nulls = columns.values[variable_name(variable)]
            if nulls is not None and not self.value_types[variable_name(variable)].nullable:
                undefined.append(nulls)
        if columns.undefined:
            undefined.append(np.isin(columns.positions, [fault.position for fault in columns.undefined]))
        return ~np.logical_or.reduce(undefined) if undefined else None

    def _report(self, columns: Columns, derived: Derivations) -> None:
        """Add undefined values to the faults of the epoch, with the weights of their rows."""
        for fault in columns.undefined or ():
            weight = int(derived.weights[fault.position]) if derived.weights.size else 1
            message = with_names(str(undefined(fault.expression, fault.row)), self.query.body.names)
            self.environment.faults.add(self.query.head, message, weight)

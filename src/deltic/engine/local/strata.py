"""The order of an epoch: strata one after the other, each only if something that it reads has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from deltic.engine.local.operators.aggregate import Aggregates
from deltic.engine.local.operators.delay import Delaying
from deltic.engine.local.operators.flat_map import Expansion
from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.operators.window import Windowing
from deltic.engine.local.recursion.component import component_of
from deltic.engine.local.recursion.refresh import Recursive, Refresh
from deltic.engine.local.recursion.strategy import Strategies
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.codec import Interner, encode
from deltic.engine.local.storage.run import NO_WEIGHTS, Run, plain
from deltic.engine.local.storage.state import State
from deltic.engine.protocol import ComponentReport
from deltic.program.computed import Computed, Delayed, Expanded
from deltic.program.program import Grouping, Kind, Program


class Strata:
    """Brings all derived relations up to date with the `delta` of tables and constants."""

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
        derived = [s for s in program.strata if states[s.relations[0]].relation.kind not in (Kind.TABLE, Kind.CONSTANT)]
        self._steps: list[_Derived | _Aggregated | _Computed | Recursive] = []
        for stratum in derived:
            found = [e for name in stratum.relations for e in by_head.get(name, ())]
            name = stratum.relations[0]
            if name in program.groupings:
                self._steps.append(_Aggregated(name, program.groupings[name], states, environment))
            elif name in program.computed:
                self._steps.append(_Computed(name, program.computed[name], states, environment))
            elif stratum.recursive:
                strategy = strategies.of(stratum.relations)
                self._steps.append(Recursive(component_of(stratum.relations, states, found, strategy), states, refresh))
            else:
                self._steps.append(_Derived(name, states, found))
        self._states = states

    @property
    def evaluations(self) -> Iterator[Evaluation]:
        """The queries that the strata need beside the delta queries."""
        for step in self._steps:
            if isinstance(step, Recursive):
                yield from step.component.bases
                yield from (e for found in step.component.searches.values() for e in found)

    def run(self) -> tuple[ComponentReport, ...]:
        """One epoch; the deltas of derived relations say what changed. Ends with all changes merged."""
        changed = {name for name, state in self._states.items() if state.delta is not None}
        reports = []
        for step in self._steps:
            if not step.follows.isdisjoint(changed) or (isinstance(step, _Computed) and step.is_due):
                report = step.run()
                changed |= {name for name in step.relations if self._states[name].delta is not None}
                if report is not None:
                    reports.append(report)
        for name in changed:
            self._states[name].compact()
        return tuple(reports)


class _Derived:
    """A derived relation that is not recursive; `follows` are those below it whose changes concern it."""

    def __init__(self, name: str, states: Mapping[str, State], evaluations: Sequence[Evaluation]) -> None:
        self.relations = (name,)
        self.states = states
        self.evaluations = evaluations
        self.follows = frozenset(e.query.delta.relation for e in evaluations)

    def run(self) -> None:
        """The change of the set or bag from the changes below it."""
        state = self.states[self.relations[0]]
        batch = Batch()
        for evaluation in self.evaluations:
            delta = self.states[evaluation.query.delta.relation].delta
            if delta is not None:
                for derived in evaluation.run(delta):
                    batch.add(derived.words, derived.weights)
        total = batch.total()
        if total is None:
            return
        weighted = state.relation.kind in (Kind.BAG, Kind.TRANSIENT)
        change = Run(total[0], weights=plain(total[1])) if weighted else state.change_set(*total)
        if len(change):
            state.delta = change
            if state.relation.kind is not Kind.TRANSIENT:
                state.append(change)


class _Aggregated:
    """An aggregate relation; it follows the rows that it groups."""

    def __init__(self, name: str, grouping: Grouping, states: Mapping[str, State], environment: Environment) -> None:
        self.relations = (name,)
        self.follows = frozenset([grouping.source])
        self.source, self.target = states[grouping.source], states[name]
        self.aggregates = Aggregates(grouping, self.source, self.target, environment)

    def run(self) -> None:
        """Replace the rows of the groups that changed."""
        assert self.source.delta is not None
        change = self.aggregates.change(self.source.delta)
        if len(change):
            self.target.delta = change
            self.target.append(change)


class _Computed:
    """A flatmap, a window or a delay; it follows the rows that are passed on to it, and the clock."""

    def __init__(self, name: str, computed: Computed, states: Mapping[str, State], environment: Environment) -> None:
        self.relations = (name,)
        self.follows = frozenset(computed.sources)
        self.target = states[name]
        self.kernel: Expansion | Windowing | Delaying
        if isinstance(computed, Expanded):
            self.kernel = Expansion(computed.operator, states[computed.source], self.target, environment)
        elif isinstance(computed, Delayed):
            self.kernel = Delaying(states[computed.source], self.target, environment.visits)
        else:
            rows, clock = states[computed.rows], states[computed.clock]
            self.kernel = Windowing(computed, rows, clock, self.target, environment.visits)

    @property
    def is_due(self) -> bool:
        """Whether it changes in the coming epoch even if nothing that it follows does."""
        return isinstance(self.kernel, Delaying) and self.kernel.is_due

    def run(self) -> None:
        """The change of the relation from those of its sources."""
        change = self.kernel.change()
        if change is not None and len(change):
            self.target.delta = change
            self.target.append(change)


def constant_change(state: State, interner: Interner) -> Run | None:
    """The rows of a constant as its change; DomainOverflow where a value has no place yet."""
    rows, schema = state.relation.rows, state.relation.schema
    columns = [
        encode(pa.array([row[i] for row in rows], column.type.arrow), column.type, interner)
        for i, column in enumerate(schema)
    ]
    batch = Batch()
    raw = [d.place(v) for d, v in zip(state.domains, columns, strict=True)]
    batch.add(state.layout.pack(raw, len(rows)), NO_WEIGHTS)
    return batch.run()

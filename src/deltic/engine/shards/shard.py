"""One shard: the local engine's store and kernels over its part of the rows, taking the steps of a plan.

A stage is a function of the state before the epoch and of what was sent to the shard in this stage and those before it.
Where a value that was sent has no place, all that there is, changes included, is packed anew; where a computed one has
none, the shard makes room and takes the steps of the stage again. What crosses between shards are values: numbers of
texts, and layouts, are a shard's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.engine.batches import TableBatch
from deltic.engine.image import Json
from deltic.engine.local.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.local.operators.kernel import KERNELS, Kernel
from deltic.engine.local.operators.query import Environment, Evaluation, value_of
from deltic.engine.local.plan.planner import plan
from deltic.engine.local.recursion.component import component_of
from deltic.engine.local.recursion.refresh import AUTO, Recursive, Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.local.storage.arrow import Encoded, encode_batch, make_room, packed, table_change
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.codec import decode_rows
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.layout import Domain, DomainOverflow, Layout
from deltic.engine.local.storage.run import Run, Weights, Words, plain
from deltic.engine.local.storage.state import Snapshot, State
from deltic.engine.local.storage.store import Store
from deltic.engine.protocol import ComponentReport, Conflicts
from deltic.engine.shards.hashing import shards_of
from deltic.engine.shards.plan import Define, Key, Recur, Search, Send, ShardPlan, Step, Take
from deltic.program.definitions import Table
from deltic.program.queries import Query

# Rows that are to change a relation of this shard, in the layout that it had when they were found.
_Staying = tuple[Layout, Run]
# Batches by the placed relation that they are for.
Inbox = Mapping[str, Sequence[pa.Table]]


@dataclass(frozen=True)
class Options:
    """What the shards of an engine have in common; `bags` are the tables that are bags."""

    shards: int
    bags: frozenset[str] = frozenset()
    strategies: Strategies = field(default_factory=lambda: Strategies(Strategy.NESTED, {}))
    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    thresholds: Thresholds = DEFAULTS


@dataclass(frozen=True)
class Parcel:
    """Rows that a shard sends: for a placed relation, on another shard or this one."""

    target: str
    shard: int
    rows: pa.Table


class Shard:
    """The part of all relations that belongs to shard `number`, and the epoch that it is in."""

    def __init__(
        self, number: int, plan: ShardPlan, options: Options, store: Store, steps: Collection[Step] | None = None
    ) -> None:
        """Of a shard that is to take these steps alone, no others are made ready."""
        steps = plan.steps if steps is None else steps
        self.number, self.plan, self.options, self.store = number, plan, options, store
        store.define(plan.program, self._value_of, options.bags)
        self.states = store.states
        self.environment = Environment(
            self.states, store.interner, iteration_limit=options.iteration_limit, thresholds=options.thresholds
        )
        self.is_repacked = True
        self.reports: list[ComponentReport] = []
        self._conflicts: Conflicts = "error"
        self._sent: list[dict[str, list[Encoded]]] = []
        self._staying: dict[str, tuple[_Staying, ...]] = {}
        self._bound: list[Evaluation] = []
        self._empty: Collection[str] = ()
        self._learned: dict[tuple[str, ...], Json] = {}
        self._searches = {s: self._evaluation(s.query) for s in steps if isinstance(s, Search)}
        self._recursions = {s: self._recursive(s) for s in steps if isinstance(s, Recur)}
        self._kernels = {s.name: self._kernel(s) for s in steps if isinstance(s, Define)}
        store.end_evolution()
        self.fit()
        self._before = store.snapshot()

    def _evaluation(self, query: Query) -> Evaluation:
        made = Evaluation(plan(query), self.store.domains.variables[query.rule], self.environment)
        self._bound.append(made)
        return made

    def _recursive(self, step: Recur) -> Recursive:
        relations = step.stratum.relations
        queries = [q for name in relations for rule in self.plan.program.rules_of(name) for q in rule.queries()]
        strategy = self.options.strategies.of(relations)
        component = component_of(step.stratum, self.states, [self._evaluation(q) for q in queries], strategy)
        self._bound += component.beside
        return Recursive(component, self.states, self.options.refresh.of(step.stratum))

    def _kernel(self, step: Define) -> Kernel:
        definition = self.plan.program.relations[step.name].definition
        return KERNELS[type(definition)](definition, self.states, self.states[step.name], self.environment)

    def _value_of(self, literal: exp.Expression) -> int:
        return value_of(literal, self.store.interner)

    # Epochs

    def begin(self, conflicts: Conflicts, empty: Collection[str] = ()) -> None:
        """Begin an epoch whose changes of tables are under this policy; in `empty` are no rows on any shard."""
        self._conflicts, self._empty = conflicts, empty
        self._forget()
        self.environment.visits.rows = 0
        self.fit()
        self._before = self.store.snapshot()

    def run(self, stage: int, inbox: Inbox) -> list[Parcel]:
        """Take the steps of a stage with what was sent; stages are run in their order, each once.

        Raises ChangeError for a change of a table that does not fit, and what a recursion raises; `roll_back` is to
        follow.
        """
        self._sent.append(self._encoded(inbox))
        return self._settled(stage, [s for steps in self.plan.stages[:stage] for s in steps])

    def run_alone(self, stage: int, inboxes: Sequence[Inbox]) -> list[Parcel]:
        """Take the steps of a stage in a shard that took none of the epoch: `inboxes` are those of all stages up to it.

        Of the stages before, the steps are taken that this one needs; what they find to be amiss was told by them.
        """
        self._sent = [self._encoded(inbox) for inbox in inboxes]
        return self._settled(stage, self.plan.needed(stage), is_behind=True)

    def _settled(self, stage: int, earlier: Sequence[Step], is_behind: bool = False) -> list[Parcel]:
        """Take the steps of a stage; `earlier` ones before where the shard `is_behind`.

        Where a value has no place, what there is is packed anew, and the stage begins once more; where that gives texts
        other labels, which those of before the epoch could not follow, the epoch does.
        """
        grown, is_alone = set[Domain](), is_behind
        moment = _Moment.of(self)
        while True:
            try:
                self._make_room()
                is_behind = is_behind or self.store.is_renumbered()
                if is_behind:
                    self._go_back()
                    self._retake(earlier)
                    if is_alone:
                        self.environment.faults.clear()
                self.fit()
                moment, is_behind = _Moment.of(self), False
                return [parcel for step in self.plan.stages[stage] for parcel in self._taken(step)]
            except DomainOverflow as error:
                extend = error.domain.extend_amply if error.domain in grown else error.domain.extend
                extend(error.low, error.high)
                grown.add(error.domain)
                moment.restore(self)

    def end(self) -> None:
        """End the epoch: its changes are part of the state, what is left of them is given up."""
        for state in self.store.changed():
            state.compact()

    def forget_changes(self) -> None:
        """Forget what the epoch has changed, which is part of the state."""
        self.store.end_epoch()

    def roll_back(self) -> None:
        """Be as before the epoch."""
        self.store.roll_back(self._before)
        self._forget()

    def _forget(self) -> None:
        self._sent, self._staying, self.reports = [], {}, []
        self.environment.faults.clear()

    def build(self) -> None:
        """Build all column orders that queries probe, so that they are written, and not made by each task anew."""
        for evaluation in self._searches.values():
            evaluation.build()

    def learned(self) -> list[Json]:
        """What recursions know of costs, each with its relations, to be written."""
        now = {step.stratum.relations: recursive.learned() for step, recursive in self._recursions.items()}
        return [[list(relations), about] for relations, about in (self._learned | now).items()]

    def learn(self, learned: Sequence[Json]) -> None:
        """Let recursions know what they learned once."""
        self._learned = {tuple(relations): about for relations, about in learned}
        for step, recursive in self._recursions.items():
            if step.stratum.relations in self._learned:
                recursive.learn(self._learned[step.stratum.relations])

    def fit(self) -> None:
        """Let all values have their places, and bind the queries to the layouts; not during an epoch."""
        if self.store.fit():
            self.is_repacked = True
            for evaluation in self._bound:
                evaluation.prepare(self._value_of)

    def _make_room(self) -> None:
        """Let domains have the values of what was sent."""
        for sent in self._sent:
            for name, batches in sent.items():
                for columns, _ in batches:
                    make_room(self.states[name], columns)

    def _go_back(self) -> None:
        """Be at the start of the epoch, with layouts that fit, and with what was sent since."""
        sent = self._sent
        self.roll_back()
        self._sent = sent
        self.fit()
        self._before = self.store.snapshot()

    def _retake(self, steps: Sequence[Step]) -> None:
        for step in steps:
            for _ in self._taken(step):
                pass

    def _encoded(self, inbox: Inbox) -> dict[str, list[Encoded]]:
        """What was sent, as values of this shard."""
        return {
            name: [encode_batch(name, TableBatch(rows), self.states[name], self.store.interner) for rows in tables]
            for name, tables in inbox.items()
        }

    # Steps

    def _taken(self, step: Step) -> Iterator[Parcel]:
        """Take a step: what it sends."""
        self.environment.check()
        match step:
            case Take(name=name):
                self._take(name)
            case Define(name=name):
                self._define(name)
            case Recur():
                recursive = self._recursions[step]
                if any(self.states[name].delta is not None for name in recursive.follows):
                    self.reports.append(recursive.run())
            case Send(source=source, target=target):
                if (delta := self.states[source].delta) is not None:
                    yield from self._parcels(target, self.states[source], delta.words, delta.all_weights())
            case Search():
                yield from self._search(step)

    def _take(self, name: str) -> None:
        """Make one change of all that has come for a placed relation."""
        state = self.states[name]
        sent = [batch for stage in self._sent for batch in stage.get(name, ())]
        if isinstance(state.relation.definition, Table):
            if sent:
                columns, weights = _joined(sent)
                state.delta = table_change(name, state, columns, weights, self._conflicts, self.store.interner)
                if state.delta is not None:
                    state.append(state.delta)
            return
        batch = Batch()
        for layout, run in self._staying.pop(name, ()):
            batch.add_run(run if layout is state.layout else state.contents.repacked(run, layout, state.layout))
        for columns, weights in sent:
            batch.add_run(_as_run(*packed(state, columns, weights)))
        total = batch.total()
        if total is None:
            return
        change = state.change_set(*total) if state.kind is Kind.SET else _as_run(*total)
        if len(change):
            self._change(name, change)

    def _define(self, name: str) -> None:
        kernel, definition = self._kernels[name], self.plan.program.relations[name].definition
        if kernel.is_due or any(self.states[source].delta is not None for source in definition.sources):
            change = kernel.change()
            if change is not None and len(change):
                self._change(name, change)

    def _change(self, name: str, change: Run) -> None:
        """Let this be the change of a relation, and part of its rows where they are kept."""
        state = self.states[name]
        state.delta = change
        if self.plan.placed[name].kept and state.kind is not Kind.TRANSIENT:
            state.append(change)

    def _search(self, step: Search) -> Iterator[Parcel]:
        query = step.query
        delta = self.states[query.delta.relation].delta
        if delta is None or not step.needs.isdisjoint(self._empty):
            return
        batch = Batch()
        for derived in self._searches[step].run(delta):
            batch.add(derived.words, derived.weights)
        total = batch.total()
        if total is None or not len(total[1]):
            return
        if step.stays:
            stays = (self.states[query.head].layout, _as_run(*total))
            self._staying[query.head] = (*self._staying.get(query.head, ()), stays)
        else:
            yield from self._parcels(query.head, self.states[query.head], *total)

    def _parcels(self, target: str, state: State, words: Words, weights: Weights) -> Iterator[Parcel]:
        """Rows, packed as those of a relation are, for the shards where they belong."""
        schema = self.states[target].relation.schema
        rows = decode_rows(schema, state.layout, words, self.store.interner, weights)
        yield from parcels(target, rows, self.plan.placed[target].key, self.options.shards)


@dataclass(frozen=True)
class _Moment:
    """A shard between two stages, to come back to."""

    rows: Snapshot
    deltas: Mapping[str, Run | None]
    staying: Mapping[str, tuple[_Staying, ...]]
    faults: Sequence[tuple[str, str, int]]
    reports: Sequence[ComponentReport]

    @classmethod
    def of(cls, shard: Shard) -> _Moment:
        """As it is now."""
        deltas = {state.relation.name: state.delta for state in shard.store.changed()}
        return cls(
            shard.store.snapshot(), deltas, dict(shard._staying), list(shard.environment.faults), list(shard.reports)
        )

    def restore(self, shard: Shard) -> None:
        """Let the shard be as it was."""
        shard.store.roll_back(self.rows)
        for name, delta in self.deltas.items():
            shard.states[name].delta = delta
        shard._staying, shard.reports = dict(self.staying), list(self.reports)
        shard.environment.faults.clear()
        for fault in self.faults:
            shard.environment.faults.add(*fault)


def parcels(target: str, rows: pa.Table, key: Key, count: int) -> Iterator[Parcel]:
    """Rows for a placed relation, each for the shard, of `count`, where it belongs; for all of them without a key."""
    if key is None:
        yield from (Parcel(target, shard, rows) for shard in range(count))
    elif count == 1:
        yield Parcel(target, 0, rows)
    else:
        shards = shards_of(rows, key, count)
        if len(shards) and (shards == shards[0]).all():
            yield Parcel(target, int(shards[0]), rows)
            return
        order = np.argsort(shards, kind="stable")
        ends = np.cumsum(np.bincount(shards, minlength=count))
        sorted_rows = rows.take(pa.array(order))
        for shard, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if end > start:
                yield Parcel(target, shard, sorted_rows.slice(start, end - start))


def _as_run(words: Words, weights: Weights) -> Run:
    return Run(words, weights=plain(weights))


def _joined(batches: Sequence[Encoded]) -> Encoded:
    """Several batches of one table as one."""
    if len(batches) == 1:
        return batches[0]
    columns = []
    for parts in zip(*(columns for columns, _ in batches), strict=True):
        values = np.concatenate([values for values, _ in parts])
        nulls = [np.zeros(len(v), bool) if n is None else n for v, n in parts]
        columns.append((values, np.concatenate(nulls) if any(n is not None for _, n in parts) else None))
    return columns, np.concatenate([weights for _, weights in batches])

"""One shard: the local engine's store and kernels over its part of the rows, taking the steps of a plan.

A stage is a function of the state before the epoch and of what was sent to the shard in this stage and those before it.
Where a value that was sent has no place, all that there is, changes included, is packed anew; where a computed one has
none, the shard makes room and takes the steps of the stage again. What crosses between shards are values: numbers of
texts, and layouts, are a shard's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
from deltic.engine.local.storage.arrangement import time_array
from deltic.engine.local.storage.arrow import Encoded, encode_batch, make_room, packed, table_change
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.codec import decode_rows
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.layout import Column, Domain, DomainOverflow, Layout
from deltic.engine.local.storage.run import NO_TIMES, Run, Times, Weights, Words, plain
from deltic.engine.local.storage.state import Snapshot, State
from deltic.engine.local.storage.store import Store
from deltic.engine.protocol import ComponentReport, Conflicts
from deltic.engine.shards.hashing import shards_of
from deltic.engine.shards.plan import (
    Adopt,
    Define,
    Iterate,
    Key,
    Move,
    Present,
    Recur,
    Search,
    Send,
    ShardPlan,
    Step,
    Take,
)
from deltic.engine.shards.room import bytes_on, told_on_one, watched
from deltic.engine.shards.rounds import Rounds, TimedPiece, by_time, derived_by_time, of_times
from deltic.program.definitions import Table
from deltic.program.queries import Query

# Rows that are to change a relation of this shard, in the layout that it had when they were found.
_Staying = tuple[Layout, Run]
# Batches by the placed relation that they are for.
Inbox = Mapping[str, Sequence[pa.Table]]
# The column with the iterations of rows that carry any.
_ITERATION = "iteration\0"
# The same column where the weights of the rows are changes of the numbers of their derivations.
_COUNTED = "counted\0"


class Renumbered(Exception):
    """Values have other numbers than at the start of the epoch, amid rounds: the epoch begins once more on all shards.

    What it knows of values by then it keeps.
    """


class _Received(NamedTuple):
    """Rows that were sent, as values of the shard that has them, with weights and, or empty, iterations."""

    columns: list[Column]
    weights: Weights
    times: Times
    counted: bool = False
    """Whether the weights are changes of the numbers of derivations."""


@dataclass(frozen=True)
class Options:
    """What the shards of an engine have in common; `bags` are the tables that are bags."""

    shards: int
    bags: frozenset[str] = frozenset()
    strategies: Strategies = field(default_factory=lambda: Strategies(Strategy.NESTED, {}))
    refresh: Refresh = AUTO
    iteration_limit: int = ITERATION_LIMIT
    task_memory: int | None = None
    """The bytes that a recursion which may take rounds has on one shard at the most; None for any number."""
    thresholds: Thresholds = DEFAULTS
    frozen: int | None = None
    """Runs of so many rows are merged by compactions, and by no epoch that is a job; None where epochs merge all."""


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
        self._sent: list[dict[str, list[_Received]]] = []
        self._staying: dict[str, tuple[_Staying, ...]] = {}
        self._bound: list[Evaluation] = []
        self._empty: Collection[str] = ()
        self._learned: dict[tuple[str, ...], Json] = {}
        of_rounds = [each for s in steps if isinstance(s, Iterate) for each in s.steps]
        self._searches = {s: self._evaluation(s.query) for s in (*steps, *of_rounds) if isinstance(s, Search)}
        self._rounds = {s: Rounds(s, self.states, self.environment) for s in steps if isinstance(s, Iterate)}
        self._recursions = {s: self._recursive(s) for s in steps if isinstance(s, Recur)}
        self._kernels = {s.name: self._kernel(s) for s in steps if isinstance(s, Define)}
        store.end_evolution()
        self.fit()
        self._before = store.snapshot()

    def _evaluation(self, query: Query) -> Evaluation:
        make = TimedPiece if query.head in self.plan.timed else Evaluation
        made = make(plan(query), self.store.domains.variables[query.rule], self.environment)
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
                self._make_room(self._sent)
                if not is_alone and self.plan.iterated and self.store.is_renumbered():
                    raise Renumbered
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
                _extend(error, grown)
                moment.restore(self)

    # Rounds

    def first(self, step: Iterate) -> int | None:
        """The least iteration for which anything waits on this shard."""
        return self._rounds[step].first()

    def waiting(self, step: Iterate) -> int:
        """How many rows wait on this shard."""
        return self._rounds[step].waiting

    def load(self, step: Iterate, inbox: Inbox) -> None:
        """Take what waits from where `hold` has kept it, and what was sent since; raises Renumbered."""
        rounds, received = self._rounds[step], self._encoded(inbox)
        self._admit(received)
        rounds.load()
        self._come_home(rounds, received)

    def is_empty(self, step: Iterate) -> bool:
        """Whether this shard has no row of a recursion."""
        return self._rounds[step].is_empty

    def run_round(self, step: Iterate, stage: int, now: int, inbox: Inbox, sends: bool = True) -> list[Parcel]:
        """Take the steps of a stage of the round of iteration `now`, with what was sent to it.

        Where it has been taken before, by who `sends`, only what changes the shard itself is done again. Raises
        Renumbered, and what `run` raises.
        """
        rounds, received = self._rounds[step], self._encoded(inbox)
        self._admit(received)
        self._come_home(rounds, received)
        if not stage:
            rounds.settle(now)
        if not received and not rounds.is_active:
            return []
        moment, grown = _Moment.of(self), set[Domain]()
        changes = rounds.copy_of_changes()
        while True:
            try:
                steps = [each for each in step.stages[stage] if sends or not _sends(each)]
                sent = [parcel for each in steps for parcel in self._taken_in_round(rounds, each, now, received)]
                self._come_home(rounds, {})
                return sent
            except DomainOverflow as error:
                _extend(error, grown)
                moment.restore(self)
                self._admit({})
                rounds.come_back(changes)
                moment, changes = _Moment.of(self), rounds.copy_of_changes()

    def end_round(self, step: Iterate, inbox: Inbox) -> None:
        """End a round, with what was sent in its last stage."""
        received = self._encoded(inbox)
        rounds = self._rounds[step]
        rounds.end_round()
        self._admit(received)
        self._come_home(rounds, received)

    def round_alone(self, step: Iterate, now: int, inboxes: Sequence[Inbox]) -> list[Parcel]:
        """Take the last stage of those of a round to which so much was sent, in a shard that holds what waits for it.

        Of the stages before, what changes the shard is done again; what it finds to be amiss was told by them.
        """
        last = len(inboxes) - 1
        while True:
            try:
                self.load(step, {})
                sent: list[Parcel] = []
                for stage, inbox in enumerate(inboxes):
                    self.environment.faults.clear()
                    sent = self.run_round(step, stage, now, inbox, sends=stage == last)
                return sent
            except Renumbered:
                self.roll_back()
                self.fit()
                self._before = self.store.snapshot()

    def changed_in_round(self, step: Iterate) -> Iterator[Parcel]:
        """What the present round has changed on this shard, for a shard that is to adopt it."""
        interner = self.store.interner
        changes = [(name, _ITERATION, self.states[name].delta) for name in step.places]
        changes += [(name, _COUNTED, self._rounds[step].counted(name)) for name in step.stratum.relations]
        for name, kind, run in changes:
            if run is not None:
                state = self.states[name]
                rows = decode_rows(state.relation.schema, state.layout, run.words, interner, run.all_weights())
                yield Parcel(name, self.number, rows.append_column(kind, pa.array(run.times, pa.int32())))

    def hold(self, step: Iterate) -> None:
        """End the present round, if there is one, and keep what waits for later ones so that it is written."""
        self._rounds[step].end_round()
        self._rounds[step].hold()

    def changed_rows(self, name: str) -> int:
        """How many rows of a relation the present epoch has changed here."""
        delta = self.states[name].delta
        return 0 if delta is None else len(delta)

    def _adopt(self, name: str) -> None:
        """Let a relation change as rounds have changed it, which was sent."""
        state, sent = self.states[name], self._sent_to(name)
        if (counts := self._gathered(name, (s for s in sent if s.counted))) is not None:
            state.count(counts)
        if (change := self._gathered(name, (s for s in sent if not s.counted))) is None:
            return
        if self.plan.placed[name].kept:
            state.append(change)
        total = Batch()
        total.add(change.words, change.all_weights())
        state.delta = total.run()
        if state.delta is None:
            state.compact()

    def finish_rounds(self, step: Iterate) -> None:
        """Nothing waits on any shard: let the relations have their changes."""
        self._rounds[step].finish()

    def _admit(self, received: Mapping[str, list[_Received]]) -> None:
        """Let all that was sent in a round have its place."""
        self._make_room([received])
        if self.store.is_renumbered():
            raise Renumbered
        self.fit()

    def _begin_rounds(self, step: Iterate) -> None:
        """Begin with the derivations that follow the relations below."""
        rounds = self._rounds[step]
        for each in step.steps:
            if isinstance(each, Search):
                self._searches[each].build(step.timed)
        rounds.begin()
        for sent in self._sent:
            self._come_home(rounds, sent)
        self._come_home(rounds, {})

    def _come_home(self, rounds: Rounds, received: Mapping[str, list[_Received]]) -> None:
        """Let derivations that were sent, or stay, wait for their iterations."""
        for name in rounds.homes:
            if (run := self._gathered(name, received.get(name, ()))) is not None:
                rounds.receive(name, run)

    def _taken_in_round(
        self, rounds: Rounds, step: Step, now: int, received: Mapping[str, list[_Received]]
    ) -> Iterator[Parcel]:
        """Take a step of a round: what it sends."""
        self.environment.check()
        match step:
            case Take(name=name):
                run = self._gathered(name, received.get(name, ()))
                if run is not None and name in rounds.step.places:
                    at = Run(run.words, time_array(len(run), now), run.weights)
                    rounds.change(name, at, self.plan.placed[name].kept)
                elif run is not None:
                    self.states[name].delta = run
            case Search():
                yield from self._search_timed(step, now)
            case _:
                yield from self._taken(step)

    def _gathered(self, name: str, received: Iterable[_Received]) -> Run | None:
        """The sum of what stays for a relation with iterations and of what was sent to it, as a run."""
        state = self.states[name]

        def parts() -> Iterator[tuple[int, Words, Weights]]:
            for layout, run in self._staying.pop(name, ()):
                there = run if layout is state.layout else state.contents.repacked(run, layout, state.layout)
                yield from by_time(there)
            for columns, weights, times, _ in received:
                for time in np.unique(times).tolist() if times.size else (0,):
                    chosen = times == time if times.size else slice(None)
                    some = [(v[chosen], None if n is None else n[chosen]) for v, n in columns]
                    yield time, *packed(state, some, weights[chosen])

        return of_times(parts())

    def _search_timed(self, step: Search, now: int) -> Iterator[Parcel]:
        """Search in a recursion that takes rounds: what is found carries iterations, `now` at the least.

        Derivations of the head are of the iteration after the greatest of their rows; on their way, of that one.
        """
        query, timed = step.query, self.plan.timed[step.query.head]
        delta = self.states[query.delta.relation].delta
        if delta is None or not step.needs.isdisjoint(self._empty):
            return
        total = derived_by_time(self._searches[step].run(delta, timed, now), now + 1)
        if total is None:
            return
        if not self.plan.is_home(query.head):
            total = Run(total.words, total.times - np.int8(1), total.weights)
        state = self.states[query.head]
        if step.stays:
            self._staying[query.head] = (*self._staying.get(query.head, ()), (state.layout, total))
        else:
            yield from self._parcels(query.head, state, total.words, total.all_weights(), total.times)

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

    def _make_room(self, all_sent: Iterable[Mapping[str, list[_Received]]]) -> None:
        """Let domains have the values of what was sent."""
        for sent in all_sent:
            for name, batches in sent.items():
                for received in batches:
                    make_room(self.states[name], received.columns)

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

    def _encoded(self, inbox: Inbox) -> dict[str, list[_Received]]:
        """What was sent, as values of this shard."""
        return {name: [self._encoded_rows(name, rows) for rows in tables] for name, tables in inbox.items()}

    def _encoded_rows(self, name: str, rows: pa.Table) -> _Received:
        times, counted = NO_TIMES, _COUNTED in rows.column_names
        for column in {_ITERATION, _COUNTED} & set(rows.column_names):
            times, rows = rows.column(column).to_numpy(), rows.drop_columns([column])
        return _Received(*encode_batch(name, TableBatch(rows), self.states[name], self.store.interner), times, counted)

    # Steps

    def _taken(self, step: Step) -> Iterator[Parcel]:
        """Take a step: what it sends."""
        self.environment.check()
        match step:
            case Take(name=name):
                if name in self.plan.timed:
                    self.states[name].delta = self._gathered(name, self._sent_to(name))
                else:
                    self._take(name)
            case Define(name=name):
                self._define(name)
            case Recur():
                recursive = self._recursions[step]
                if any(self.states[name].delta is not None for name in recursive.follows):
                    self.reports.append(self._recur(step))
            case Send() | Present() | Move():
                yield from self._handed_on(step)
            case Iterate():
                self._begin_rounds(step)
            case Adopt(names=names):
                for name in names:
                    self._adopt(name)
            case Search():
                yield from (self._search_timed(step, 0) if step.query.head in self.plan.timed else self._search(step))

    def _handed_on(self, step: Send | Present | Move) -> Iterator[Parcel]:
        """Let others have what a relation has: its change, or all of its rows."""
        match step:
            case Send(source=source, target=target):
                if (delta := self.states[source].delta) is not None:
                    yield from self._parcels(target, self.states[source], delta.words, delta.all_weights())
            case Move(source=source, target=target):
                yield from self._moved(source, target)
            case Present(name=name):
                whole = self.states[name].whole()
                self.states[name].delta = whole if len(whole) else None

    def _moved(self, source: str, target: str) -> Iterator[Parcel]:
        """All that is kept of a sum: its rows, by their counts where it is a set, and what a table was trusted with."""
        state = self.states[source]
        surplus = [a for (role, _), a in state.auxiliary.items() if role == "surplus"]
        for arrangement in (state.contents, *surplus):
            for run in arrangement.runs:
                self.environment.visits.rows += len(run)
                schema, weights = state.relation.schema, run.all_weights()
                rows = decode_rows(schema, arrangement.layout, run.words, self.store.interner, weights)
                yield from parcels(target, rows, self.plan.placed[target].key, self.options.shards)

    def _recur(self, step: Recur) -> ComponentReport:
        """Bring a recursion up to date; raises Outgrown, among what a recursion raises."""
        limit = self.options.task_memory
        if limit is None or not step.is_chosen:
            return self._recursions[step].run()
        with watched(step, self.plan, self.environment, limit):
            report = self._recursions[step].run()
        runs = [run for name in step.stratum.relations for run in self.states[name].contents.runs]
        iterations = max((run.max_time for run in runs), default=0)
        held = bytes_on(self.states, self.plan, step)
        return replace(report, way=told_on_one(held, limit, self.options.shards, iterations))

    def _sent_to(self, name: str) -> list[_Received]:
        """What was sent to a placed relation so far."""
        return [batch for stage in self._sent for batch in stage.get(name, ())]

    def _take(self, name: str) -> None:
        """Make one change of all that has come for a placed relation."""
        state = self.states[name]
        sent = [(received.columns, received.weights) for received in self._sent_to(name)]
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

    def _parcels(
        self, target: str, state: State, words: Words, weights: Weights, times: Times = NO_TIMES
    ) -> Iterator[Parcel]:
        """Rows, packed as those of a relation are, for the shards where they belong."""
        schema = self.states[target].relation.schema
        rows = decode_rows(schema, state.layout, words, self.store.interner, weights)
        if times.size:
            rows = rows.append_column(_ITERATION, pa.array(times, pa.int32()))
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


def waiting_in(parcels: Iterable[Parcel]) -> tuple[int | None, int]:
    """The least iteration for which derivations that are sent are, and how many these are."""
    times = [parcel.rows.column(_ITERATION) for parcel in parcels]
    return min((pc.min(each).as_py() for each in times if len(each)), default=None), sum(map(len, times))


def _sends(step: Step) -> bool:
    """Whether what a step finds leaves it for good."""
    return isinstance(step, Send) or (isinstance(step, Search) and not step.stays)


def _extend(error: DomainOverflow, grown: set[Domain]) -> None:
    """Let a domain have the value for which it had no place; amply, where it is among those that have `grown`."""
    extend = error.domain.extend_amply if error.domain in grown else error.domain.extend
    extend(error.low, error.high)
    grown.add(error.domain)


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

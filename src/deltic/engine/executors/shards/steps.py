"""The steps of a plan on one shard: the local engine's store and kernels over its part of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.defined import DefinedStep
from deltic.engine.executors.derived import DerivedStep
from deltic.engine.executors.forgetting import Forgetting
from deltic.engine.executors.shards.encoded_rows import EncodedRows, Rows
from deltic.engine.executors.shards.exchange import Inbox, Received, joined, messages_of
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import (
    Define,
    Derive,
    Move,
    Present,
    Recur,
    Search,
    Send,
    Step,
    Take,
    searches_of,
)
from deltic.engine.executors.shards.task_memory import bytes_on, reason_on_one_shard, watched
from deltic.engine.executors.stored_program import StoredProgram
from deltic.engine.keyed import ORDER, Keyed, are_by_key, in_order, weighted
from deltic.engine.operators.query import Evaluation
from deltic.engine.options import Options
from deltic.engine.plan.planner import plan
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.result import ComponentReport
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.arrow import make_room, packed, table_change
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import NO_TIMES, Run, Times, Weights
from deltic.engine.storage.store import Store, StoreSnapshot
from deltic.engine.storage.unique import check_unique
from deltic.program.definitions import Table
from deltic.program.frontiers import NO_FRONTIERS
from deltic.program.queries import Query

# Rows that will change a relation of this shard, in its layout when they were derived.
Staying = tuple[Layout, Run]


class Steps(StoredProgram):
    """The part of all relations that belongs to shard `number`, and the messages of the present epoch."""

    def __init__(
        self, number: int, plan: ShardPlan, options: Options, store: Store, steps: Collection[Step] | None = None
    ) -> None:
        """Prepare only these steps, if given."""
        passed, place = plan.placed.keys() - plan.kept, f" on shard {number}"
        super().__init__(plan.program, store, options, draws=False, passed=passed, place=place)
        self.number, self.plan, self.forgettable = number, plan, plan.frontiers.rows
        self.forgetting = Forgetting(plan.frontiers if steps is None else NO_FRONTIERS, store)
        steps = plan.steps if steps is None else steps
        self._conflicts: Conflicts = "error"
        self._sent: list[dict[str, list[Received]]] = []
        self._staying: dict[str, tuple[Staying, ...]] = {}
        self._alike: dict[str, Weights] = {}
        self._searches = {search.query.rule: self._search_of(search.query) for search in searches_of(steps)}
        updating = (step for step in steps if isinstance(step, Define | Derive | Recur))
        self._updates = {plan.makes(step)[0]: self._update_of(step) for step in updating}
        store.end_evolution()
        store.fit()

    def _search_of(self, query: Query) -> Evaluation:
        return self.evaluation(plan(query), reads_as_named=query.head in self.plan.timed)

    def _update_of(self, step: Define | Derive | Recur) -> DefinedStep | DerivedStep | Recursive:
        """Return what updates the relations of a step by their changes."""
        match step:
            case Define(name=name):
                return self.defined(name)
            case Derive(name=name, rules=rules):
                searches = [[self._searches[search.query.rule] for search in rule] for rule in rules]
                return self.derived(name, lambda: searches, frozenset(self.plan.follows(step)))
            case Recur(stratum=stratum):
                rules_of = [rule for name in stratum.relations for rule in self.program.rules_of(name)]
                queries = [query for rule in rules_of for query in rule.queries()]
                return self.recursive(stratum, [self._search_of(query) for query in queries])

    def _is_changed(self, relations: Iterable[str]) -> bool:
        """Return whether one of these relations has changed here in the present epoch."""
        return any(self.states[name].delta is not None for name in relations)

    @property
    def is_due(self) -> bool:
        """Return whether the next epoch has work here even without changes: rows of a delay, or first rows of a sum."""
        return any(update.is_due for update in self._updates.values() if isinstance(update, DefinedStep))

    def changed_rows(self, name: str) -> int:
        """Return the number of rows of a relation that the present epoch has changed here."""
        delta = self.states[name].delta
        return 0 if delta is None else len(delta)

    def decisions(self, relations: Collection[str]) -> Iterator[str]:
        """Yield a line on the policy's estimates for each of these relations that is derived in one step here."""
        for update in self._updates.values():
            if isinstance(update, DerivedStep) and update.relations[0] in relations:
                yield from (f"{line} on shard {self.number}" for line in update.decision())

    def build(self) -> None:
        """Build all column orders that are read, so that they are written once instead of built by each task."""
        for evaluation in self._searches.values():
            evaluation.build()
        self.forgetting.build()

    def _make_room(self, all_sent: Iterable[Mapping[str, list[Received]]]) -> None:
        """Extend domains to the values of messages."""
        for sent in all_sent:
            for name, batches in sent.items():
                for received in batches:
                    make_room(self.states[name], received.columns)

    def _encoded(self, inbox: Inbox) -> dict[str, list[Received]]:
        """Return the rows of messages, encoded as values of this shard."""
        return {
            name: [Received.of(name, rows, self.states[name], self.store.interner) for rows in self._net(name, sent)]
            for name, sent in inbox.items()
        }

    def _net(self, name: str, sent: Sequence[Rows]) -> Sequence[Rows]:
        """Return received rows. Changes of a table by key are replaced by their net effect on the state before the
        epoch.
        """
        tables = [rows for rows in sent if isinstance(rows, pa.Table)] if name in self.options.keys else []
        if not any(ORDER in rows.column_names or are_by_key(rows).any() for rows in tables):
            return sent
        table, version = self._keyed(name), StateVersion.of(0, self.plan.program, [self.store], [name])
        look_up = partial(version.lookup_all, table.name)
        return [weighted(table, in_order(table, pa.concat_tables(tables)), look_up, self._conflicts)]

    def _keyed(self, name: str) -> Keyed:
        """Return a table with its key."""
        relation = self.plan.program.relations[name]
        assert isinstance(relation.definition, Table)
        return Keyed(relation.definition.table, tuple(relation.schema.names[c] for c in self.options.keys[name]))

    def _check_keys(self) -> None:
        """Raise SharedKeys if new rows of tables have the keys of other rows."""
        for name, alike in self._alike.items() if self._conflicts != "trust" else ():
            if key := self._key(name):
                check_unique(self._keyed(name).name, key, self.states[name], alike, self.store.interner)

    def _key(self, name: str) -> tuple[int, ...]:
        """Return the key of a table, if all rows of one key are here."""
        return self.options.keys[name] if self.plan.has_keys(name, self.options.keys) else ()

    # Steps

    def has_work(self, step: Step) -> bool:
        """Return whether a step has anything to read here. A recursion begins only where it has input."""
        match step:
            case Take(name=name):
                return name in self._staying or any(name in sent for sent in self._sent)
            case Define() | Derive() | Recur():
                update = self._updates[self.plan.makes(step)[0]]
                return self._is_changed(update.follows) or (update.is_due and not isinstance(step, Recur))
            case Send(source=source):
                return self._is_changed([source])
            case Search(query=query):
                return self._is_changed([query.delta.relation])
        return True

    def take(self, step: Step) -> Iterator[Message]:
        """Take a step that has work, and yield its messages."""
        match step:
            case Take(name=name):
                self._take(name)
            case Define(name=name) | Derive(name=name):
                self.work.reports += filter(None, [self._updates[name].run()])
            case Recur():
                self.work.reports.append(self._recur(step))
            case Search():
                yield from self._search(step)
            case Send(source=source, target=target):
                delta = self.states[source].delta
                assert delta is not None
                yield from self._parcels(target, self.states[source].layout, delta)
            case Move(source=source, target=target):
                yield from self._moved(source, target)
            case Present(name=name):
                whole = self.states[name].whole()
                self.states[name].delta = whole if len(whole) else None

    def _moved(self, source: str, target: str) -> Iterator[Message]:
        """Yield all that is stored of a sum as messages: its rows, the counts of a set, and the surplus of a table."""
        state = self.states[source]
        surplus = [a for (role, _), a in state.auxiliary.items() if role == "surplus"]
        for arrangement in (state.contents, *surplus):
            for run in arrangement.runs:
                self.environment.visits.rows += len(run)
                yield from self._parcels(target, arrangement.layout, run)

    def _recur(self, step: Recur) -> ComponentReport:
        """Update a recursion. Raises Outgrown, and the errors of recursions."""
        limit, recursion = self.options.task_memory, self._updates[step.stratum.relations[0]]
        assert isinstance(recursion, Recursive)
        if limit is None or not step.is_chosen:
            return recursion.run()
        with watched(step, self.plan, self.environment, limit):
            report = recursion.run()
        runs = [run for name in step.stratum.relations for run in self.states[name].contents.runs]
        iterations = max((run.max_time for run in runs), default=0)
        held = bytes_on(self.states, self.plan, step)
        return replace(report, way=reason_on_one_shard(held, limit, self.options.shards, iterations))

    def _sent_to(self, name: str) -> list[Received]:
        """Return the rows received for a placed relation so far."""
        return [batch for stage in self._sent for batch in stage.get(name, ())]

    def _take(self, name: str) -> None:
        """Turn all that was received for a placed relation into one change."""
        state = self.states[name]
        sent = [(received.columns, received.weights) for received in self._sent_to(name)]
        if isinstance(state.relation.definition, Table):
            if sent:
                columns, weights = joined(sent)
                given = columns, weights, self._conflicts, self.store.interner, self._key(name)
                change, self._alike[name] = table_change(name, state, *given)
                state.set_change(change)
            return
        batch = CountChanges()
        for layout, run in self._staying.pop(name, ()):
            batch.add_run(state.contents.adapted(run, layout))
        for columns, weights in sent:
            words, summed = packed(state, columns, weights)
            batch.add_run(Run(words, weights=summed))
        state.add_derivations(batch, self.is_stored(name))

    def _search(self, step: Search) -> Iterator[Message]:
        query = step.query
        delta = self.states[query.delta.relation].delta
        assert delta is not None
        batch = CountChanges()
        for derived in self._searches[query.rule].run(delta):
            batch.add(derived.words, derived.weights)
        if (run := batch.run()) is None:
            return
        yield from self._found(step, run)

    def _found(self, step: Search, run: Run) -> Iterator[Message]:
        """Let the results of a search, with their iterations if any, stay on the shard, or yield them as messages."""
        head, layout = step.query.head, self.states[step.query.head].layout
        if step.stays:
            self._staying[head] = (*self._staying.get(head, ()), (layout, run))
        else:
            yield from self._parcels(head, layout, run, run.times)

    def _parcels(self, target: str, layout: Layout, run: Run, times: Times = NO_TIMES) -> Iterator[Message]:
        """Yield rows in a layout, with these iterations if any, as messages to the shards of a placed relation."""
        schema, interner = self.states[target].relation.schema, self.store.interner
        rows = EncodedRows(schema, layout.values(run.words), run.all_weights(), times, interner)
        yield from messages_of(target, rows, self.plan.placed[target].key, self.options.shards)


@dataclass(frozen=True)
class Moment:
    """A snapshot of a shard between two stages."""

    rows: StoreSnapshot
    deltas: Mapping[str, Run | None]
    staying: Mapping[str, tuple[Staying, ...]]
    faults: Sequence[tuple[str, str, int]]
    reports: Sequence[ComponentReport]

    @classmethod
    def of(cls, steps: Steps) -> Moment:
        """Return a snapshot of the present state."""
        deltas = {state.relation.name: state.delta for state in steps.store.changed()}
        faults, reports = list(steps.environment.faults), list(steps.work.reports)
        return cls(steps.store.snapshot(), deltas, dict(steps._staying), faults, reports)

    def restore(self, steps: Steps) -> None:
        """Restore the shard to the snapshot."""
        steps.store.roll_back(self.rows)
        for name, delta in self.deltas.items():
            steps.states[name].delta = delta
        steps._staying, steps.work.reports = dict(self.staying), list(self.reports)
        steps.environment.faults.be(self.faults)

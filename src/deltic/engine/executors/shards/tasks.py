"""An epoch as stateless tasks: each runs one stage on one shard, from the last published state.

Stages exchange messages. A shard's messages are passed on to its own later tasks as far as they need them, so that
these can repeat the steps of earlier stages that they depend on. The task of the last stage writes the shard's
state into new files, which are invisible until their names are published. So a task may run twice, or be abandoned, at
any time.

An epoch may be several jobs. Then the last stage of each job writes the state within the epoch, including changes, from
which the next one continues. That state is not published. No step is repeated except searches whose results have not
been taken yet.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from deltic.engine.changes import count
from deltic.engine.conflicts import Conflicts, joined
from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.exchange import Inbox
from deltic.engine.executors.shards.files import read_description, read_state, write_state
from deltic.engine.executors.shards.messages import (
    DIRECT,
    DRIVER,
    Mailbox,
    Message,
    sent,
    slices,
    streams_of,
    together_few,
)
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate, Step, Take
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.task_memory import Outgrown
from deltic.engine.executors.stored_program import Costs, add_costs
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.engine.options import Options
from deltic.engine.recursion.pending import RoundId
from deltic.engine.result import ComponentReport
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.image import image_of, restored, restored_as
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import Run
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.errors import DelticError

RunTask = Callable[[Iterable[Message]], Iterator[Message]]
"""A task: takes the messages of a shard, and yields those that it sends."""

# The target of the message of a failed shard, which takes no part in later stages.
_FAILED = "failed"
_NEXT = "next\0"
"""The prefix of targets of messages for the next job, before their stage there. The driver passes them on."""


@dataclass
class Amid:
    """The state of a recursion between two rounds, on one shard or on all of them."""

    first: RoundId | None = None
    """The first round with pending entries."""
    waiting: int = 0
    """The number of pending rows."""
    was_empty: bool = True
    """Whether the recursion had no rows at the start."""
    reached: int = -1
    """The last iteration with a change since the previous round; at the start, the last iteration of its rows."""

    def wait(self, first: RoundId | None, waiting: int) -> None:
        """Add pending rows, whose first round is `first`."""
        self.first = min((each for each in (self.first, first) if each is not None), default=None)
        self.waiting += waiting

    def include(self, one: Amid) -> None:
        """Add the state of another shard."""
        self.wait(one.first, one.waiting)
        self.was_empty = self.was_empty and one.was_empty
        self.reached = max(self.reached, one.reached)


@dataclass
class TaskWork:
    """What tasks visited, read and wrote, and the faults that they met."""

    visited: int = 0
    read: int = 0
    """The bytes of files that were read; of mapped files, those that were accessed."""
    written: int = 0
    faults: list[tuple[str, str, int]] = field(default_factory=list)
    costs: Costs = field(default_factory=dict)
    """The cost of the steps that each relation needed."""

    def add(self, other: TaskWork) -> None:
        """Add the work of other tasks."""
        self.visited += other.visited
        self.read += other.read
        self.written += other.written
        self.faults += other.faults
        add_costs(self.costs, other.costs)


@dataclass
class Outcome(TaskWork):
    """The outcome of an epoch on one shard, or on all of them."""

    rows_in: dict[str, int] = field(default_factory=dict)
    """The numbers of changed rows of tables, of recursions in rounds, and of the relations that these read, by
    relation.
    """
    counts: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """The numbers of inserted, deleted, and (ignoring weights) changed rows of views, by relation."""
    changes: dict[str, list[Message]] = field(default_factory=dict)
    """The messages with the changes of views, by relation, in addition to the shard's description."""
    reports: list[ComponentReport] = field(default_factory=list)
    states: dict[int, str] = field(default_factory=dict)
    """The description of each shard's state, by the name of its file."""
    errors: list[DelticError] = field(default_factory=list)
    apart: set[int] = field(default_factory=set)
    """The shards with runs to compact."""
    amid: dict[int, Amid] = field(default_factory=dict)
    """The started rounds, by the number of their recursion."""
    following: list[Message] = field(default_factory=list)
    """The messages for the next job, in addition to the shard's description."""

    def follow(self, one: Outcome) -> None:
        """Add the outcome of a later job of the epoch."""
        self.add(one)
        self.reports += one.reports
        self.rows_in |= one.rows_in
        self.counts |= one.counts
        self.changes |= one.changes
        self.apart |= one.apart

    def include(self, one: Outcome) -> None:
        """Add the outcome of a shard, without the messages with its changes."""
        self.add(one)
        self.reports += one.reports
        self.states |= one.states
        self.apart |= one.apart
        self.errors += one.errors
        for number, amid in one.amid.items():
            self.amid.setdefault(number, Amid()).include(amid)
        for name, rows in one.rows_in.items():
            self.rows_in[name] = self.rows_in.get(name, 0) + rows
        for name, counts in one.counts.items():
            inserted, deleted, rows = (a + b for a, b in zip(self.counts.get(name, (0, 0, 0)), counts, strict=True))
            self.counts[name] = inserted, deleted, rows


@dataclass(frozen=True)
class Task:
    """A stage of an epoch, for any shard; `states` are the descriptions of the shards' states, by shard number.

    Rows of more than `direct` bytes travel in files. The states include the changes of the stages before `since`, and
    the recursions that started in these stages have finished their rounds.
    """

    plan: ShardPlan
    options: Options
    directory: str
    states: Mapping[int, str]
    stage: int
    conflicts: Conflicts
    direct: int = DIRECT
    taken: Mapping[str, str] | None = None
    """The placed relations that these states have, with their names in the plan that wrote them. All others are new."""
    since: int = 0
    forget: Forget | None = field(default=None, kw_only=True)

    def __call__(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Run the stage on the shard of these messages, and yield its messages: to other shards, and to itself."""
        received = list(messages)
        yield from (message for message in received if message.stage == DRIVER)
        if received and not any(message.target == _FAILED for message in received):
            yield from self._worked(received[0].shard, [message for message in received if message.stage != DRIVER])

    @property
    def stage_count(self) -> int:
        """The number of stages."""
        return len(self.plan.stages)

    @property
    def is_last(self) -> bool:
        """Return whether the job ends with this stage."""
        return self.stage + 1 == self.stage_count

    def _worked(self, number: int, received: Sequence[Message]) -> Iterator[Message]:
        outcome = Outcome()
        try:
            files = files_at(self.directory)
            yield from self.hand_on(self._carried(files, received))
            shard = self.open_shard(number, files)
            shard.begin(self.conflicts)
            messages = self.take_steps(shard, self._inboxes(files, received))
            yield from self.hand_on(self.send(files, messages, outcome))
            outcome.visited, outcome.faults = shard.environment.visits.rows, list(shard.environment.faults)
            outcome.costs = shard.work.costs
            if self.is_last:
                yield from self.finish(shard, files, outcome)
            outcome.read, outcome.written = files.traffic.read, files.traffic.written
        except DelticError as error:
            outcome = Outcome(errors=[error])
        yield Message(number, DRIVER, _FAILED if outcome.errors else "", pickle.dumps(outcome))

    def open_shard(self, number: int, files: Files) -> Shard:
        """Open the shard. The last task builds all column orders that this epoch has probed, to write them."""
        over = [step for step in self.plan.iterated if step.stage + 1 == self.since]
        steps = None if self.is_last else [*over, *self.steps_of(self.stage)]
        shard = opened(number, self.plan, self.options, files, self.states.get(number), steps, self.taken)
        for arrangement in shard.store.merging() if self.is_last else ():
            arrangement.frozen = self.options.frozen
        for step in over:
            shard.load(step, {})
            shard.rounds[step.stratum].finish()
        return shard

    def take_steps(self, shard: Shard, inboxes: Sequence[Inbox]) -> list[Message]:
        """Take the steps of the stage, and return the shard's messages."""
        return shard.run_alone(self.stage, inboxes, self.earlier_steps(self.stage))

    def send(self, files: Files, messages: Sequence[Message], outcome: Outcome) -> Iterator[Message]:
        """Yield the shard's messages in the form in which they travel."""
        return sent(files, messages, self.stage + 1, self.direct)

    def steps_of(self, stage: int) -> list[Step]:
        """Return the steps that the task of a stage takes."""
        return [*self.earlier_steps(stage), *self.plan.stages[stage]]

    def earlier_steps(self, stage: int) -> list[Step]:
        """Return the steps of earlier stages that the task of a stage repeats."""
        return self.plan.needed(stage, self.since, writes=stage + 1 == self.stage_count)

    def hand_on(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield messages for later stages. The driver passes those for another job on."""
        return iter(messages)

    def _carried(self, files: Files, received: Sequence[Message]) -> Iterator[Message]:
        """Yield the received messages that the shard's own later tasks need."""
        later = _received_by(step for stage in range(self.stage + 1, self.stage_count) for step in self.steps_of(stage))
        kept = [message for message in received if message.target in later]
        yield from (message for message in kept if message.file)
        yield from together_few(files, (message for message in kept if not message.file), self.direct)

    def _inboxes(self, files: Files, received: Iterable[Message]) -> list[Inbox]:
        """Return the received rows that are taken here, by stage and placed relation."""
        taken, mailbox = _received_by(self.steps_of(self.stage)), Mailbox(files)
        inboxes: list[dict[str, list[pa.Table]]] = [defaultdict(list) for _ in range(self.stage + 1)]
        for message in received:
            if message.target in taken:
                inboxes[message.stage][message.target].append(mailbox.rows(message))
        return list(inboxes)

    def finish(self, shard: Shard, files: Files, outcome: Outcome) -> Iterator[Message]:
        """Yield the changes of views as messages, and write the state."""
        program = self.plan.program
        outcome.reports = shard.work.reports
        deltas = {name: state.delta for name, state in shard.states.items() if state.delta is not None}
        outcome.rows_in = self._rows_in(shard)
        views = {name: deltas[name] for name in sorted(set(program.sinks.values()) & set(deltas))}
        outcome.counts = {name: (*_counts(delta), len(delta)) for name, delta in views.items()}
        changes = (
            message
            for name, delta in views.items()
            for rows in _decoded(shard.states[name], delta, shard.store.interner)
            for message in streams_of(name, shard.number, DRIVER, rows)
        )
        yield from together_few(files, changes, self.direct)
        shard.end(self.forget)
        shard.store.end_epoch()
        self._save(shard, files, outcome)
        if (frozen := self.options.frozen) is not None and any(a.apart(frozen) for a in shard.store.merging()):
            outcome.apart.add(shard.number)

    def _rows_in(self, shard: Shard) -> dict[str, int]:
        """Return the numbers of changed rows of the counted relations here."""
        counted = {*self.plan.program.tables.values()}
        for step in self.plan.iterated:
            counted.update(step.stratum.relations, self.plan.followed(step))
        return {name: rows for name in sorted(counted) if (rows := shard.changed_rows(name))}

    def _save(self, shard: Shard, files: Files, outcome: Outcome) -> None:
        """Write the state of the shard."""
        outcome.states[shard.number] = save(shard, files, self.states.get(shard.number))


def _received_by(steps: Iterable[Step]) -> set[str]:
    """Return the placed relations whose messages these steps read."""
    result: set[str] = set()
    for step in steps:
        match step:
            case Take(name=name):
                result.add(name)
            case Iterate(stratum=stratum):
                result.update(stratum.relations)
    return result


def _counts(delta: Run) -> tuple[int, int]:
    """Return the numbers of inserted and deleted rows."""
    return count(delta.weights) if delta.weights.size else (len(delta), 0)


def _decoded(state: State, delta: Run, interner: Interner) -> Iterator[pa.Table]:
    """Yield the change of a relation in parts, so that only one part is in memory twice."""
    weights = delta.all_weights()
    for part in slices(len(delta)):
        yield decode_rows(state.relation.schema, state.layout, delta.words[:, part], interner, weights[part])


def handed_on(message: Message) -> Message:
    """Return a message that the driver passes on to the same stage of the next job."""
    return replace(message, stage=DRIVER, target=f"{_NEXT}{message.stage}\0{message.target}")


def wake(shards: Iterable[int]) -> list[Message]:
    """Return an empty message to each of these shards, so that they take part in every stage."""
    return [Message(number, 0, "") for number in shards]


def run_by_shard(task: RunTask, messages: Iterable[Message]) -> Iterator[Message]:
    """Run a task for one shard after the other, each with its messages, and yield what they send."""
    of_shard = defaultdict[int, list[Message]](list)
    for message in messages:
        of_shard[message.shard].append(message)
    for number in sorted(of_shard):
        yield from task(of_shard.pop(number))


def run_in_process(messages: Iterable[Message], tasks: Sequence[RunTask]) -> Iterable[Message]:
    """Run stages in this process, as a job does. Return the messages for the driver."""
    for task in tasks:
        messages = list(run_by_shard(task, messages))
    return (message for message in messages if message.stage == DRIVER)


def total(messages: Iterable[Message]) -> Outcome:
    """Return the outcome of all shards: sums. Raises the errors of their tasks."""
    result = Outcome()
    for message in sorted(messages, key=lambda message: message.shard):
        if message.target.startswith(_NEXT):
            stage, target = message.target.removeprefix(_NEXT).split("\0", 1)
            result.following.append(replace(message, target=target, stage=int(stage)))
            continue
        if message.target not in ("", _FAILED):
            result.changes.setdefault(message.target, []).append(message)
            continue
        result.include(pickle.loads(message.content))
    if result.errors:
        raise joined(sorted(result.errors, key=lambda error: isinstance(error, Outgrown)))
    return result


# State


def opened(
    number: int,
    plan: ShardPlan,
    options: Options,
    files: Files,
    state: str | None,
    steps: Collection[Step] | None = None,
    taken: Mapping[str, str] | None = None,
) -> Shard:
    """Open a shard from its description, to take these steps or all. Without a description it is empty.

    If another plan wrote the state, `taken` maps the placed relations to take over to their names there.
    """
    if state is None:
        return Shard(number, plan, options, Store(), steps)
    described = read_description(files, state)
    shard = Shard(number, plan, options, store_of(plan, files, described, taken), steps)
    shard.histories.learn(described["learned"])
    return shard


def store_of(
    plan: ShardPlan, files: Files, described: Mapping[str, Json], taken: Mapping[str, str] | None = None
) -> Store:
    """Return the store of a description; see `opened`."""
    saved, program, space = read_state(files, described), plan.program, Space(None, 0)
    if taken is None:
        store = restored(saved, program, program.relations, space)
    else:
        store = restored_as(saved, [(program.relations[name], was) for name, was in taken.items()], space)
    for state in store.states.values():
        state.keep_orders()
    return store


def save(shard: Shard, files: Files, before: str | None, mark: str = "") -> str:
    """Write the new runs of a shard between epochs. Return its new description's name; `before` is the last one."""
    shard.build()
    shard.store.fit()
    return write_state(files, image_of(shard.store), before, shard.histories.written(), mark)

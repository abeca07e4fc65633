"""An epoch as tasks without memory: each takes one shard through one stage, from the state that was published before.

Between stages go letters, which hold Arrow batches: what a shard was sent goes on to the shard's own next task, so that
this one can take again those steps of earlier stages that it needs. The task of the last stage writes the shard's state
into new files; nobody sees them before their names are published. So a task may run twice, or be given up, at any time.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from deltic.engine.arrow_stream import of_stream, to_stream
from deltic.engine.files.files import Files, files_at
from deltic.engine.image import Json
from deltic.engine.local.storage.arrow import view_change
from deltic.engine.local.storage.image import image_of, restored
from deltic.engine.local.storage.spilling import Space
from deltic.engine.local.storage.store import Store
from deltic.engine.protocol import ComponentReport, Conflicts
from deltic.engine.shards.files import read_description, read_state, write_state
from deltic.engine.shards.plan import ShardPlan, Step
from deltic.engine.shards.shard import Inbox, Options, Parcel, Shard
from deltic.errors import DelticError

# The stage of letters that are for the driver.
DRIVER = -1
# What the letter of a shard is for that could not go on: it has no part in later stages.
_FAILED = "failed"
# The most rows of a letter.
_MANY = 1 << 17


@dataclass(frozen=True)
class Letter:
    """What is sent to a shard for a stage, rows of a placed relation; for the DRIVER a view's change or an outcome."""

    shard: int
    stage: int
    target: str
    content: bytes

    @classmethod
    def of(cls, parcel: Parcel, stage: int) -> Iterator[Letter]:
        """The parcel, to arrive in a stage, in letters of no more rows than go well into one."""
        for start in range(0, parcel.rows.num_rows, _MANY):
            yield cls(parcel.shard, stage, parcel.target, to_stream(parcel.rows.slice(start, _MANY)).to_pybytes())


@dataclass
class Outcome:
    """What a shard, or all of them, did in an epoch."""

    visited: int = 0
    rows_in: dict[str, int] = field(default_factory=dict)
    """The changed rows of tables, by relation."""
    changes: dict[str, list[pa.Table]] = field(default_factory=dict)
    """The changes of views, by relation, with their weights."""
    reports: list[ComponentReport] = field(default_factory=list)
    faults: list[tuple[str, str, int]] = field(default_factory=list)
    states: dict[int, str] = field(default_factory=dict)
    """The description of each shard's state, by the name of its file."""
    errors: list[DelticError] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A stage of an epoch, for any shard; `states` are the descriptions of the shards' states, by their numbers."""

    plan: ShardPlan
    options: Options
    directory: str
    states: Mapping[int, str]
    stage: int
    conflicts: Conflicts

    def __call__(self, letters: Iterable[Letter]) -> Iterator[Letter]:
        """What a shard that was sent these letters sends: to others, and to itself."""
        received = list(letters)
        is_last = self.stage + 1 == len(self.plan.stages)
        yield from (letter for letter in received if letter.stage == DRIVER or not is_last)
        if received and not any(letter.target == _FAILED for letter in received):
            yield from self._worked(received[0].shard, received, is_last)

    def _worked(self, number: int, received: Sequence[Letter], is_last: bool) -> Iterator[Letter]:
        outcome = Outcome()
        try:
            # The last one builds all column orders that this epoch has probed, so that they are written.
            steps = None if is_last else [*self.plan.needed(self.stage), *self.plan.stages[self.stage]]
            files, state = files_at(self.directory), self.states.get(number)
            shard = opened(number, self.plan, self.options, files, state, steps)
            shard.begin(self.conflicts)
            for parcel in shard.run_alone(self.stage, _inboxes(received, self.stage)):
                yield from Letter.of(parcel, self.stage + 1)
            outcome.visited, outcome.faults = shard.environment.visits.rows, list(shard.environment.faults)
            if is_last:
                yield from self._finish(shard, outcome)
        except DelticError as error:
            outcome = Outcome(errors=[error])
        yield Letter(number, DRIVER, _FAILED if outcome.errors else "", pickle.dumps(outcome))

    def _finish(self, shard: Shard, outcome: Outcome) -> Iterator[Letter]:
        """Write the state, and tell the changes in letters of their own: more rows may change than one can hold."""
        program = self.plan.program
        outcome.reports = shard.reports
        deltas = {name: state.delta for name, state in shard.states.items() if state.delta is not None}
        outcome.rows_in = {name: len(deltas[name]) for name in program.tables.values() if name in deltas}
        changes = {
            name: view_change(shard.states[name], deltas[name], shard.store.interner).to_arrow()
            for name in sorted(set(program.sinks.values()) & set(deltas))
        }
        shard.end()
        shard.forget_changes()
        outcome.states[shard.number] = save(shard, files_at(self.directory), self.states.get(shard.number))
        for name, rows in changes.items():
            yield from Letter.of(Parcel(name, shard.number, rows), DRIVER)


def _inboxes(received: Iterable[Letter], last: int) -> list[Inbox]:
    """What was sent, by stage and placed relation."""
    inboxes: list[dict[str, list[pa.Table]]] = [defaultdict(list) for _ in range(last + 1)]
    for letter in received:
        if letter.target and letter.stage != DRIVER:
            inboxes[letter.stage][letter.target].append(of_stream(letter.content))
    return list(inboxes)


def wake(shards: int) -> list[Letter]:
    """A letter without content to each shard, so that each has a task in every stage."""
    return [Letter(number, 0, "", b"") for number in range(shards)]


def total(letters: Iterable[Letter]) -> Outcome:
    """The outcome of all shards: sums, and all errors."""
    found = Outcome()
    for letter in sorted(letters, key=lambda letter: letter.shard):
        if letter.target not in ("", _FAILED):
            found.changes.setdefault(letter.target, []).append(of_stream(letter.content))
            continue
        one: Outcome = pickle.loads(letter.content)
        found.visited += one.visited
        found.reports += one.reports
        found.faults += one.faults
        found.states |= one.states
        found.errors += one.errors
        for name, rows in one.rows_in.items():
            found.rows_in[name] = found.rows_in.get(name, 0) + rows
    return found


# State


def opened(
    number: int,
    plan: ShardPlan,
    options: Options,
    files: Files,
    state: str | None,
    steps: Collection[Step] | None = None,
) -> Shard:
    """The shard of this number as a description says, to take these steps or all; empty where there is none."""
    if state is None:
        return Shard(number, plan, options, Store(), steps)
    described = read_description(files, state)
    shard = Shard(number, plan, options, store_of(plan, files, described), steps)
    shard.learn(described["learned"])
    return shard


def store_of(plan: ShardPlan, files: Files, described: Mapping[str, Json]) -> Store:
    """The store that a description tells of."""
    store = restored(read_state(files, described), plan.program, plan.program.relations, Space(None, 0))
    for state in store.states.values():
        state.keep_orders()
    return store


def save(shard: Shard, files: Files, before: str | None) -> str:
    """Write what is new of a shard, between epochs: the name of its description. `before` is the last one's."""
    shard.build()
    shard.fit()
    return write_state(files, image_of(shard.store), before, shard.learned())

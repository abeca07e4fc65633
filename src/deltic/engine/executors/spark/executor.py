"""Shards on Spark: an epoch runs in the driver's process or as one Spark job, over the same run files.

Small parts of a job run in the driver's process, too, as the same tasks, which leave nothing in its memory.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeGuard
from uuid import uuid4

from deltic.engine.batches import Changed, ConcatenatedBatch, apart, rows_of
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import Conflicts, TableError, joined
from deltic.engine.executors.executor import Host, nothing
from deltic.engine.executors.placed import PartRun, Place
from deltic.engine.executors.shards.building import building
from deltic.engine.executors.shards.compaction import Compaction
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.files import bytes_of, collect_garbage, files_of, read_description
from deltic.engine.executors.shards.group import empty_relations, summed
from deltic.engine.executors.shards.messages import DIRECT, Mailbox, Message, sent
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.process import Begun, ProcessShards, ShardsExecuted
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.staged_rows import MessageBatch, RowSplit
from deltic.engine.executors.shards.tasks import Outcome, Task, opened, run_in_process, save, store_of, total
from deltic.engine.executors.spark.compacting import Compacting, RunEach
from deltic.engine.executors.spark.costs import FEW
from deltic.engine.executors.spark.file_plan import FilePlan
from deltic.engine.executors.spark.placement import ShardPlace
from deltic.engine.executors.spark.rounds import FileEpoch
from deltic.engine.executors.spark.table_tasks import SparkTasks
from deltic.engine.executors.stored_program import work_of
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.engine.result import EpochResult
from deltic.engine.storage.run import KeptRun
from deltic.engine.storage.store import Store
from deltic.program.program import Program

# Runs the tasks of an epoch for some shards, each with the messages of the one before. Returns the driver's messages.
# The last argument is the name of the job.
RunTasks = Callable[[Sequence[Message], Sequence[Task], int, str], Iterable[Message]]
# Whether changes of these numbers of rows of tables cost less in this process than a job.
IsSmall = Callable[[Mapping[str, int]], bool]


class SparkShards(ProcessShards):
    """Has shards whose state is in `directory`, which driver and executors of Spark see under one name.

    `run_tasks` runs an epoch as a job; parts of it that are small by `is_small` run in this process, and so do rounds
    of recursions with at most `few` pending rows. A state is in the memory of the driver, in files, or in both.
    `states` names the descriptions of the last written state. `_open` has the shards, if they are in the driver; if
    they are `_ahead` of the files, they have run an epoch since. `place` says where the next epoch runs, and may be set
    between epochs. Rows of more than `direct` bytes travel to and from tasks in files. Frozen runs are merged in the
    background, by `run_each`; without it epochs merge them. `before_jobs` raises DelticError if the executors cannot
    run jobs.
    """

    def __init__(
        self,
        placed: PlacedProgram,
        host: Host,
        directory: Files,
        run_tasks: RunTasks,
        run_each: RunEach | None = None,
        place: ShardPlace = "process",
        direct: int = DIRECT,
        few: int = FEW,
        is_small: IsSmall = lambda rows: False,
        before_jobs: Callable[[], None] = lambda: None,
    ) -> None:
        self.placed, self.host, self.place = placed, host, place
        self.directory, self.files = directory, directory.below(uuid4().hex)
        self.run_tasks, self.run_each, self.direct, self.few = run_tasks, run_each, direct, few
        self.is_small, self.before_jobs = is_small, before_jobs
        self.compacting = None if run_each is None else Compacting(run_each)
        self.states: Mapping[int, str] = {}
        self._open: list[Shard] | None = placed.empty()
        self._empty_in_files: Collection[str] = ()
        self._descriptions: dict[str, Mapping[str, Json]] = {}
        self._stores: dict[str, Store] = {}
        self._stores_of: Program | None = None
        self._ahead = False
        atexit.register(self.files.clear)

    @cached_property
    def tasks(self) -> SparkTasks:
        return SparkTasks(self)

    @property
    def shards(self) -> list[Shard]:
        """The shards in this process, opened at first use."""
        if self._open is None:
            plan, options = self.placed.plan, self.placed.options
            numbers = range(options.shards)
            self._open = [opened(n, plan, options, self.files, self.states.get(n)) for n in numbers]
        return self._open

    def reset(self, placed: PlacedProgram) -> None:
        self.placed, self._open = placed, placed.empty()

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        self.placed, self._open, self._ahead = placed, list(shards), True

    def stores(self) -> list[Store]:
        if self._open is None:
            return self._written_stores(self.placed.plan, self.states)
        return super().stores()

    def execute(self, epoch: Begun) -> ShardsExecuted:
        return self.run_here(epoch) if self.place == "process" else self._from_files(epoch)

    def run_here(self, epoch: Begun) -> ShardsExecuted:
        executed = super().run_here(epoch)

        def commit() -> None:
            self._ahead = True
            executed.commit()

        return replace(executed, commit=commit)

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, number: int) -> ShardsExecuted:
        if self.place == "process":
            return super().build(placed, evolution, number)
        builder = building(placed.definition, evolution)
        messages = list(sent(self.files, list(builder.beginning(evolution)), 0, self.direct))
        epoch = self._file_epoch(self._saved(), "trust", number, evolution.taken)
        FilePlan(epoch, builder, self._by_job).run_on(messages)
        outcome = epoch.outcome(builder, self._written_stores(builder.plan, epoch.states))
        stores = self._written_stores(placed.plan, outcome.states)
        empty = empty_relations(placed.plan, stores)

        def take() -> None:
            self.placed, self._empty_in_files = placed, empty
            self.states, self._open, self._ahead = outcome.states, None, False

        result = self._result_of(builder.program, outcome)
        return ShardsExecuted(placed.version(number, stores), result, take, nothing)

    def _saved(self) -> Mapping[int, str]:
        """Return the descriptions of the present state, and write it to files if necessary."""
        if self._open is None:
            return self.states
        return {shard.number: save(shard, self.files, self.states.get(shard.number)) for shard in self._open}

    def write(self) -> None:
        """Write the committed state to files, if it is ahead of them."""
        if self._ahead and self._open is not None:
            self.states, self._ahead = self._saved(), False

    def write_for_tasks(self) -> None:
        """Write the committed state to files for tasks that run before the next epoch."""
        if self._ahead:
            self.write()
            self._collect_garbage()

    @property
    def nbytes(self) -> int:
        if self._open is None:
            return sum(map(bytes_of, self._described(self.states.values())))
        return super().nbytes

    @property
    def resident(self) -> int:
        """Return the bytes of the state in the driver's memory, without what it reads from files."""
        arrangements = (a for shard in self._open or () for a in shard.store.arrangements().values())
        runs = {id(run): run for arrangement in arrangements for run in arrangement.runs}
        return sum(run.nbytes for run in runs.values() if not isinstance(run, KeptRun))

    def discard(self) -> None:
        """Remove all files that no version reads. The executor is not used any more."""
        self.states = {}
        collect_garbage(self.files, ())

    # Epochs from files

    def _from_files(self, begun: Begun) -> ShardsExecuted:
        """Run the epoch from files: the small parts of its plan in this process, and the others together as a job.

        With recursions in rounds, there is one job for the steps before, and one for each round.
        """
        self.write()
        placed, number = self.placed, begun.before.epoch + 1
        epoch = self._file_epoch(self.states, begun.conflicts, number)
        parts = self._run_parts(epoch, begun)
        stores = self._written_stores(placed.plan, epoch.states)
        outcome = epoch.outcome(placed, stores)
        version, empty = placed.version(number, stores), empty_relations(placed.plan, stores)

        def commit() -> None:
            self.states, self._open, self._ahead, self._empty_in_files = outcome.states, None, False, empty
            self._collect_garbage()
            if self.compacting is not None:
                self.compacting.begin(self, outcome.apart)

        tables = {table: outcome.rows_in.get(placed.program.tables[table], 0) for table in begun.changes}
        result = replace(self._result_of(placed.program, outcome), tables=tables, parts=parts)
        return ShardsExecuted(version, result, commit, nothing, placed.shrunk(stores))

    def _run_parts(self, epoch: FileEpoch, begun: Begun) -> tuple[PartRun, ...]:
        """Run the parts of the plan, a job last, since it costs the most. Return what ran, a job first.

        Raises the errors of all parts about tables together.
        """
        started, messages, empty = time.perf_counter(), list(self._messages_of(begun)), self._empty()
        chosen, runs, errors = self._chosen(begun, messages, empty), list[PartRun](), list[TableError]()
        for place, changed in chosen:
            part, visited = [m for m in messages if m.target in changed], epoch.visited
            is_last, run = len(runs) + 1 == len(chosen), _in_process if place == "files" else self._by_job
            try:
                plan = FilePlan(epoch, self.placed.for_epoch(changed, empty), run)
                plan.run_on(part, begun.forget if is_last else None)
            except TableError as error:
                errors.append(error)
            now = time.perf_counter()
            runs.append(PartRun(place, self._rows_in(begun, changed), epoch.visited - visited, now - started))
            started = now
        if errors:
            raise joined(errors)
        return tuple(reversed(runs))

    def _chosen(
        self, begun: Begun, messages: Sequence[Message], empty: Collection[str]
    ) -> list[tuple[Place, frozenset[str]]]:
        """Return the changed relations of the parts to run in this process, and of those to run as a job.

        Beside a job a small part runs in this process only if it would make the job longer: otherwise it costs a job
        nothing, which opens and writes the same shards.
        """
        changed = {message.target for message in messages}
        parts = [part & changed for part in self.placed.for_epoch(changed, empty).plan.parts]
        small, job = list[frozenset[str]](), frozenset[str]()
        for part in sorted(parts, key=lambda part: sum(self._rows_in(begun, part).values())):
            if self.is_small(self._rows_in(begun, part.union(*small))):
                small.append(part)
            else:
                job |= part
        if job:
            length = self.placed.for_epoch(job, empty).plan.length
            job = job.union(*(part for part in small if self.placed.for_epoch(part, empty).plan.length <= length))
        chosen: list[tuple[Place, frozenset[str]]] = [("files", frozenset[str]().union(*small) - job), ("job", job)]
        return [each for each in chosen if each[1]] or chosen[:1]

    def _rows_in(self, begun: Begun, relations: Collection[str]) -> Mapping[str, int]:
        """Return the numbers of changed rows of the tables among some relations."""
        tables, rows = self.placed.program.tables, {table: rows_of(batch) for table, batch in begun.changes.items()}
        return {table: count for table, count in rows.items() if count and tables[table] in relations}

    def _file_epoch(
        self, states: Mapping[int, str], conflicts: Conflicts, number: int, taken: Mapping[str, str] | None = None
    ) -> FileEpoch:
        """Return an epoch of this number over the files."""
        label = f"epoch {number:,}"
        return FileEpoch(self.files, conflicts, self.direct, self.few, self._by_job, label, states, taken)

    def _by_job(self, messages: Sequence[Message], tasks: Sequence[Task], label: str) -> Outcome:
        """Return the outcome of a Spark job. Raises DelticError if the executors cannot run it, and those of tasks."""
        self.before_jobs()
        return total(self.run_tasks(messages, tasks, self.placed.options.shards, label))

    def _messages_of(self, epoch: Begun) -> Iterator[Message]:
        """Yield the changes of tables as messages. Those that tasks have written exist already."""
        here: dict[str, Changed] = {}
        for table, batch in epoch.changes.items():
            if posted := [one for one in apart(batch) if self.is_posted(one, table)]:
                for one in posted:
                    yield from one.handed_to(self.files)
                if rest := [one for one in apart(batch) if one not in posted]:
                    here[table] = ConcatenatedBatch.of(rest)
            else:
                here[table] = batch
        yield from sent(self.files, list(epoch.sent(self.placed, here)), 0, self.direct)

    def is_posted(self, batch: Changed, table: str) -> TypeGuard[MessageBatch]:
        """Return whether tasks have written a batch as the shards of this program read it."""
        name, placed = self.placed.program.tables[table], self.placed
        if not isinstance(batch, MessageBatch) or (batch.key and not placed.has_keys(name)):
            return False
        keys = placed.options.keys[name] if batch.key else ()
        return batch.split == RowSplit(name, placed.plan.placed[name].key, placed.options.shards, keys)

    def _empty(self) -> Collection[str]:
        """Return the relations that searches need and that are empty on all shards."""
        if self._open is not None:
            return empty_relations(self.placed.plan, self.stores())
        return self._empty_in_files if self.states else self.placed.plan.needs

    def _written_stores(self, plan: ShardPlan, states: Mapping[int, str]) -> list[Store]:
        """Return the stores of written shards, which are read at first use."""
        names = [name for _, name in sorted(states.items())]
        if self._stores_of is not plan.program:
            self._stores, self._stores_of = {}, plan.program
        described = zip(names, self._described(names), strict=True)
        self._stores = {n: self._stores.get(n) or store_of(plan, self.files, one) for n, one in described}
        return list(self._stores.values())

    def _described(self, names: Iterable[str]) -> list[Mapping[str, Json]]:
        """Return the descriptions of shards; those that were read before are not read again."""
        known = self._descriptions
        self._descriptions = {n: known[n] if n in known else read_description(self.files, n) for n in names}
        return list(self._descriptions.values())

    def _result_of(self, program: Program, outcome: Outcome) -> EpochResult:
        mailbox, result = Mailbox(self.files), {v: n for v, n in program.sinks.items() if n in outcome.changes}
        changes = {v: ViewChange(*outcome.counts[n], mailbox.reader(outcome.changes[n])) for v, n in result.items()}
        reports = tuple(summed(outcome.reports))
        return EpochResult(
            Changes(changes),
            rows_visited=outcome.visited,
            components=reports,
            work=work_of(program, outcome.costs),
            bytes_read=outcome.read,
            bytes_written=outcome.written,
        )

    def _collect_garbage(self) -> None:
        """Remove the files that neither the state nor the version before it needs."""
        names = set(self.states.values())
        needed = {file for described in self._described(names) for file in files_of(described)}
        mark, read = "", frozenset[str]()
        if self.compacting is not None:
            mark, read = self.compacting.mark, self.compacting.read
        collect_garbage(self.files, names | needed | read, mark)

    # Compaction

    def compact(self) -> bool:
        """Merge all runs of each arrangement in files into one. Return whether this executor compacts."""
        if self.compacting is None:
            return False
        self.compacting.wait()
        with self.host.section:
            self.write()
            self._empty_in_files, self._open = self._empty(), None
        self.compacting.now(self)
        with self.host.section:
            self._collect_garbage()
        return True

    def compactions(self, numbers: Collection[int], mark: str, whole: bool) -> list[Compaction]:
        """Return the tasks for some shards, or for all if `whole`; none if the state is in memory."""
        return [
            Compaction(self.placed.plan, self.placed.options, self.files.place, number, state, mark, whole)
            for number, state in sorted(self.states_in_files.items())
            if whole or number in numbers
        ]

    @property
    def states_in_files(self) -> Mapping[int, str]:
        """The descriptions of the shards' states; empty if these are in memory."""
        return {} if self._open is not None else self.states

    def take_compacted(self, states: Mapping[int, str]) -> None:
        """Replace the descriptions of some shards' states in files.

        Files that they name no more are removed with the next epoch.
        """
        self.states = {**self.states, **states}


def _in_process(messages: Sequence[Message], tasks: Sequence[Task], label: str) -> Outcome:
    """Return the outcome of stages that run in this process. Raises the errors of their tasks."""
    return total(run_in_process(messages, tasks))

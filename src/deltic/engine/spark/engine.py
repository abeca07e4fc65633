"""The engine on Spark: shards whose epochs run in the driver's process or as one Spark job, over the same run files."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard
from uuid import uuid4

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Batch, Changed, Several, apart
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.comparing import Beside
from deltic.engine.conflicts import Conflicts, joined
from deltic.engine.critical_section import exclusive
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.engine.keyed import Keyed, KeyedChange, RowChange, with_order
from deltic.engine.local.storage.run import KeptRun
from deltic.engine.local.storage.store import Store
from deltic.engine.prepared import refuse_second
from deltic.engine.result import EpochResult
from deltic.engine.shards.building import Built, building
from deltic.engine.shards.compaction import FROZEN, Compaction
from deltic.engine.shards.comparison import Comparison
from deltic.engine.shards.engine import Executed, ShardedEngine
from deltic.engine.shards.evolution import Evolution
from deltic.engine.shards.files import bytes_of, collect_garbage, files_of, read_description
from deltic.engine.shards.group import empty_relations, summed
from deltic.engine.shards.laid import Laid
from deltic.engine.shards.letters import DIRECT, Letter, Mailbox, sent
from deltic.engine.shards.plan import ShardPlan
from deltic.engine.shards.posted import Lettered, Posted, Site, Split
from deltic.engine.shards.restrict import restrict
from deltic.engine.shards.room import Outgrown, told_in_rounds
from deltic.engine.shards.setting import Definition
from deltic.engine.shards.settlement import Settled, Settlement
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.tasks import Outcome, Task, opened, save, store_of, total, wake
from deltic.engine.spark.compacting import Compacting, RunEach
from deltic.engine.spark.described import some_of
from deltic.engine.spark.placement import Executor
from deltic.engine.spark.rounds import Reached, RoundJobs
from deltic.engine.watermark import Watermark
from deltic.program.program import Program

# Runs the tasks of an epoch for so many shards, each with the letters that the one before wrote: those for the driver.
# The last argument is what the job is called.
RunTasks = Callable[[Sequence[Letter], Sequence[Task], int, str], Iterable[Letter]]


FEW = 1 << 16
"""The rows that wait for a round at most where the driver's process takes it: a job costs more than these."""


class SparkEngine(ShardedEngine):
    """Runs a circuit on shards whose state is below `directory`, which driver and executors see under one name.

    `run_tasks` runs an epoch as a job. A state is in the memory of the driver, in files, or in both: `_states` names
    the descriptions of what was written last, and `_open` has the shards, where the driver has them; those that are
    `_ahead` of the files have run an epoch since. `executor` runs the next epoch: it may be set between epochs. Rows
    of more than `direct` bytes go to tasks, and come from them, in files. Of an epoch that is a job, those rounds of
    recursions for which no more than `few` rows wait are taken in this process. Runs of `frozen` rows and more are
    merged in the background, by `run_each`; without it epochs merge them.
    """

    def __init__(
        self,
        circuit: Circuit,
        *,
        directory: Files,
        run_tasks: RunTasks,
        executor: Executor = "process",
        direct: int = DIRECT,
        few: int = FEW,
        run_each: RunEach | None = None,
        frozen: int = FROZEN,
        **options: Any,
    ) -> None:
        self._states: Mapping[int, str] = {}
        self._open: list[Shard] | None = None
        self._empty_in_files: Collection[str] = ()
        self._ahead = False
        super().__init__(circuit, frozen=None if run_each is None else frozen, **options)
        self._directory, self.files = directory, directory.below(uuid4().hex)
        self._run_tasks, self._run_each, self.executor = run_tasks, run_each, executor
        self._direct, self._few = direct, few
        self._compacting = None if run_each is None else Compacting(run_each)
        atexit.register(self.files.clear)

    @property
    def shards(self) -> list[Shard]:
        """The shards in this process, opened when somebody asks for them."""
        if self._open is None:
            numbers = range(self.options.shards)
            self._open = [opened(n, self.plan, self.options, self.files, self._states.get(n)) for n in numbers]
        return self._open

    @shards.setter
    def shards(self, shards: list[Shard]) -> None:
        self._open = shards

    def site(self, table: str) -> Site:
        """Where tasks may write rows of a table: beside the state, for one batch."""
        name = self.program.tables[table]
        placed, schema = self.plan.placed[name], self.program.relations[name].schema
        split = Split(name, placed.key, self.options.shards)
        keys = self.options.keys[name] if self.checks_keys(table) else ()
        return Site(self._directory.below(uuid4().hex), schema, split, keys)

    @exclusive
    def compared(self, table: str, rows: Posted, beside: Beside) -> Posted | None:
        """The tables as they are in files; raises what tasks do."""
        if self._run_each is None or not self._is_posted(rows, table):
            return None
        refuse_second(self._prepared)
        self._write_for_tasks()
        site, name = self.site(table), self.program.tables[table]
        state = self.plan, self.options, self.files.place
        tasks = [
            Comparison(*state, number, self._states.get(number), name, site.posting, rows.of_shard(number), beside)
            for number in range(self.options.shards)
        ]
        run = self._run_each
        return Posted.by(site, lambda: run(tasks, f"comparison of {table} with its source"))

    @exclusive
    def settled(
        self, table: str, changes: Sequence[RowChange | KeyedChange], conflicts: Conflicts, watermark: Watermark | None
    ) -> Settled | None:
        """By a job, where more than `few` rows are elsewhere, and all rows of a key are on one shard."""
        site, run = self.site(table), self._run_each
        wants_keys = any(isinstance(change, KeyedChange) or change.is_by_key for change in changes)
        wants_keys = wants_keys or (watermark is not None and watermark.wants_keys)
        if run is None or site.split.key is None or (wants_keys and not site.has_keys):
            return None
        elsewhere = [c.rows for c in changes if isinstance(c, RowChange) and isinstance(c.rows, Lettered)]
        if sum(rows.count() for rows in elsewhere) <= self._few:
            return None
        if not all(self._is_posted(rows, table) for rows in elsewhere):
            return None
        refuse_second(self._prepared)
        self._write_for_tasks()
        lettered = [self._lettered(change) for change in changes]
        keyed = Keyed(table, tuple(site.schema.names[column] for column in site.keys))
        tasks = [
            Settlement(
                self.plan,
                self.options,
                self.files.place,
                number,
                self._states.get(number),
                self.program.tables[table],
                site.posting,
                keyed,
                [replace(change, rows=_of_shard(change.rows, number)) for change in lettered],
                site.nothing,
                conflicts,
                watermark,
            )
            for number in range(self.options.shards)
        ]
        found = Settled.by(site, lambda: run(tasks, f"settlement of the changes of {table}"))
        for rows in (change.rows for change in lettered if isinstance(change.rows, Posted)):
            found.told.read += rows.told.read
            found.told.written += rows.told.written
        return found

    def _lettered(self, change: RowChange | KeyedChange) -> RowChange:
        """A change of a table as its rows stand in letters: those of this process are written for shards now."""
        if isinstance(change, RowChange) and isinstance(change.rows, Lettered):
            return change
        site, updates = self.site(change.table), tuple[str, ...]()
        if isinstance(change, KeyedChange):
            updates = tuple(change.rows.column_names) if change.kind == "update" else ()
            site, rows = site.by_key(True), change.spread(site.schema.to_arrow())
        elif change.is_by_key:
            site, rows = site.by_key(True), with_order(change.rows.to_arrow())
        else:
            rows = change.rows.to_arrow()
        return RowChange(change.table, Posted.by(site, lambda: site.posting.of(lambda files: [(rows, None)])), updates)

    def _write_for_tasks(self) -> None:
        """Let tasks that come before the next epoch find the committed state in files."""
        if self._ahead:
            self._write()
            self._collect_garbage()

    def _execute(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        return self._job(changes, conflicts) if self.executor == "job" else self._in_process(changes, conflicts)

    def _like(self, **options: Any) -> ShardedEngine:
        return super()._like(
            directory=self._directory,
            run_tasks=self._run_tasks,
            run_each=self._run_each,
            executor=self.executor,
            direct=self._direct,
            few=self._few,
            **options,
        )

    def _in_process(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run the epoch in this process."""
        executed = super()._execute(changes, conflicts)

        def commit() -> None:
            self._ahead = True
            executed.commit()

        return replace(executed, commit=commit)

    def _build(self, definition: Definition, found: Evolution, epoch: int) -> Built:
        if self.executor == "process":
            return super()._build(definition, found, epoch)
        return self._built_by_jobs(Laid(definition, found.plan), found, epoch)

    def _built(
        self, laid: Laid, found: Evolution, stores: Sequence[Store], learned: Sequence[Sequence[Json]], epoch: int
    ) -> Built:
        built = super()._built(laid, found, stores, learned, epoch)

        def take() -> None:
            self._ahead = True
            built.take()

        return replace(built, take=take)

    def _built_by_jobs(self, laid: Laid, found: Evolution, epoch: int) -> Built:
        """What is laid out, of the state as it is, by jobs."""
        builder = building(laid.definition, found)
        letters = list(sent(self.files, list(builder.beginning(found)), 0, self._direct))
        outcome, _ = self._by_jobs(builder, letters, "trust", self._saved(), found.taken)
        stores = self._written_stores(laid.plan, outcome.states)
        empty = empty_relations(laid.plan, stores)

        def take() -> None:
            self._laid, self._empty_in_files = laid, empty
            self._states, self._open, self._ahead = outcome.states, None, False

        return Built(self._result_of(builder.program, outcome), laid.version(epoch, stores), take)

    def _stores(self) -> list[Store]:
        return super()._stores() if self._open is not None else self._written_stores(self.plan, self._states)

    def _saved(self) -> Mapping[int, str]:
        """The descriptions of the state as it is, in files."""
        if self._open is None:
            return self._states
        return {shard.number: save(shard, self.files, self._states.get(shard.number)) for shard in self._open}

    def _take_rows_of(self, other: ShardedEngine) -> None:
        assert isinstance(other, SparkEngine)
        self.files.clear()
        self.files, self._states, self._empty_in_files = other.files, other._states, other._empty_in_files
        self._open, self._ahead = other._open, other._open is not None

    @property
    def nbytes(self) -> int:
        """The bytes of the state, in memory or in files."""
        if self._open is None:
            return sum(bytes_of(read_description(self.files, name)) for name in self._states.values())
        return sum(shard.store.nbytes for shard in self._open)

    @property
    def resident(self) -> int:
        """The bytes of the state in the memory of the driver: what it reads from files is not among them."""
        arrangements = (a for shard in self._open or () for a in shard.store.arrangements().values())
        runs = {id(run): run for arrangement in arrangements for run in arrangement.runs}
        return sum(run.nbytes for run in runs.values() if not isinstance(run, KeptRun))

    def discard(self) -> None:
        """Remove the files, but for those that a version reads: the engine is not used any more."""
        self._states = {}
        collect_garbage(self.files, ())

    def _job(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run the epoch as a job; where a recursion takes rounds, as one for what leads to them, and one for each."""
        self._write()
        written = self.files.traffic.written
        letters = list(self._letters_of(changes, conflicts))
        written = self.files.traffic.written - written
        plan = restrict(self.plan, {letter.target for letter in letters}, self._empty())
        outcome, stores = self._by_jobs(replace(self._laid, plan=plan), letters, conflicts, self._states)
        outcome.written += written
        version, empty = self._laid.version(self.epoch + 1, stores), empty_relations(self.plan, stores)

        def commit() -> None:
            self._states, self._open, self._ahead, self._empty_in_files = outcome.states, None, False, empty
            self._collect_garbage()
            if self._compacting is not None:
                self._compacting.begin(self, outcome.apart)

        result, rows_in = self._result_of(self.program, outcome), outcome.rows_in
        shrunk = self._laid.shrunk(stores)
        return Executed(version, result, lambda name: rows_in.get(name, 0), commit, _nothing, shrunk)

    def _by_jobs(
        self,
        laid: Laid,
        changes: Sequence[Letter],
        conflicts: Conflicts,
        states: Mapping[int, str],
        taken: Mapping[str, str] | None = None,
    ) -> tuple[Outcome, list[Store]]:
        """Run a program on letters, from states in files: what comes of it, and the stores as they are in files then.

        Where another plan has written the states, those placed relations are `taken` over that have these names there.
        """
        plan, options, told = laid.plan, laid.options, f"epoch {self.epoch + 1}"
        fetched, written = self.files.traffic.fetched, self.files.traffic.written
        jobs = RoundJobs(plan, options, self.files, conflicts, self._direct, self._few, self._outcome, told)
        begun = jobs.run_rounds(Reached(states, [*wake(self.options.shards), *changes], taken))
        tasks = [
            Task(
                plan, options, self.files.place, begun.states, stage, conflicts, self._direct, begun.taken, begun.since
            )
            for stage in range(begun.since, len(plan.stages))
        ]
        stages = f"{len(tasks)} stage{'s' * (len(tasks) > 1)}"
        outcome = begun.total(
            self._outcome(begun.letters, tasks, f"{told}: {stages}: {some_of(list(laid.program.sinks))}")
        )
        laid.refuse(outcome.faults)
        stores = self._written_stores(plan, outcome.states)
        for each in begun.rounds:
            rows_in = sum(outcome.rows_in.get(name, 0) for name in plan.followed(each.step))
            way = told_in_rounds(plan, each.step, stores, options.task_memory)
            outcome.reports.append(each.report(rows_in, outcome.rows_in, stores, way))
        outcome.read += self.files.traffic.fetched - fetched
        outcome.written += self.files.traffic.written - written
        return outcome, stores

    def _letters_of(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Iterator[Letter]:
        """The changes of tables as letters; those that tasks have written are there already."""
        here: dict[str, Changed] = {}
        for table, batch in changes.items():
            if posted := [one for one in apart(batch) if self._is_posted(one, table)]:
                for one in posted:
                    yield from one.handed_to(self.files)
                if rest := [one for one in apart(batch) if one not in posted]:
                    here[table] = Several.of(rest)
            else:
                here[table] = batch
        yield from sent(self.files, list(self._sent(here, conflicts)), 0, self._direct)

    def _is_posted(self, batch: Changed, table: str) -> TypeGuard[Lettered]:
        """Whether tasks have written a batch as the shards of this program read it."""
        name = self.program.tables[table]
        if not isinstance(batch, Lettered) or (batch.key and not self.checks_keys(table)):
            return False
        keys = self.options.keys[name] if batch.key else ()
        return batch.split == Split(name, self.plan.placed[name].key, self.options.shards, keys)

    def _outcome(self, letters: Sequence[Letter], tasks: Sequence[Task], told: str) -> Outcome:
        """What comes of a job; raises what its tasks found to be wrong."""
        outcome = total(self._run_tasks(letters, tasks, self.options.shards, told))
        if outcome.errors:
            raise joined(sorted(outcome.errors, key=lambda error: isinstance(error, Outgrown)))
        return outcome

    def _write(self) -> None:
        """Let the files have the committed state."""
        if self._ahead and self._open is not None:
            self._states = {s.number: save(s, self.files, self._states.get(s.number)) for s in self._open}
            self._ahead = False

    def _empty(self) -> Collection[str]:
        """The relations of which searches need rows, and no shard has any."""
        if self._open is not None:
            return empty_relations(self.plan, self._stores())
        return self._empty_in_files if self._states else self.plan.needs

    def _written_stores(self, plan: ShardPlan, states: Mapping[int, str]) -> list[Store]:
        """The stores of shards that were written, to be read when somebody looks."""
        described = [read_description(self.files, name) for _, name in sorted(states.items())]
        return [store_of(plan, self.files, one) for one in described]

    def _result_of(self, program: Program, outcome: Outcome) -> EpochResult:
        mailbox, found = Mailbox(self.files), {v: n for v, n in program.sinks.items() if n in outcome.changes}
        changes = {v: ViewChange(*outcome.counts[n], mailbox.reader(outcome.changes[n])) for v, n in found.items()}
        reports = tuple(summed(outcome.reports))
        return EpochResult(
            Changes(changes),
            rows_visited=outcome.visited,
            components=reports,
            bytes_read=outcome.read,
            bytes_written=outcome.written,
        )

    def _collect_garbage(self) -> None:
        """Remove the files that neither the state nor the version before it needs."""
        names = set(self._states.values())
        needed = {file for name in names for file in files_of(read_description(self.files, name))}
        mark, read = "", frozenset[str]()
        if self._compacting is not None:
            mark, read = self._compacting.mark, self._compacting.read
        collect_garbage(self.files, names | needed | read, mark)

    # Compaction

    def compact(self) -> bool:
        """Make one run of all those of each arrangement, in files: whether this engine has any."""
        if self._compacting is None:
            return False
        self._compacting.wait()
        with self.section:
            self._write()
            self._empty_in_files, self._open = self._empty(), None
        self._compacting.now(self)
        with self.section:
            self._collect_garbage()
        return True

    def compactions(self, numbers: Collection[int], mark: str, whole: bool) -> list[Compaction]:
        """The tasks for some shards, all of them where none is named; none where the state is in memory."""
        return [
            Compaction(self.plan, self.options, self.files.place, number, state, mark, whole)
            for number, state in sorted(self.states_in_files.items())
            if whole or number in numbers
        ]

    @property
    def states_in_files(self) -> Mapping[int, str]:
        """The descriptions of the shards' states; none where these are in memory."""
        return {} if self._open is not None else self._states

    def take_compacted(self, states: Mapping[int, str]) -> None:
        """Let these be the descriptions of some shards' states, which are in files.

        What they name no more goes with the next epoch.
        """
        self._states = {**self._states, **states}


def _of_shard(rows: Batch, number: int) -> Lettered:
    assert isinstance(rows, Lettered)
    return rows.of_shard(number)


def _nothing() -> None:
    """Give up nothing: what a job wrote is garbage where nobody has published it."""

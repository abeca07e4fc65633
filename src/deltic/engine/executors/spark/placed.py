"""An executor that chooses where each epoch runs: in one store, or on shards, here or as a Spark job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed, apart, rows_of
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.executor import Executed, Executor, Host, MakeExecutor
from deltic.engine.executors.explain import text_of
from deltic.engine.executors.placed import PartRun, Placed
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.executors.shards.staged_rows import StagedRows
from deltic.engine.executors.spark.executor import SparkShards
from deltic.engine.executors.spark.placement import HeldState, Home, Placement, home_of, kind_of
from deltic.engine.image import Image, Saved
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.moving import move
from deltic.engine.options import EngineOptions
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.store import Store
from deltic.engine.table_tasks import TableTasks
from deltic.errors import DelticError, UnsupportedError
from deltic.program.frontiers import remembered
from deltic.program.program import Program

# The state is measured again after this many new rows, if they are at least this part (as a divisor) of all rows.
_FEW, _PART = 1000, 8


class PlacedExecutor:
    """Has an executor at the place that `placement` chooses; see `Executor` for the contract.

    The state has one home, one store or shards, which `homes` create. If there are only shards, it stays there. All
    strata of a program run at one place. A move is not an epoch: it happens before the epoch that needs it.
    """

    def __init__(
        self,
        circuit: Circuit,
        options: EngineOptions,
        host: Host,
        placement: Placement,
        homes: Mapping[Home, MakeExecutor],
    ) -> None:
        self.placement = placement
        self._options, self._host, self._homes = options, host, homes
        self._last: Placed | None = None
        self._settle(self._made(circuit, "local" if "local" in homes else "shards"))

    def _settle(self, executor: Executor) -> None:
        """Make this executor the home of the state."""
        self.there = executor
        self._ready: Executor | None = None
        """Shards to which the state may move."""
        self._held: HeldState | None = None
        self._since = self._here = 0
        """The rows that arrived since the state was measured, and those of them in the driver's memory."""
        self._memory = remembered(executor.program)

    def _made(self, circuit: Circuit, home: Home) -> Executor:
        """Return a new executor of a home, without rows."""
        return self._homes[home](circuit, self._options, self._host)

    @property
    def home(self) -> Home:
        """The home of the state."""
        return "shards" if isinstance(self.there, ShardsExecutor) else "local"

    @property
    def version(self) -> StateVersion:
        return self.there.version

    @property
    def circuit(self) -> Circuit:
        return self.there.circuit

    @property
    def program(self) -> Program:
        return self.there.program

    @property
    def stores(self) -> list[Store]:
        return self.there.stores

    # Epochs

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        changed = {table: rows_of(batch) for table, batch in changes.items()}
        placed = self._placed(changed)
        kind = kind_of(changed, self._measured().rows)
        started = time.perf_counter()
        executed = self.there.run(changes, conflicts)
        self._since += sum(changed.values())
        self._here += sum(changed.values())
        result = executed.result
        parts = result.parts or (PartRun(placed.place, changed, result.rows_visited, time.perf_counter() - started),)
        for part in parts:
            self.placement.costs.learn(part.place, kind, part.rows, part.rows_visited, part.seconds)
        placed = replace(placed, place=parts[0].place, parts=parts)
        self._last = placed
        reports = [part.report for batch in changes.values() for part in apart(batch) if isinstance(part, StagedRows)]
        read, written = (sum(getattr(each, what) for each in reports) for what in ("read", "written"))
        read, written = read + result.bytes_read, written + result.bytes_written
        result = replace(result, placement=placed, bytes_read=read, bytes_written=written)
        if placed.moved is not None:
            result = replace(result, phases={"moving": placed.moved, **result.phases})

        def commit() -> None:
            executed.commit()
            if result.parts and self._held is not None:  # the driver has let go of the state
                self._held, self._here = replace(self._held, resident=0), 0

        return replace(executed, result=result, commit=commit)

    def _placed(self, changed: Mapping[str, int]) -> Placed:
        """Choose where an epoch runs, and move the state there. If it cannot be moved, it stays."""
        wanted = self.placement.choose(changed, self._measured(), self._barred)
        try:
            return self._at(wanted)
        except DelticError as error:
            self._barred[home_of(wanted.place)] = f"the state could not be moved there ({error})"
            return self._at(self.placement.choose(changed, self._measured(), self._barred))

    def _at(self, wanted: Placed) -> Placed:
        """Make the next epoch run at this place. Raises the errors of a move."""
        if home_of(wanted.place) != self.home:
            started, is_empty = time.perf_counter(), not self.version.epoch
            self._move(wanted)
            wanted = wanted if is_empty else replace(wanted, moved=time.perf_counter() - started)
        _run_at(self.there, wanted)
        return wanted

    def _move(self, wanted: Placed) -> None:
        """Move the state to another home. After any exception it is where it was."""
        old, new = self.there, self._new(home_of(wanted.place))
        _run_at(new, wanted)
        try:
            if old.version.epoch:
                started = time.perf_counter()
                moved, rows = move(old, new), self._measured().rows
                seconds = time.perf_counter() - started
                self.placement.costs.learn(wanted.place, "load", rows, moved.rows_visited, seconds)
        except BaseException:
            new.discard()
            raise
        self._settle(new)
        old.discard()

    def _new(self, home: Home) -> Executor:
        """Return an executor of a home, without rows, for the circuit."""
        ready = self._ready if home == "shards" else None
        if ready is not None:
            self._ready = None
        return ready or self._made(self.circuit, home)

    @property
    def tasks(self) -> TableTasks | None:
        """The tasks of the shards, if the next epoch may be a job: they have the state, or there are no rows yet."""
        if "job" not in self.placement.places:
            return None
        if self.home == "shards":
            return self.there.tasks
        if any(self._measured().rows.values()):
            return None
        self._ready = self._ready or self._made(self.circuit, "shards")
        return self._ready.tasks

    def checks_keys(self, table: str) -> bool:
        return self.there.checks_keys(table)

    def _measured(self) -> HeldState:
        """Return the sizes of the state: measured after many changes, otherwise estimated from the changes since."""
        known = self._held
        if known is None or self._since > max(_FEW, sum(known.rows.values()) // _PART):
            return self._measure()
        grown, here = (int(rows * self.placement.costs.row_bytes) for rows in (self._since, self._here))
        return HeldState(known.home, known.rows, known.bytes + grown, known.resident + here)

    def _measure(self) -> HeldState:
        """Measure the state, and let homes that failed to take it over be tried again."""
        rows = {table: self.version.entries(table) for table in self.program.tables}
        self._held, self._since, self._here = HeldState(self.home, rows, self.nbytes, self.resident), 0, 0
        self._barred: dict[Home, str] = {"shards": self._memory, "local": self._memory} if self._memory else {}
        if total := sum(rows.values()):
            self.placement.costs.row_bytes = self._held.bytes / total
        return self._held

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Executed:
        elsewhere: Home = "shards" if self.home == "local" else "local"
        held = self._measured()
        why: dict[Home, str] = {elsewhere: "definitions change where the state is"}
        placed = self._at(self.placement.choose(held.rows, held, why))
        try:
            executed = self.there.extend(circuit, rows)
        except UnsupportedError as error:
            if "local" not in self._homes or self.home == "local":
                raise
            placed = self._at(Placed("local", f"shards cannot go on with these definitions ({error})", {}))
            executed = self.there.extend(circuit, rows)

        def commit() -> None:
            executed.commit()
            self._last = placed
            self._settle(self.there)

        return replace(executed, result=replace(executed.result, placement=placed), commit=commit)

    def compact(self) -> bool:
        return self.there.compact()

    def discard(self) -> None:
        self.there.discard()

    # What is written

    def image(self) -> Image:
        image = self.there.image()
        return replace(image, about={**image.about, "costs": self.placement.costs.to_json()})

    def restored(self, saved: Saved, tables_alone: bool) -> PlacedExecutor:
        empty, old = self._new("shards" if "shards" in saved.about else "local"), self.there
        self._settle(empty.restored(saved, tables_alone))
        empty.discard()
        old.discard()
        if "costs" in saved.about:
            self.placement.costs.take(saved.about["costs"])
        return self

    # Reading

    def explain(self, name: str, full: bool) -> str:
        text = self.there.explain(name, full)
        if self._last is None:
            return text
        lines = [f"the last epoch ran {self._last.summary}", *self._last.alternatives]
        return f"{text}\n\n{text_of({'placement': lines})}"

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        return self.there.maintenance(name)

    def sizes(self) -> list[Size]:
        return self.there.sizes()

    def forgotten(self, view: str) -> tuple[str, ...]:
        return self.there.forgotten(view)

    @property
    def nbytes(self) -> int:
        return self.there.nbytes

    @property
    def resident(self) -> int:
        return self.there.resident


def _run_at(executor: Executor, placed: Placed) -> None:
    """Set the place where shards run the next epoch."""
    if isinstance(executor, ShardsExecutor):
        assert isinstance(executor.holder, SparkShards)
        assert placed.place != "local"
        executor.holder.place = "process" if placed.place == "process" else "job"

"""An engine that chooses for each epoch where it runs: by the local engine, or on shards, here or as a Spark job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed, apart, rows_of
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Saved
from deltic.engine.local.engine import LocalEngine
from deltic.engine.placed import Placed
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.shards.engine import ShardedEngine
from deltic.engine.shards.posted import StagedRows
from deltic.engine.size import Size
from deltic.engine.spark.executor import SparkExecutor
from deltic.engine.spark.moving import Movable, move
from deltic.engine.spark.placement import HeldState, Home, Placement, home_of, kind_of
from deltic.engine.table_tasks import TableTasks
from deltic.errors import DelticError, UnsupportedError
from deltic.program.memory import remembered

# What can have the state.
HomeEngine = LocalEngine | ShardedEngine
MakeShards = Callable[[Circuit], ShardedEngine]

# What came since the state was measured has to be so many rows, and such a part of all, before that is done again.
_FEW, _PART = 1000, 8


class PlacedEngine(Engine):
    """Runs a circuit where `placement` chooses; see `Engine` for the protocol.

    The state has one home: a local engine, made by `local`, or shards, made by `shards`; without the former it stays on
    shards. All strata of a program run at one place. A move is no epoch: it comes before the epoch that it is for.
    """

    def __init__(
        self, circuit: Circuit, placement: Placement, shards: MakeShards, local: Callable[[Circuit], LocalEngine] | None
    ) -> None:
        self.circuit, self.placement = circuit, placement
        self._shards, self._local = shards, local
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        self._last: Placed | None = None
        self._settle(shards(circuit) if local is None else local(circuit))

    def _settle(self, engine: HomeEngine) -> None:
        """Let the state be that of this engine."""
        self._engine = engine
        self._prepared: Prepared | None = None
        self._ready: ShardedEngine | None = None
        """Shards that the state may move to."""
        self._held: HeldState | None = None
        self._since = self._here = 0
        """The rows that came since the state was measured; those of them that the driver's memory has."""
        self._memory = remembered(engine.program)
        self._follow()

    def _follow(self) -> None:
        """Be at the epoch of the engine that has the state."""
        self.epoch, self.token, self.version = self._engine.epoch, self._engine.token, self._engine.version

    @property
    def home(self) -> Home:
        """Where the state is."""
        return "local" if isinstance(self._engine, LocalEngine) else "shards"

    # Epochs

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        return prepared_by(lambda prepared: self._prepare(prepared, changes, conflicts, token))

    @exclusive
    def _prepare(
        self, prepared: list[Prepared], changes: Mapping[str, Changed], conflicts: Conflicts, token: str
    ) -> None:
        """Add the epoch to `prepared`."""
        refuse_second(self._prepared)
        changed = {table: rows_of(batch) for table, batch in changes.items()}
        placed = self._placed(changed)
        kind = kind_of(changed, self._measured().rows)
        inner = self._engine.prepare(changes, conflicts, token)
        prepared.append(inner)
        self._since += sum(changed.values())
        self._here += sum(changed.values())
        result = inner.result
        self.placement.costs.learn(placed.place, kind, changed, result.rows_visited, result.seconds)
        self._last = placed
        told = [part.told for batch in changes.values() for part in apart(batch) if isinstance(part, StagedRows)]
        read, written = (sum(getattr(each, what) for each in told) for what in ("read", "written"))
        read, written = read + result.bytes_read, written + result.bytes_written
        result = replace(result, placement=placed, bytes_read=read, bytes_written=written)
        if placed.moved is not None:
            result = replace(result, phases={"moving": placed.moved, **result.phases})

        def commit() -> None:
            self._prepared = None
            inner.commit()
            self._follow()
            if placed.place == "job" and self._held is not None:  # the driver has let go of the state
                self._held, self._here = replace(self._held, resident=0), 0

        def abort() -> None:
            self._prepared = None
            inner.abort()

        self._prepared = Prepared(inner.version, token, result, commit, abort)
        prepared[:] = [self._prepared]

    def _placed(self, changed: Mapping[str, int]) -> Placed:
        """Where an epoch is to run; the state is there now. Where it cannot be moved, it is where it was."""
        wanted = self.placement.choose(changed, self._measured(), self._barred)
        try:
            return self._at(wanted)
        except DelticError as error:
            self._barred[home_of(wanted.place)] = f"the state could not be moved there ({error})"
            return self._at(self.placement.choose(changed, self._measured(), self._barred))

    def _at(self, wanted: Placed) -> Placed:
        """Let the next epoch run where it is wanted; raises what a move does."""
        if home_of(wanted.place) != self.home:
            started, is_empty = time.perf_counter(), not self._engine.epoch
            self._move(wanted)
            wanted = wanted if is_empty else replace(wanted, moved=time.perf_counter() - started)
        _run_at(self._engine, wanted)
        return wanted

    def _move(self, wanted: Placed) -> None:
        """Move the state to another home. After any exception it is where it was."""
        old = self._engine
        new = self._made(home_of(wanted.place))
        _run_at(new, wanted)
        try:
            if old.epoch:
                moved, rows = move(old, new), self._measured().rows
                self.placement.costs.learn(wanted.place, "load", rows, moved.rows_visited, moved.seconds)
        except BaseException:
            _discard(new)
            raise
        self._settle(new)
        _discard(old)

    def _made(self, home: Home) -> HomeEngine:
        """A new engine of a home, without rows."""
        if home == "shards":
            made, self._ready = self._ready or self._shards(self.circuit), None
            return made
        assert self._local is not None
        return self._local(self.circuit)

    @property
    def tasks(self) -> TableTasks | None:
        """Those of shards where a job may have the next epoch: they have the state, or there are no rows yet."""
        if "job" not in self.placement.places:
            return None
        if isinstance(self._engine, ShardedEngine):
            return self._engine.tasks
        if any(self._measured().rows.values()):
            return None
        self._ready = self._ready or self._shards(self.circuit)
        return self._ready.tasks

    def checks_keys(self, table: str) -> bool:
        return self._engine.checks_keys(table)

    def _measured(self) -> HeldState:
        """The sizes of the state: measured again after many changes, otherwise estimated from the changes since."""
        known = self._held
        if known is None or self._since > max(_FEW, sum(known.rows.values()) // _PART):
            return self._measure()
        grown, here = (int(rows * self.placement.costs.row_bytes) for rows in (self._since, self._here))
        return HeldState(known.home, known.rows, known.bytes + grown, known.resident + here)

    def _measure(self) -> HeldState:
        """Measure the state; homes that could not take it may be asked again."""
        engine = self._engine
        rows = {table: engine.entries(table) for table in engine.program.tables}
        self._held, self._since, self._here = HeldState(self.home, rows, engine.nbytes, engine.resident), 0, 0
        self._barred: dict[Home, str] = {"shards": self._memory, "local": self._memory} if self._memory else {}
        if total := sum(rows.values()):
            self.placement.costs.row_bytes = self._held.bytes / total
        return self._held

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        return prepared_by(lambda prepared: self._prepare_extension(prepared, circuit, rows))

    @exclusive
    def _prepare_extension(self, prepared: list[Prepared], circuit: Circuit, rows: Mapping[str, Changed]) -> None:
        """Add the epoch to `prepared`."""
        refuse_second(self._prepared)
        elsewhere: Home = "shards" if self.home == "local" else "local"
        held = self._measured()
        why: dict[Home, str] = {elsewhere: "definitions change where the state is"}
        placed = self._at(self.placement.choose(held.rows, held, why))
        try:
            inner = self._engine.prepare_extension(circuit, rows)
        except UnsupportedError as error:
            if self._local is None or self.home == "local":
                raise
            placed = self._at(Placed("local", f"shards cannot go on with these definitions ({error})", {}))
            inner = self._engine.prepare_extension(circuit, rows)
        prepared.append(inner)

        def commit() -> None:
            inner.commit()
            self.circuit, self._last = circuit, placed
            self._settle(self._engine)

        def abort() -> None:
            self._prepared = None
            inner.abort()

        result = replace(inner.result, placement=placed)
        self._prepared = Prepared(inner.version, inner.token, result, commit, abort)
        prepared[:] = [self._prepared]

    def compact(self) -> bool:
        return self._engine.compact()

    # What is written

    @exclusive
    def capture(self) -> Image:
        image = self._engine.capture()
        return replace(image, about={**image.about, "costs": self.placement.costs.to_json()})

    @exclusive
    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        engine = self._made("shards" if "shards" in saved.about else "local")
        engine.restore(saved, tables_alone)
        self._settle(engine)
        if "costs" in saved.about:
            self.placement.costs.take(saved.about["costs"])

    @exclusive
    def take_over(self, old: Movable) -> None:
        """Have, without rows so far, the state of an engine of another kind."""
        rows = {table: old.count(table, table=True) for table in old.program.tables}
        self._last = self._at(self.placement.choose(rows, HeldState(self.home), {}))
        move(old, self._engine)
        self._settle(self._engine)

    # Reading

    def explain(self, name: str, full: bool = False) -> str:
        told = self._engine.explain(name, full)
        if self._last is None:
            return told
        lines = [f"the last epoch ran {self._last.told}", *self._last.alternatives]
        return f"{told}\n\nplacement:\n" + "\n".join(f"  {line}" for line in lines)

    def sizes(self) -> list[Size]:
        return self._engine.sizes()

    def forgotten(self, view: str) -> tuple[str, ...]:
        return self._engine.forgotten(view)


def _run_at(engine: HomeEngine, placed: Placed) -> None:
    """Let the next epoch of shards run at a place of theirs."""
    if isinstance(engine, ShardedEngine):
        assert isinstance(engine.executor, SparkExecutor)
        assert placed.place != "local"
        engine.executor.place = placed.place


def _discard(engine: HomeEngine) -> None:
    """Let go of the files of an engine that is not used any more; who reads a version of it has them mapped."""
    if isinstance(engine, ShardedEngine):
        engine.discard()

"""The epochs of a pipeline, one after the other: one thread writes at a time, and readers never wait.

What must hold:

* Everything that changes an epoch runs inside `writing()`. Readers take `last`, one reference, without a lock.
* An epoch is prepared, then logged, then committed, then published. Before the log is written it may be abandoned
  without a trace. After that it must succeed, or the pipeline is broken and refuses all work.
* Keys are checked on the prepared epoch, before it is logged, unless conflicts are trusted.
* Positions of sources and watermarks change only with a commit.
* A committed epoch has the next number; the last `retain` of them are readable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from deltic.circuit.graph import Circuit
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection
from deltic.engine.interrupts import postponed
from deltic.engine.keyed import Keyed, shared_keys
from deltic.engine.lateness import LatePolicy
from deltic.engine.prepared import Prepared, unfailing
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult, Extension, Phases
from deltic.errors import BrokenError, DelticError
from deltic.lazy import pa
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.epochs.clock import Clock
from deltic.pipeline.epochs.history import ChangeHistory
from deltic.pipeline.epochs.lateness import AdmittedChanges, Batches, WatermarkGate
from deltic.pipeline.epochs.observing import log_epoch
from deltic.pipeline.names import check_least
from deltic.pipeline.reading.reading import PublishedEpoch
from deltic.values.hashing import xxhash64

if TYPE_CHECKING:
    from deltic.catalog import Catalog, CatalogTable
    from deltic.engine.comparing import Beside
    from deltic.engine.executors.shards.staged_rows import StagedRows, StagingArea
    from deltic.engine.keyed import KeyedChange, RowChange
    from deltic.engine.version import Version
    from deltic.engine.watermark import Mask, Watermark


@dataclass(frozen=True)
class LoggedEpoch:
    """An epoch as it is logged, including the positions of sources."""

    batches: Batches
    conflicts: Conflicts
    positions: Mapping[str, Any] = field(default_factory=dict)


class Epochs:
    """An engine, and its last published epochs, as many as are retained.

    Methods that change something are called inside `with epochs.writing():`. Interrupts also wait there, for the next
    safe point or for the end of the block. `check` checks the catalog before the first epoch, `before` is called before
    an epoch is prepared, and `log` before one is committed; `clock` gives the time of each.
    """

    def __init__(
        self,
        engine: Engine,
        definitions: Definitions,
        retain: int,
        timeout: float | None,
        check: Callable[[Catalog], None],
        before: Callable[[Epochs], None],
        log: Callable[[Prepared, LoggedEpoch], None],
        clock: Clock,
    ) -> None:
        check_least(retain, "retain", 1, "a number of epochs, the last one included")
        if timeout is not None:
            check_least(timeout, "timeout", 0, "a number of seconds", whole=False)
        self.engine = engine
        self._retain, self._timeout = retain, timeout
        self._section = CriticalSection()
        self._check, self._before, self._log = check, before, log
        self._clock = clock
        self._tick: Batches = {}
        self._door, self._admitted = WatermarkGate(), AdmittedChanges({})
        self._phases = Phases()
        self._process = os.getpid()
        self.failure: BrokenError | None = None
        """The reason why no work is done any more."""
        self._first = engine.epoch
        self._retained: dict[int, PublishedEpoch] = {}
        self.history = ChangeHistory(engine.epoch)
        self.positions: Mapping[str, Any] = {}
        """The latest positions of sources."""
        self.observers: list[Callable[[int, EpochResult], None]] = [log_epoch]
        """Called with each committed epoch. They must not raise."""
        self._publish(definitions)

    # Reading

    @property
    def last(self) -> PublishedEpoch:
        """The last published epoch."""
        self.check_process()
        return self._last

    @property
    def have_begun(self) -> bool:
        """Return whether there was an epoch."""
        return self.last.version.epoch > 0

    def present(self) -> PublishedEpoch:
        """Return the last published epoch; rows that follow from facts alone are derived first, if there was none."""
        if not self.have_begun:
            with self.writing():
                self.begin()
        return self.last

    def at(self, epoch: int) -> PublishedEpoch:
        """Return a retained epoch. DelticError for others."""
        last = self.last
        result = last if epoch == last.version.epoch else self._retained.get(epoch)
        if result is None:
            raise DelticError(f"epoch {epoch} cannot be read: {self._retained_epochs(last.version.epoch)}")
        return result

    def _retained_epochs(self, last: int) -> str:
        """Describe which epochs are retained."""
        first = max(last - self._retain + 1, self._first)
        what = f"epochs {first} to {last} are" if first < last else f"epoch {last} alone is"
        return f"{what} retained; Pipeline(transactions=Transactions(retain=N)) keeps the last N"

    def check_process(self) -> None:
        """Raise DelticError in a forked process, because threads of the original process are missing there.

        Raises BrokenError once an epoch could not be undone.
        """
        if self.failure is not None:
            raise BrokenError(str(self.failure)) from self.failure
        if os.getpid() != self._process:
            raise DelticError(
                f"this pipeline belongs to process {self._process}; process {os.getpid()} inherited it by a fork: "
                "make a pipeline in the process that uses it"
            )

    # Writing

    def writing(self, timeout: float | None = None) -> WriteLock:
        """Return a with-block in which no other thread writes.

        Raises BusyError if another thread writes for longer than `timeout`, or the default for all epochs, in seconds.
        """
        self.check_process()
        if self._section.is_mine:
            raise DelticError("the pipeline is at work in this very thread: a function that it calls cannot change it")
        return WriteLock(self, self._section, self._timeout if timeout is None else timeout)

    def prepare(self, batches: Batches, conflicts: Conflicts, token: str = "", late: LatePolicy = "drop") -> Prepared:
        """Compute an epoch, and check the keys of tables. `commit` it, or it is aborted.

        Late rows are left out of it, or an error.
        """
        self._before(self)
        self._phases = Phases()
        catalog = self._last.definitions.catalog
        self._admitted = self._door.admit(catalog, batches, self.engine.version, late)
        batches = self._admitted.batches
        self._tick = {**self._clock.tick(catalog, self.engine), **self._admitted.ticks}
        self._phases.end("lateness")
        epoch = self.engine.prepare({**batches, **self._tick}, conflicts, token)
        self._phases.add(epoch.result.phases or {"evaluation": epoch.result.seconds})
        result = epoch.result
        result.tables = {name: rows for name, rows in result.tables.items() if name not in self._tick}
        result.late, result.phases = self._admitted.late, self._phases.seconds
        if conflicts != "trust":
            try:
                checked = {n: b for n, b in batches.items() if not self.engine.checks_keys(n)}
                _check_keys(catalog.tables, checked, self.engine.version, epoch.version)
            except BaseException:
                epoch.abort()
                raise
        self._phases.end("keys")
        return epoch

    def site(self, table: CatalogTable) -> StagingArea | None:
        """Return the area where tasks may write a table's rows for the next epoch; None if this process takes them."""
        self.check_process()
        tasks = self.engine.tasks
        return None if tasks is None else tasks.site(table.name)

    def compared(self, table: CatalogTable, rows: StagedRows, beside: Beside) -> StagedRows | None:
        """Compare rows that tasks have written with others, by tasks; None if this process must do it."""
        with self.writing():
            tasks = self.engine.tasks
            return None if tasks is None else tasks.compared(table.name, rows, beside)

    def settled(
        self, conflicts: Conflicts, table: CatalogTable, changes: Sequence[RowChange | KeyedChange]
    ) -> Batch | None:
        """Return the net effect of a table's changes, computed by shards; None if this process must compute it."""
        tasks = self.engine.tasks
        return None if tasks is None else tasks.settled(table.name, changes, conflicts, self._watermark(table))

    def are_late(self, table: CatalogTable, keys: pa.Table) -> Mask:
        """Return the mask of the keys of a table that are too late to change, whether they exist or not."""
        watermark = self._watermark(table)
        return np.zeros(len(keys), np.bool_) if watermark is None else watermark.before(keys)

    def _watermark(self, table: CatalogTable) -> Watermark | None:
        return self._door.watermark(self._last.definitions.catalog, table, self.engine.version)

    def commit(self, epoch: Prepared, logged: LoggedEpoch) -> EpochResult:
        """Commit a prepared epoch. This is the last point at which an interrupt prevents it.

        It is logged first. Call it inside `with epoch:`, so that it is aborted if that fails.
        """
        postponed.check()
        self._phases.end("application")
        batches = {**self._admitted.batches, **self._tick}
        self._log(epoch, LoggedEpoch(batches, logged.conflicts, logged.positions))
        self._phases.end("log")
        unfailing(partial(self._take, epoch, logged), f"to commit epoch {epoch.number:,}, which is in the log")
        self._phases.end("publication")
        self._tell(epoch.result)
        return epoch.result

    def _take(self, epoch: Prepared, logged: LoggedEpoch) -> None:
        """Make a logged epoch the last one."""
        if logged.positions:
            self.positions = {**self.positions, **logged.positions}
        epoch.commit()
        self._door.remember(epoch.version, self._admitted.marks)
        self._publish(self._last.definitions)

    def begin(self) -> None:
        """Run the first epoch, which derives what follows from constants alone, if there was none."""
        if not self.engine.epoch:
            self._check(self._last.definitions.catalog)
            with self.prepare({}, "error") as epoch:
                self.commit(epoch, LoggedEpoch({}, "error"))

    def replay(self, batches: Batches, conflicts: Conflicts, token: str, is_news: bool = False) -> EpochResult:
        """Repeat a logged epoch. If it `is_news`, followers of views receive it."""
        result = self.engine.prepare(batches, conflicts, token).commit()
        self._publish(self._last.definitions)
        if is_news:
            self._tell(result)
        else:
            self.history.forget(self._last.version.epoch)
        return result

    def extend(
        self, circuit: Circuit, definitions: Definitions, log: Callable[[int, EpochResult], None], rows: Batches
    ) -> EpochResult:
        """Continue with other definitions, in an epoch in which no table changes except those that start with `rows`.

        `log` is called with its number and result before it is visible. An exception in it prevents the epoch.
        """
        with self.engine.prepare_extension(circuit, rows) as epoch:
            log(epoch.number, epoch.result)
            result = epoch.commit()
        shown, now = self._last.definitions.catalog.view_schemas, definitions.catalog.view_schemas
        ended = tuple(view for view, schema in shown.items() if now.get(view) != schema)
        result = replace(result, extension=replace(result.extension or Extension(), ended=ended))
        self._publish(definitions)
        self._tell(result)
        return result

    def replace(self, engine: Engine, definitions: Definitions) -> None:
        """Continue with another engine, before the first epoch."""
        self.engine = engine
        self._publish(definitions)

    def restore(self, engine: Engine, definitions: Definitions) -> None:
        """Continue with a restored engine, and its epochs."""
        self._retained, self._first = {}, engine.epoch
        self.history.forget(engine.epoch)
        self.replace(engine, definitions)

    def _tell(self, result: EpochResult) -> None:
        """Notify followers of views, and observers, of an epoch."""
        number = self._last.version.epoch
        self.history.add(number, result.changes, result.extension.ended if result.extension is not None else ())
        for observer in self.observers:
            observer(number, result)

    def _publish(self, definitions: Definitions) -> None:
        """Make the last epoch visible to readers."""
        self._last = PublishedEpoch(definitions, self.engine.version)
        last = self._last.version.epoch
        self._retained[last] = self._last
        self._retained.pop(last - self._retain, None)


class WriteLock:
    """A with-block in which one thread writes. A BrokenError that leaves it ends all work."""

    def __init__(self, epochs: Epochs, section: CriticalSection, timeout: float | None) -> None:
        self._epochs, self._section, self._timeout = epochs, section, timeout

    def __enter__(self) -> None:
        self._section.enter(self._timeout)
        try:
            self._epochs.check_process()
        except BrokenError:
            self._section.leave()
            raise

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, BrokenError):
            self._epochs.failure = error
        self._section.leave()


def _check_keys(
    tables: Mapping[str, CatalogTable], changes: Mapping[str, Batch], before: Version, version: Version
) -> None:
    """Raise SharedKeys if an inserted row has the key of another row, in the tables after the prepared epoch.

    `before` is the version of the epoch before.
    """
    for name, batch in changes.items():
        table = tables[name]
        parts = batch.parts() if table.key else ()
        for number, rows in enumerate(parts):
            come = rows.select(table.key).filter(pc.greater(rows.column(WEIGHT), 0))
            is_whole = not number and len(rows) == batch.count()
            if not len(come) or (is_whole and not before.entries(table.name) and _differ(come)):
                continue
            if (version.count_each(table.name, come, table=True) > 1).any():
                raise shared_keys(Keyed(table.name, table.key), version.lookup_all(table.name, come))


def _differ(keys: pa.Table) -> bool:
    """Return whether all keys surely differ, because their hashes do."""
    hashes = np.sort(xxhash64(keys.columns, len(keys)))
    return bool((hashes[1:] != hashes[:-1]).all())

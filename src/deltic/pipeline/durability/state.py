"""The directory of a pipeline's state: opened, logged to, checkpointed, closed."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files, holder
from deltic.engine.files.local import LocalFiles, make_private
from deltic.engine.files.pieces import REPAIR
from deltic.engine.image import Json, Saved
from deltic.errors import StateError
from deltic.pipeline.durability import manifest
from deltic.pipeline.durability.log import FOLDER, LogReader, LogWriter, Record, rows_of, segments
from deltic.pipeline.durability.manifest import (
    CheckpointContents,
    Manifest,
    collect_garbage,
    leftovers,
    write_checkpoint,
)
from deltic.pipeline.options import Durability

MARK = "deltic-state"
_MARK = b"deltic state 1\n"
_NOTE = "the log has record %012d\n"
"""The text after it: the last acknowledged record, as far as the system wrote it before a crash."""
_NOTED = re.compile(rb"the log has record (\d+)\n")
_LOG = logging.getLogger("deltic.state")


class StateDirectory:
    """The state of one pipeline in a directory.

    After `open` the records of the log are read, then `begin` is called; from then on records are written. A state
    that is opened `readonly` does not change.
    """

    def __init__(self, files: Files, durability: Durability) -> None:
        self.files, self.durability, self.readonly = files, durability, durability.readonly
        self.manifest: Manifest | None = None
        self.positions: dict[str, Json] = {}
        self.sequence = 0
        self.noted = 0
        """The last acknowledged record, as far as known."""
        self._is_whole = True
        self._reader = LogReader(files, 0)
        self._log: LogWriter | None = None
        self._since = [0, 0]
        self._thread: threading.Thread | None = None
        self._number = self._newest = 0

    @classmethod
    def open(cls, place: str | Path, durability: Durability, is_whole: bool = True) -> StateDirectory:
        """Open the state in a directory, which is created if necessary. Raises StateError.

        If the state may be damaged (not `is_whole`), it has no manifest yet: the caller chooses one by `go_on_from`.
        """
        files = files_at(place)
        state = cls(files, durability)
        try:
            state.noted, state._is_whole = _claim(files, durability.readonly), is_whole
            state._number = max(manifest.numbers(files), default=0)
            if is_whole:
                state._find()
        except OSError as error:
            files.unlock()
            raise StateError(f"state {files.place}: {error.strerror or error}") from error
        except BaseException:
            files.unlock()
            raise
        return state

    def _find(self) -> None:
        """Take the newest whole manifest."""
        damaged: StateError | None = None
        numbers = manifest.numbers(self.files)
        self._newest = max(numbers, default=0)
        for number in numbers:
            try:
                self.go_on_from(manifest.read(self.files, number))
                break
            except manifest.OtherVersion:
                raise
            except StateError as error:
                damaged = damaged or error
        if self.manifest is None and damaged is not None:
            raise damaged
        if damaged is not None:
            _LOG.warning("%s; going on from the manifest before it", damaged)

    def go_on_from(self, found: Manifest | None) -> None:
        """Start from this manifest; from before the first record if it is None."""
        self.manifest = found
        self.sequence, self.positions = (found.sequence, dict(found.positions)) if found else (0, {})
        self._reader, self._since = LogReader(self.files, self.sequence), [0, 0]

    @property
    def log_bytes(self) -> int:
        """The bytes of the records since the start of the last checkpoint."""
        return self._since[1]

    @property
    def writer(self) -> str:
        """Describe the process that writes to it, from its lock."""
        try:
            said = self.files.read("lock")
        except OSError:
            said = b""
        return holder(said.decode(errors="replace")) if b'"pid"' in said else "no process has it open for writing"

    def saved(self) -> Saved | None:
        """Return the engine's state in the manifest; None if there was no epoch yet."""
        result = self.manifest
        if result is None or result.engine is None:
            return None
        return result.contents.saved(self.files, result.engine)

    def records(self) -> Iterator[Record]:
        """Yield the records after the manifest. StateError if the log is damaged, or lacks an acknowledged record."""
        try:
            for record in self._reader.records():
                yield record
                self._count(record)
            self.sequence = self._reader.last
            self._since[1] = self._reader.bytes
        except OSError as error:
            raise StateError(f"state {self.files.place}: {error.strerror or error}: {error.filename}") from error
        if self._is_whole and self.sequence < self.noted:
            raise StateError(self.short_log_message(self.sequence))

    def short_log_message(self, last: int) -> str:
        """Return the message about a log that ends with this record, before the last acknowledged one."""
        place = self.files.place
        return (
            f"state {place}: {FOLDER}/ ends with record {last:,}, and record {self.noted:,} was acknowledged, says "
            f"{MARK}: files were deleted or shortened; {REPAIR.format(place=place)}, without what is gone"
        )

    def check_epoch(self, record: Record, epoch: int) -> None:
        """Raise StateError if a record's epoch differs from the one that it has become."""
        if record.epoch != epoch:
            raise StateError(
                f"state {self.files.place}: record {record.sequence:,} of the log was epoch {record.epoch:,}, and is "
                f"{epoch:,} now; open the state with the Deltic that wrote it"
            )

    def begin(self) -> None:
        """Allow records to be written, after those that were read."""
        if self.readonly:
            return
        try:
            self._log = LogWriter(self.files, self.sequence, self._reader.tail)
            if self.files.took_over:
                self._log.void()
                self.sequence = self._log.last
                self.files.settle()
            self.files.remove(*leftovers(self.files), *rows_of(self.files, lambda number: number > self.sequence))
            self._note()
        except OSError as error:
            raise StateError(f"state {self.files.place}: {error.strerror or error}") from error

    def write(self, record: Record) -> None:
        """Append a record durably. StateError if nothing was written."""
        assert self._log is not None
        try:
            self.files.check_held()
            self._since[1] += self._log.append(record)
        except OSError as error:
            self.sequence = self._log.last
            raise StateError(
                f"state {self.files.place}: the log cannot be written ({error.strerror or error}); nothing was changed"
            ) from error
        self._count(record)
        self._note()

    def _note(self) -> None:
        """Note the last record beside the log. It is only a hint, so a failure is ignored."""
        with suppress(OSError):
            self.files.note(_MARK.decode() + _NOTE % self.sequence)

    def _count(self, record: Record) -> None:
        self.sequence = record.sequence
        self.positions |= record.positions
        self._since[0] += 1

    # Checkpoints

    @property
    def is_due(self) -> bool:
        """Return whether a checkpoint must be started. Waits for a running one if much has been logged since."""
        if self._log is None or not self.durability.are_due(*self._since):
            return False
        if self._thread is not None and self._thread.is_alive():
            if not self.durability.are_due(self._since[0] // 4, self._since[1] // 4):
                return False
            self._thread.join()
        return True

    def begin_checkpoint(self, moment: CheckpointContents) -> None:
        """Write a checkpoint while epochs go on. A failure is logged as a warning, and the log goes on."""
        self._wait()
        self._rotate()
        self._thread = threading.Thread(target=self._try, args=(moment,), name="deltic checkpoint")
        self._thread.start()

    def _try(self, moment: CheckpointContents) -> None:
        try:
            self._write(moment, compact=False)
        except (OSError, StateError) as error:
            _LOG.warning("state %s: no checkpoint was made (%s); the log continues", self.files.place, error)

    def checkpoint(self, moment: CheckpointContents, compact: bool = False) -> None:
        """Write a checkpoint now. Raises StateError."""
        self._wait()
        self._rotate()
        try:
            self._write(moment, compact)
        except OSError as error:
            raise StateError(
                f"state {self.files.place}: no checkpoint was made ({error.strerror or error}); the log has what it "
                "would have had"
            ) from error

    def _rotate(self) -> None:
        assert self._log is not None
        self._log.rotate()
        self._since = [0, 0]

    def _write(self, moment: CheckpointContents, compact: bool) -> None:
        self.files.check_held(surely=True)
        self._number += 1
        try:
            self.manifest = write_checkpoint(self.files, self._number, moment, self.manifest, compact)
        except FileExistsError as error:
            assert self._log is not None
            raise self._log.failed("another process has made a checkpoint since this one has it open") from error
        self.files.check_held(surely=True)
        collect_garbage(self.files, 1 if compact else self.durability.keep)

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def check_there(self) -> None:
        """Raise StateError if the directory is no state any more, for example because it was removed."""
        _claim(self.files, readonly=True)

    @property
    def is_behind(self) -> bool:
        """Return whether the log no longer has the next record, because a later checkpoint has it."""
        starts = segments(self.files)
        return bool(starts) and starts[0][0] > self.sequence + 1

    def reopen(self) -> None:
        """Take the newest manifest, as if the state were opened now."""
        self.manifest = None
        self._find()

    @property
    def is_outdated(self) -> bool:
        """Return whether another process has published a manifest since: files of ours may be gone."""
        return max(manifest.numbers(self.files), default=0) != self._newest

    @property
    def is_current(self) -> bool:
        """Return whether the last checkpoint has everything."""
        self._wait()
        return self.manifest is not None and self.manifest.sequence == self.sequence

    def close(self) -> None:
        """Close and unlock the directory."""
        self._wait()
        if self._log is not None:
            self._log.close()
            self._log = None
        self.files.unlock()


def _claim(files: Files, readonly: bool) -> int:
    """Check that the directory is ours, and lock out other writers. Return the last noted record."""
    there, result = files.names(), b""
    if MARK in there:
        if not (result := files.read(MARK)).startswith(_MARK):
            raise StateError(
                f"state {files.place}: {MARK} says {result[:40].decode(errors='replace').strip()!r}, and this Deltic "
                f"reads {_MARK.decode().strip()!r}; open it with the Deltic that wrote it"
            )
    elif [name for name in there if name != "lock" and not name.endswith(".part")]:
        raise StateError(
            f"state {files.place}: it is a directory of something else: it has {there[0]}, and no {MARK}; "
            "name an empty directory, or one that is not there yet"
        )
    elif readonly:
        raise StateError(f"state {files.place}: there is no state yet; open it for writing first")
    noted = _NOTED.fullmatch(result, len(_MARK))
    record = int(noted[1]) if noted else 0
    if readonly:
        return record
    if isinstance(files, LocalFiles):
        make_private(files.root)
    files.lock()
    if MARK not in there:
        files.write(MARK, [_MARK])
    files.hold(MARK)
    return record


MOVABLE = ("engine", "shards")
"""Options that only say where a state was: it can be opened elsewhere."""


def check_options(state: StateDirectory, options: Mapping[str, Json]) -> None:
    """Raise StateError if the state was written with other options than these."""
    if state.manifest is None:
        return
    for name, value in state.manifest.options.items():
        if name not in MOVABLE and options.get(name) != value:
            raise StateError(
                f"state {state.files.place}: it was written with {name}={value!r}, and is opened with "
                f"{name}={options.get(name)!r}; open it as it was written"
            )

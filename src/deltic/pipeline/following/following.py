"""A state that another process writes: read as of an epoch, and followed from there to later ones.

The checkpoint before the epoch is restored, and the log is replayed up to it, and further on demand. So all epochs
since the oldest existing checkpoint can be read. Whoever follows more slowly than the log is cut continues at a later
epoch, by the difference between the rows that it has and those of then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import with_weights
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.comparing import netted
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.engine.state_version import StateVersion
from deltic.errors import StateError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.replaying import replayed
from deltic.pipeline.durability import manifest
from deltic.pipeline.durability.log import LogReader, Record, segments
from deltic.pipeline.durability.manifest import Manifest
from deltic.pipeline.durability.state import StateDirectory
from deltic.pipeline.options import Durability, grouped
from deltic.pipeline.restoring import TRIES, begin_with_checkpoint, replay

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython
    from deltic.pipeline.session import Pipeline


class FollowedState:
    """A state as of `epoch`, by default the last one. `pipeline` has it in memory, for reading only.

    Raises StateError for an epoch that is no longer retained, or does not exist yet.
    """

    def __init__(
        self, place: str | Path, epoch: int | None = None, functions: Iterable[OfPython] | str | Path = ()
    ) -> None:
        self._functions = functions
        self._open(place, epoch)
        self.begin = self.epoch
        self.changes: dict[int, Changes] = {}
        """The changes of views in the epochs after `begin`, up to the one that was reached."""

    @property
    def epoch(self) -> int:
        """The epoch that was reached."""
        return self.pipeline.epoch

    def go_on(self, epoch: int | None = None, rows: int | None = None) -> None:
        """Continue to an epoch, or the last one. With `rows`, stop after at least this many changes of tables.

        Raises StateError if the next record no longer exists, which `is_behind` tells.
        """
        done = 0
        for record in self._records():
            if (epoch is not None and record.epoch > epoch) or (rows is not None and done >= rows):
                return
            done += sum(batch.count() for batch in (record.tables or {}).values())
            before = self.epoch
            result = replay(record, self._state, self.pipeline._evolving)
            if self.epoch > before:
                self.changes[self.epoch] = result.changes
            if result.extension is not None:
                self.ended |= dict.fromkeys(result.extension.ended, self.epoch)

    @property
    def is_behind(self) -> bool:
        """Return whether the log no longer has the next record."""
        starts = segments(self._state.files)
        return bool(starts) and starts[0][0] > self._reader.last + 1

    def catch_up(self, view: str) -> None:
        """Continue to the last epoch that can be read, by the difference between the rows of a view then and now.

        A view that is gone, or has other columns, has ended.
        """
        before, changes = self.pipeline, self.changes
        self._open(self._state.files.place, None)
        self.changes = changes
        if self.pipeline.views.get(view) != before.views[view]:
            self.ended[view] = self.epoch
            return
        held, rows = (each.snapshot().version.read(view, counted=True) for each in (before, self.pipeline))
        gone = with_weights(held.drop_columns([WEIGHT]), -np.asarray(held.column(WEIGHT)))
        self.changes[self.epoch] = Changes({view: ViewChange.of(netted(pa.concat_tables([rows, gone])))})

    def forget(self, epoch: int) -> None:
        """Forget the changes of views in epochs up to this one."""
        self.begin = max(self.begin, epoch)
        self.changes = {number: changes for number, changes in self.changes.items() if number > epoch}

    def part(self, name: str, number: int, parts: int, counted: bool) -> pa.Table:
        """Return part `number` of `parts` disjoint parts of the rows of a table or view; if `counted`, with weights."""
        version = cast(StateVersion, self.pipeline.snapshot().version)
        return version.part(name, number, parts, counted=counted)

    def _open(self, place: str | Path, epoch: int | None) -> None:
        """Open the state. Retry if its writer has removed a file in the meantime."""
        for left in reversed(range(TRIES)):
            self._state = StateDirectory.open(place, Durability(readonly=True), is_whole=False)
            try:
                self._restore(epoch)
                return
            except (StateError, FileNotFoundError):
                if not (left and self._state.is_outdated):
                    raise

    def _restore(self, epoch: int | None) -> None:
        from deltic.pipeline.session import Pipeline

        self._state.go_on_from(manifest_for(self._state.files, epoch))
        made = self._state.manifest
        self.pipeline: Pipeline = Pipeline(**(_options(made) if made else {}), functions=self._functions)
        begin_with_checkpoint(self._state, self.pipeline._evolving)
        self._reader = LogReader(self._state.files, self._state.sequence)
        self.changes = {}
        self.ended: dict[str, int] = {}
        """The epoch in which each view last ended, among the epochs that were replayed."""
        try:
            self.go_on(epoch)
        except StateError:
            if epoch is not None or not self.is_behind:
                raise
        if epoch is not None and self.epoch != epoch:
            raise StateError(
                f"state {self._state.files.place}: there is no epoch {epoch}: the last one is {self.epoch}"
            )

    def _records(self) -> Iterator[Record]:
        """Yield the next records of the log."""
        try:
            if not self.is_behind:
                yield from self._reader.records()
                return
        except FileNotFoundError:
            pass
        raise StateError(
            f"state {self._state.files.place}: what came after epoch {self.epoch} is no longer retained; read it "
            "as it is now, and follow it from there. More is retained with Pipeline(durability=Durability(keep=N))"
        )


def _options(made: Manifest) -> dict[str, Any]:
    """Return the pipeline options with which to read a checkpoint by the engine that wrote it."""
    shards = len((made.engine or {}).get("shards", ()))
    return grouped({**made.options, **({"engine": "spark", "shards": shards} if shards else {})})


def definitions_of(place: str | Path, functions: Iterable[OfPython] | str | Path = ()) -> Definitions:
    """Return the present definitions of a state, without reading rows. Raises StateError."""
    files = files_at(place)
    for _ in range(TRIES):
        before = manifest.numbers(files)
        try:
            return _definitions_at(place, functions)
        except StateError:
            if manifest.numbers(files) == before:
                raise
    return _definitions_at(place, functions)


def _definitions_at(place: str | Path, functions: Iterable[OfPython] | str | Path) -> Definitions:
    from deltic.pipeline.session import Pipeline

    state = StateDirectory.open(place, Durability(readonly=True))
    result = Pipeline(functions=functions)._definitions
    if state.manifest is not None:
        result = replayed(result, state.manifest.definitions)
    for record in state.records():
        result = replayed(result, record.edits)
    return result


def manifest_for(files: Files, epoch: int | None) -> Manifest | None:
    """Return the newest checkpoint that is not after an epoch; None for the state before the first record.

    Raises StateError if the epoch is no longer retained.
    """
    oldest = None
    for number in manifest.numbers(files):
        result = manifest.read(files, number)
        if epoch is None or result.epoch <= epoch:
            return result
        oldest = result
    starts = segments(files)
    if oldest is not None and (not starts or starts[0][0] > 1):
        raise StateError(
            f"state {files.place}: epoch {epoch} is no longer retained; those from epoch {oldest.epoch} on are. More "
            "are retained with Pipeline(durability=Durability(keep=N))"
        )
    return None

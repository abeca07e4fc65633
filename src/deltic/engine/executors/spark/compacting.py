"""Background compactions of shards, one at a time: started after an epoch, and published between two epochs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol
from uuid import uuid4

from deltic.engine.executors.executor import Host
from deltic.engine.executors.shards.compaction import Compaction, rebased
from deltic.engine.executors.shards.files import describe, files_of, read_description
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.tasks import total
from deltic.engine.files.files import Files
from deltic.engine.image import Json
from deltic.errors import count_of

_LOG = logging.getLogger("deltic.compaction")
# Seconds between two checks whether the epoch that a compaction waits for has ended.
_PAUSE = 0.02

RunEach = Callable[[Sequence[Callable[[], Iterable[Message]]], str], Iterable[Message]]
"""Runs tasks, each once and all as one job with this name. Returns their messages."""


class Compacted(Protocol):
    """Has the state of shards in files; see `SparkShards`."""

    files: Files
    host: Host

    @property
    def states_in_files(self) -> Mapping[int, str]:
        """The descriptions of the shards' states; empty if these are in memory."""

    def compactions(self, numbers: Collection[int], mark: str, whole: bool) -> list[Compaction]:
        """Return the tasks for some shards, or for all if `whole`; none if the state is in memory."""

    def take_compacted(self, states: Mapping[int, str]) -> None:
        """Replace the descriptions of some shards' states."""


class Compacting:
    """The compactions of one executor, which `run` executes.

    While one runs, files whose names start with `mark`, and those in `read`, must not be removed.
    """

    def __init__(self, run: RunEach) -> None:
        self._run = run
        self._thread: threading.Thread | None = None
        self.mark, self.read = "", frozenset[str]()

    def begin(self, shards: Compacted, numbers: Collection[int]) -> None:
        """Start a compaction of these shards, unless one is running."""
        if numbers and (self._thread is None or not self._thread.is_alive()):
            given = shards, frozenset(numbers)
            self._thread = threading.Thread(target=self._try, args=given, name="deltic compaction", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Wait until no compaction is running."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def now(self, shards: Compacted) -> None:
        """Merge all runs of each arrangement into one, and wait for it. Raises the errors of the job."""
        self.wait()
        self._compact(shards, (), whole=True)

    def _try(self, shards: Compacted, numbers: Collection[int]) -> None:
        """Log a failure only: nothing depends on a compaction, and a later epoch starts another one."""
        try:
            self._compact(shards, numbers, whole=False)
        except Exception as error:  # noqa: BLE001
            _LOG.warning("compaction of %d shards: %s; the state is as it was", len(numbers), error)

    def _compact(self, shards: Compacted, numbers: Collection[int], whole: bool) -> None:
        self.mark = f"compact-{uuid4().hex}-"
        try:
            with shards.host.section:
                files, tasks = shards.files, shards.compactions(numbers, self.mark, whole)
                before = {task.number: read_description(files, task.state) for task in tasks}
                read = {name for description in before.values() for name in files_of(description)}
                self.read = frozenset(read | {task.state for task in tasks})
            if tasks:
                outcome = total(self._run(tasks, f"compaction of {count_of(len(tasks), 'shard')}"))
                self._publish(shards, files, before, outcome.states)
        finally:
            self.mark, self.read = "", frozenset()

    def _publish(
        self, shards: Compacted, files: Files, before: Mapping[int, Mapping[str, Json]], after: Mapping[int, str]
    ) -> None:
        """Replace merged runs by their result, once no epoch that reads them is undecided."""
        while True:
            with shards.host.section:
                if shards.files is not files or not shards.states_in_files:
                    return
                if shards.host.prepared is None:
                    now = {number: read_description(files, shards.states_in_files[number]) for number in before}
                    made = {n: rebased(now[n], before[n], read_description(files, after[n])) for n in before}
                    self.mark, self.read = "", frozenset()
                    shards.take_compacted(
                        {n: describe(files, description) for n, description in made.items() if description}
                    )
                    return
            time.sleep(_PAUSE)

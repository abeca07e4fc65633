"""The service: a pipeline for many concurrent clients of any protocol.

Changes go to the one writer; questions are answered from snapshots, beside it; subscribers read one history. Any thread
may call. asyncio programs await the result of `in_thread`, or wrap the futures of `submit`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from deltic.engine.stopping import StopSignal
from deltic.errors import BusyError, DelticError, MemoryLimitError, StateError
from deltic.pipeline.durability.status import Status
from deltic.pipeline.epochs.history import Subscription
from deltic.pipeline.epochs.report import EpochReport
from deltic.pipeline.epochs.snapshot import Snapshot
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.session import Pipeline
from deltic.server.activity import Activity
from deltic.server.following import CutOffError, Follower
from deltic.server.limits import Limits
from deltic.server.space import Aged, CachedCounts, disk_of, sizes_of
from deltic.server.tracing import here, span, trace_epoch, within
from deltic.server.users import ANYONE, NotAllowedError, Role, User, require
from deltic.server.writer import Committed, ServiceWriter

if TYPE_CHECKING:
    from deltic.pipeline.sql.planning import PlannedText
    from deltic.sql.statements.parameters import Args

P = ParamSpec("P")
T = TypeVar("T")

_SIZES_AGE = 3.0
"""Seconds for which the sizes of relations are taken for the present ones: to know them, the writer waits a moment."""
_DISK_AGE = 60.0
"""Seconds for which the bytes on disk are taken for the present ones: to know them, files are looked at."""


@dataclass(frozen=True)
class Answer:
    """The rows of a question, the epoch whose tables and views it saw, and the seconds that it took."""

    rows: Rows
    epoch: int
    seconds: float
    truncated: bool = False
    """Whether there are more rows than were to be given."""


@dataclass(frozen=True)
class DefinedText:
    """Definitions that are in force from an epoch on."""

    evolution: Evolution
    epoch: int


class Service:
    """Serves a pipeline as its only writer: nothing else may change the pipeline meanwhile.

    `close`, or the end of a with-block, ends it once all waiting changes are done; the pipeline stays open.
    """

    def __init__(self, pipeline: Pipeline, limits: Limits = Limits(), frozen: str = "") -> None:
        """`frozen` says why clients may not change definitions, "" where they may."""
        self.pipeline, self.limits, self.frozen = pipeline, limits, frozen
        self.writer = ServiceWriter(pipeline, limits)
        self.activity = Activity(self.writer.writers_of, pipeline.views_by_relation)
        self._unobserved = pipeline.observe(self._epoch)
        self.counts = CachedCounts()
        self.sizes = Aged[Mapping[str, int]](partial(sizes_of, pipeline), _SIZES_AGE, {})
        self.disk = Aged[Status | None](partial(disk_of, pipeline), _DISK_AGE, None)
        self.sources: Callable[[], list[dict[str, Any]]] = list
        """The tables whose rows are elsewhere, and how their refreshes went; what refreshes them says it."""
        self.behind = ""
        """Why a state that another process writes is not followed; what follows it says it."""
        self.followers: set[Follower] = set()
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(limits.threads, "deltic question")

    def _epoch(self, report: EpochReport) -> None:
        self.activity.epoch(report)
        trace_epoch(report)

    # Questions

    def ask(
        self, text: str, args: Args | None = None, signal: StopSignal | None = None, most: int | None = None
    ) -> Answer:
        """Answer a question of SQL: SELECT, SHOW or DESCRIBE, with the first rows where there are more than `most`.

        Raises ProgramError, StoppedError past the time that a statement may take or when `signal` is stopped,
        MemoryLimitError for more memory than a question may take, and DelticError for more rows or bytes than an answer
        may have.
        """
        return self.look(lambda seen: seen.query(text, args), signal, most)

    def look(
        self, read: Callable[[Snapshot], Rows], signal: StopSignal | None = None, most: int | None = None
    ) -> Answer:
        """Read tables and views within the limits of a query; raises what `ask` does."""
        begun = time.perf_counter()
        with self.asking(signal), self.pipeline.snapshot() as seen:
            return self.limited(read(seen), seen.epoch, begun, most)

    def limited(self, rows: Rows, epoch: int, begun: float, most: int | None = None) -> Answer:
        """Make an answer that was started at a time of `perf_counter`; raises DelticError where it is too large."""
        count = rows.count()
        if min(count, count if most is None else most) > self.limits.rows:
            raise DelticError(
                f"the answer has {count:,} rows, and may have {self.limits.rows:,}: add LIMIT or WHERE, or let the "
                "server allow more with --max-rows"
            )
        truncated = most is not None and count > most
        given = rows.head(most) if truncated and most is not None else rows
        if (size := given.to_arrow().nbytes) > self.limits.answer_bytes:
            raise DelticError(
                f"the answer has {size:,} bytes, and may have {self.limits.answer_bytes:,}: ask for fewer rows or "
                "columns, or let the server allow more with --max-answer"
            )
        return Answer(given, epoch, time.perf_counter() - begun, truncated)

    @contextmanager
    def asking(self, signal: StopSignal | None = None) -> Iterator[None]:
        """Answer a question in the block, within its time and memory; raises StoppedError and MemoryLimitError."""
        try:
            with (signal or self.signal()).heeded(self.limits.memory_bytes):
                yield
        except MemoryError as error:
            raise MemoryLimitError("the question takes more memory than there is: ask for less") from error

    def signal(self, seconds: float | None = None) -> StopSignal:
        """Return a signal that stops a statement at its time limit or after fewer seconds; `stop` cancels it."""
        return StopSignal(min(self.limits.seconds, seconds or self.limits.seconds))

    # Changes

    def execute(
        self,
        text: str,
        args: Args | None = None,
        *,
        user: User = ANYONE,
        key: str = "",
        digest: str = "",
        signal: StopSignal | None = None,
        most: int | None = None,
    ) -> Committed | DefinedText | Answer:
        """Run statements of SQL: all of them change tables, in one epoch; or all ask; or they define, one by one.

        What the last one gives is returned. Raises ProgramError, also for a table whose rows are elsewhere, and for
        BEGIN and COMMIT, for which there is `begin`; NotAllowedError; and what `ask` and `apply` do.
        """
        with span("statement", text) as note:
            planned, signal = self.planned(text, args), signal or self.signal()
            self.require(user, planned)
            if not planned.steps:
                return DefinedText(self.pipeline.unchanged(), self.pipeline.epoch)
            result: Committed | DefinedText | Answer
            if planned.only_asks:
                result = self._answer(planned, signal, most)
                note("deltic.rows", result.rows.count())
            elif planned.only_changes:
                transaction = self.begin()
                for effect in planned.changes:
                    transaction.add(effect)
                result = self.commit(transaction, key, digest, signal)
            else:
                result = self.do(partial(self._define, text, args), signal)
            note("deltic.epoch", result.epoch)
            return result

    def _answer(self, planned: PlannedText, signal: StopSignal, most: int | None) -> Answer:
        """Answer questions that were planned; the last answer counts."""
        begun = time.perf_counter()
        with self.asking(signal):
            *_, last = self.pipeline.run_planned(planned)
            assert isinstance(last, Rows)
            return self.limited(last, self.pipeline.epoch, begun, most)

    def require(self, user: User, planned: PlannedText) -> None:
        """Raise NotAllowedError where a user may not run statements, or nobody may change definitions."""
        if planned.only_asks:
            require(user, Role.READER, "a question")
        elif planned.only_changes:
            require(user, Role.WRITER, "a change of a table")
        else:
            require(user, Role.OWNER, "a definition")
            if self.frozen:
                raise NotAllowedError(self.frozen)

    def planned(self, text: str, args: Args | None = None) -> PlannedText:
        """Plan and check statements; raises ProgramError."""
        planned = self.pipeline.planned_sql(text, args, outside=False)
        planned.refuse_brackets()
        return planned

    def _define(self, text: str, args: Args | None) -> DefinedText:
        """Run statements in the thread of the writer."""
        evolutions = [e for e in self.pipeline.run_planned(self.planned(text, args)) if isinstance(e, Evolution)]
        return DefinedText(evolutions[-1], self.pipeline.epoch)

    def begin(self) -> Transaction:
        """Begin a transaction of a client: its `preview` reads what it would make; `commit` ends it."""
        return self.pipeline.open_transaction()

    def commit(
        self, transaction: Transaction, key: str = "", digest: str = "", signal: StopSignal | None = None
    ) -> Committed:
        """Commit a transaction, and wait until it is durable; raises what `Transaction.commit` does, and BusyError."""
        return self.submit(transaction, key, digest, signal).result()

    def submit(
        self, transaction: Transaction, key: str = "", digest: str = "", signal: StopSignal | None = None
    ) -> Future[Committed]:
        """Commit a transaction: the verdict comes when it is durable. Cancelled before it was begun, it is discarded.

        With a `key`, a change that comes again is not applied again; equal digests mean equal changes. Raises
        BusyError where too many wait.
        """
        return self.writer.commit(transaction, key, digest, signal or self.signal())

    def apply(self, changes: Mapping[str, Any], key: str = "", digest: str = "") -> Committed:
        """Change tables, by name, by rows in any form that `Transaction.change` takes; raises what `commit` does."""
        transaction = self.begin()
        for table, rows in changes.items():
            transaction.change(table, rows)
        return self.commit(transaction, key, digest)

    def do(self, work: Callable[[], T], signal: StopSignal | None = None) -> T:
        """Run other work that changes the pipeline, such as a refresh, in the writer's thread; return its result."""
        result: T = self.writer.run(work, signal or self.signal()).result()
        return result

    # Subscriptions

    def subscribe(self, view: str, since: int | None = None, client: str = "") -> Follower:
        """Follow a view: its changes after an epoch, or from now on.

        Raises DelticError for an unknown view, CutOffError for an epoch whose changes are not retained, and
        BusyError where there are as many subscriptions as there may be.
        """
        with self._lock:
            if len(self.followers) >= self.limits.subscriptions:
                raise BusyError(
                    f"there are as many subscriptions as may be, {self.limits.subscriptions:,}: end one, or let the "
                    "server allow more with --max-subscriptions"
                )
            follower = Follower(self._changes(view, since), client, self._unfollow)
            self.followers.add(follower)
        return follower

    def _changes(self, view: str, since: int | None) -> Subscription:
        """Return the changes of a view; raises CutOffError where they cannot begin after that epoch."""
        now = self.pipeline.changes(view)
        try:
            return now if since is None else self.pipeline.changes(view, since)
        except DelticError as error:
            raise CutOffError(str(error), now.position) from error

    def _unfollow(self, follower: Follower) -> None:
        with self._lock:
            self.followers.discard(follower)

    # Running

    def check_ready(self) -> None:
        """Raise DelticError where the service is stopping, its rows are outdated, or the pipeline is broken."""
        if self.is_closing:
            raise BusyError("the server is stopping")
        if self.behind:
            raise StateError(self.behind)
        self.pipeline.snapshot()

    @property
    def is_closing(self) -> bool:
        """Whether it refuses further changes."""
        return self.writer.is_closing

    def following(self) -> list[Follower]:
        """Return the open subscriptions."""
        with self._lock:
            return sorted(self.followers, key=lambda follower: follower.begun)

    def epochs_behind(self) -> int:
        """Return how many epochs the slowest subscriber is behind."""
        return max((self.pipeline.epoch - each.position for each in self.following()), default=0)

    async def in_thread(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call in one of the threads for queries."""
        of_caller = here()

        def called() -> T:
            with within(of_caller):
                return call(*args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, called)

    def drain(self) -> None:
        """Refuse further changes and finish the waiting ones; queries are still answered."""
        self.writer.close()

    def close(self) -> None:
        """Refuse further changes, and end once the waiting ones are done."""
        self.drain()
        self._unobserved()
        self._threads.shutdown()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""The writer: a thread that commits waiting transactions, several as one epoch, each with its own verdict.

Transactions queue up while an epoch is committed, so with more clients more of them share an epoch and a sync of the
log. If such an epoch is rejected, its transactions are committed one by one: only those fail that fail alone.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from threading import Condition, Thread
from typing import Any

from deltic.engine.lateness import LateRows
from deltic.engine.stopping import StopSignal
from deltic.errors import BusyError, DelticError
from deltic.pipeline.epochs.grouping import groups
from deltic.pipeline.epochs.report import EpochReport
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.session import Pipeline
from deltic.server.limits import Limits
from deltic.server.request_keys import RequestKeys, check_key
from deltic.server.tracing import here, within

_LOG = logging.getLogger("deltic.server")


@dataclass(frozen=True)
class Committed:
    """A durable change; `affected` has the number of rows that each of its parts affected.

    `was_applied`: it was applied before with the same idempotency key; then `affected` is empty, and `report` None.
    """

    epoch: int
    affected: tuple[int, ...] = ()
    was_applied: bool = False
    report: EpochReport | None = None
    """The epoch, which other changes may have been part of."""

    @property
    def late(self) -> tuple[LateRows, ...]:
        """The rows that came too late, and that the epoch left out."""
        return self.report.late if self.report else ()

    @property
    def warning(self) -> str:
        """What a client should know of a change that was made; "" where that is nothing."""
        return f"the epoch left out {', '.join(map(str, self.late))}" if self.late else ""


@dataclass
class _Write:
    """A waiting transaction, and the future of its verdict."""

    transaction: Transaction
    key: str
    digest: str
    signal: StopSignal
    verdict: Future[Committed] = field(default_factory=Future)
    span: Any = field(default_factory=here)


@dataclass
class _Work:
    """Other work that changes the pipeline, which shares no epoch."""

    run: Callable[[], Any]
    signal: StopSignal
    verdict: Future[Any] = field(default_factory=Future)
    span: Any = field(default_factory=here)


class ServiceWriter:
    """Commits transactions of a pipeline in one thread, in order of arrival."""

    def __init__(self, pipeline: Pipeline, limits: Limits) -> None:
        self._pipeline, self._limits = pipeline, limits
        self._keys = RequestKeys(pipeline.positions, limits.keys)
        self._waiting: deque[_Write | _Work] = deque()
        self._changed = Condition()
        self.is_closing = False
        """Whether it takes no further work."""
        self._last: tuple[int, int] = (0, 0)
        self._thread = Thread(target=self._run, name="deltic writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of waiting changes."""
        return len(self._waiting)

    def writers_of(self, epoch: int) -> int:
        """Return the number of transactions in the last epoch; 1 for other epochs."""
        number, writers = self._last
        return writers if epoch == number else 1

    def commit(self, transaction: Transaction, key: str, digest: str, signal: StopSignal) -> Future[Committed]:
        """Queue an open transaction; the future has its verdict once it is durable. Raises BusyError, ChangeError."""
        check_key(key)
        write = _Write(transaction, key, digest, signal)
        self._put(write)
        return write.verdict

    def run(self, work: Callable[[], Any], signal: StopSignal) -> Future[Any]:
        """Queue other work that changes the pipeline alone. Raises BusyError."""
        result = _Work(work, signal)
        self._put(result)
        return result.verdict

    def close(self) -> None:
        """Take no further work, and end once all waiting work is done."""
        with self._changed:
            self.is_closing = True
            self._changed.notify()
        self._thread.join()

    def _put(self, item: _Write | _Work) -> None:
        with self._changed:
            if self.is_closing:
                raise BusyError("the server is stopping, and takes no more changes; send it to the next one")
            if len(self._waiting) >= self._limits.waiting:
                raise BusyError(
                    f"{self._limits.waiting:,} changes wait for the writer, and no more may; nothing was changed. "
                    "Try again later, or send more rows in fewer changes"
                )
            self._waiting.append(item)
            self._changed.notify()

    def _run(self) -> None:
        while items := self._next():
            try:
                self._do(items)
            except Exception as error:  # noqa: BLE001 those who wait raise it
                for item in items:
                    if not item.verdict.done():
                        item.verdict.set_exception(error)

    def _do(self, items: Sequence[_Write | _Work]) -> None:
        first = items[0]
        if isinstance(first, _Write):
            self._commit_all([item for item in items if isinstance(item, _Write)])
        elif first.verdict.set_running_or_notify_cancel():
            with first.signal.heeded(), within(first.span):
                first.verdict.set_result(first.run())

    def _next(self) -> list[_Write | _Work]:
        """Return the next step: one piece of work, or the transactions before it; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self.is_closing)
            is_work = bool(self._waiting) and isinstance(self._waiting[0], _Work)
            count = 1 if is_work else sum(1 for _ in islice(self._writes(), self._limits.group))
            return [self._waiting.popleft() for _ in range(count)]

    def _writes(self) -> Iterator[_Write]:
        """Yield the transactions that wait before other work, up to the first repeated key."""
        keys = set[str]()
        for item in self._waiting:
            if isinstance(item, _Work) or item.key in keys:
                return
            keys |= {item.key} if item.key else set()
            yield item

    def _commit_all(self, writes: Sequence[_Write]) -> None:
        """Commit transactions with different keys in groups; cancelled ones are left out."""
        left = [each for each in writes if each.verdict.set_running_or_notify_cancel() and not self._is_known(each)]
        by_transaction = {id(write.transaction): write for write in left}
        tables = self._pipeline.catalog.tables
        for group in groups([write.transaction for write in left], tables, self._limits.group_rows):
            self._commit_group([by_transaction[id(transaction)] for transaction in group])

    def _is_known(self, write: _Write) -> bool:
        """Return whether a change needs no commit: it was applied before or is wrong, and has its verdict then."""
        try:
            with write.signal.heeded():
                known = self._keys.applied(write.key, write.digest) if write.key else None
        except DelticError as error:
            _discard(write.transaction)
            write.verdict.set_exception(error)
            return True
        if known is not None:
            _discard(write.transaction)
            write.verdict.set_result(Committed(known.epoch, was_applied=True))
        return known is not None

    def _commit_group(self, writes: Sequence[_Write]) -> None:
        """Commit transactions as one epoch, or one by one where that is rejected."""
        if len(writes) > 1:
            try:
                self._committed(writes, StopSignal(self._limits.seconds))
            except DelticError as error:
                _LOG.info("an epoch of %d changes was rejected (%s); they go one by one", len(writes), error)
            else:
                return
        for write in writes:
            try:
                self._committed([write], write.signal)
            except DelticError as error:
                _discard(write.transaction)
                write.verdict.set_exception(error)

    def _committed(self, writes: Sequence[_Write], signal: StopSignal) -> None:
        """Commit transactions as one epoch and set their verdicts; raises what the commit does."""
        keys = {write.key: write.digest for write in writes if write.key}
        first, *others = [write.transaction for write in writes]
        positions = self._keys.positions(self._pipeline.epoch + 1, keys)
        self._last = self._pipeline.epoch + 1, len(writes)
        with signal.heeded(), within(writes[0].span):
            first.commit_with(others, positions)
        self._keys.remember(first.report.epoch, keys)
        for write in writes:
            transaction = write.transaction
            write.verdict.set_result(Committed(first.report.epoch, transaction.affected, report=transaction.report))


def _discard(transaction: Transaction) -> None:
    """Discard a transaction."""
    if transaction.is_open:
        transaction.discard()

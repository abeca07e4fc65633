"""The open transactions of threads and tasks: one for each, in a with-block, or between BEGIN and COMMIT."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from threading import current_thread

from deltic.errors import DelticError
from deltic.pipeline.epochs.transaction import Transaction
from deltic.sql.statements.statements import TransactionBracket


@dataclass
class _OfWorker:
    """The last transaction of a thread or task, by a weak reference, and the last one of BEGIN."""

    last: Callable[[], Transaction | None] = lambda: None
    bracketed: Transaction | None = None


class ActiveTransactions:
    """The open transaction of the calling thread or task."""

    def __init__(self) -> None:
        self._by_worker: weakref.WeakKeyDictionary[object, _OfWorker] = weakref.WeakKeyDictionary()

    @property
    def _mine(self) -> _OfWorker:
        return self._by_worker.setdefault(_current_worker(), _OfWorker())

    def note(self, transaction: Transaction) -> None:
        """Remember a transaction that may be opened."""
        self._mine.last = weakref.ref(transaction)

    def refuse(self, what: str) -> None:
        """Raise DelticError if a transaction is open."""
        result = self._mine.last()
        if result is not None and result.is_open:
            remedy = "COMMIT or ROLLBACK ends it" if result is self._mine.bracketed else "its `discard` ends it at once"
            raise DelticError(f"a transaction is open: {what}; {remedy}")

    @property
    def bracketed(self) -> Transaction | None:
        """The open transaction that BEGIN has started, if any."""
        begun = self._mine.bracketed
        return begun if begun is not None and begun.is_open else None

    def take(self, bracket: TransactionBracket, new: Callable[[], Transaction]) -> Transaction:
        """Open a transaction, or commit or discard it. ProgramError if there is none."""
        if bracket.word == "begin":
            self._mine.bracketed = begun = new().__enter__()
            return begun
        result = self.bracketed
        if result is None:
            raise bracket.error("no transaction is open", "BEGIN opens one; an error in a statement has ended it, too")
        if bracket.word == "commit":
            result.commit()
        else:
            result.discard()
        return result


def _current_worker() -> object:
    """Return the running task, or the thread if there is none."""
    loop = asyncio._get_running_loop()  # None where none runs; `current_task` raises an error there
    task = None if loop is None else asyncio.current_task(loop)
    return current_thread() if task is None else task

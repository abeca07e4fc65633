"""The transactions that threads have open: one for each, in a with-block, or between BEGIN and COMMIT."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from deltic.errors import DelticError
from deltic.pipeline.epochs.transaction import Transaction
from deltic.sql.statements.statements import TransactionBracket


class ActiveTransactions(threading.local):
    """What the thread that asks has open."""

    def __init__(self) -> None:
        self._last: Callable[[], Transaction | None] = lambda: None
        self._bracketed: Transaction | None = None

    def note(self, transaction: Transaction) -> None:
        """Know of a transaction that may be opened; it is not kept alive for that."""
        self._last = weakref.ref(transaction)

    def refuse(self, what: str) -> None:
        """Raises DelticError where a transaction is open."""
        result = self._last()
        if result is not None and result.is_open:
            remedy = "COMMIT or ROLLBACK ends it" if result is self._bracketed else "its `discard` ends it at once"
            raise DelticError(f"a transaction is open: {what}; {remedy}")

    @property
    def bracketed(self) -> Transaction | None:
        """The transaction that BEGIN has opened, as long as it is open."""
        return self._bracketed if self._bracketed is not None and self._bracketed.is_open else None

    def take(self, bracket: TransactionBracket, new: Callable[[], Transaction]) -> Transaction:
        """Open a transaction, commit or discard it; raises ProgramError where there is none."""
        if bracket.word == "begin":
            self._bracketed = new().__enter__()
            return self._bracketed
        result = self.bracketed
        if result is None:
            raise bracket.error("no transaction is open", "BEGIN opens one; an error in a statement has ended it, too")
        if bracket.word == "commit":
            result.commit()
        else:
            result.discard()
        return result

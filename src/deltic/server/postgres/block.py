"""The transaction of a session: BEGIN, COMMIT, ROLLBACK and savepoints."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from deltic.circuit.operators import Constant, Map, Plus, Sink
from deltic.server.postgres.errors import PostgresError

if TYPE_CHECKING:
    from deltic.engine.stopping import StopSignal
    from deltic.pipeline.epochs.transaction import Transaction
    from deltic.server.postgres.dialect import ClientStatement
    from deltic.server.service import Service
    from deltic.sql.statements.effect import Effect

Status = Literal["I", "T", "E"]
"""Whether a transaction of BEGIN is open, or has failed and waits for its end."""


class Block:
    """Gathers changes until COMMIT, or until the client's next Sync where there was no BEGIN.

    `warn` is called with notices for the client.
    """

    def __init__(self, service: Service, warn: Callable[[str], None]) -> None:
        self._service, self._warn = service, warn
        self.status: Status = "I"
        self.transaction: Transaction | None = None
        """The changes that were made so far; None where there are none."""
        self._savepoints: list[tuple[str, int]] = []

    def opened(self) -> Transaction:
        """Return the transaction that takes the next change."""
        if self.transaction is None:
            self.transaction = self._service.begin()
        return self.transaction

    async def bracket(self, statement: ClientStatement, signal: StopSignal) -> str:
        """Run BEGIN, COMMIT, ROLLBACK, SAVEPOINT or RELEASE, and return the tag. Raises what a commit raises."""
        word, *rest = statement.words
        if "PREPARED" in rest:
            raise statement.error(0, "prepared transactions are not supported", sqlstate="0A000")
        if word in ("BEGIN", "START"):
            return await self._begin(signal)
        if word in ("SAVEPOINT", "RELEASE") or "TO" in rest:
            self._at_savepoint("ROLLBACK" if "TO" in rest else word, statement)
            return word
        if self.status == "I":
            self._warn("there is no transaction in progress")
        is_kept = word in ("COMMIT", "END") and self.status != "E"
        self.status, self._savepoints = "I", []
        if is_kept:
            await self.commit(signal)
            return "COMMIT"
        self.discard()
        return "ROLLBACK"

    async def _begin(self, signal: StopSignal) -> str:
        if self.status == "T":
            self._warn("there is already a transaction in progress")
        else:
            await self.commit(signal)
        self.status = "T"
        return "BEGIN"

    def _at_savepoint(self, word: str, statement: ClientStatement) -> None:
        """Make or release a savepoint, or roll back to it."""
        name = statement.tokens[-1].text
        if self.status == "I":
            raise statement.error(0, f"{word} can only be used in transaction blocks", "BEGIN opens one", "25P01")
        if word == "SAVEPOINT":
            self._savepoints.append((name, len(self.transaction.operations) if self.transaction else 0))
            return
        place = next((n for n in reversed(range(len(self._savepoints))) if self._savepoints[n][0] == name), None)
        if place is None:
            raise statement.error(len(statement.tokens) - 1, f'savepoint "{name}" does not exist', sqlstate="3B001")
        if word == "RELEASE":
            del self._savepoints[place:]
            return
        del self._savepoints[place + 1 :]
        self.status = "T"
        if self.transaction is not None:
            self.transaction.rewind(self._savepoints[place][1])

    async def commit(self, signal: StopSignal) -> int:
        """Commit the changes, if any; return the number of rows that the last one affected."""
        transaction, self.transaction = self.transaction, None
        if transaction is None:
            return 0
        committed = await asyncio.wrap_future(self._service.submit(transaction, signal=signal))
        if committed.warning:
            self._warn(committed.warning)
        return committed.affected[-1] if committed.affected else 0

    def affected(self, effects: Sequence[Effect], is_last: bool, signal: StopSignal) -> int:
        """Return how many rows these last changes affect. Raises what a commit would raise.

        VALUES that others follow in one message, as `executemany` sends them, are checked with the last one.
        """
        count = _constant_rows(effects)
        with signal.heeded():
            if count is None:
                return self.opened().count()
            if is_last:
                self.opened().check()
            return count

    def refuse_failed(self) -> None:
        """Raise PostgresError where the transaction has failed."""
        if self.status == "E":
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise PostgresError("25P02", message, hint="ROLLBACK ends it")

    def fail(self) -> None:
        """Mark the transaction as failed; the client may still roll back to a savepoint."""
        if not self._savepoints:
            self.discard()
        self.status = "E" if self.status != "I" else "I"

    def discard(self) -> None:
        """Discard the changes."""
        transaction, self.transaction = self.transaction, None
        if transaction is not None and transaction.is_open:
            transaction.discard()


def _constant_rows(effects: Sequence[Effect]) -> int | None:
    """Return how many rows VALUES insert; None for a statement that computes how many they are."""
    operators = [op for effect in effects for definition in effect.definitions for op in definition.circuit.operators]
    if not all(isinstance(op, Constant | Map | Plus | Sink) for op in operators):
        return None
    return sum(len(op.rows) for op in operators if isinstance(op, Constant))

"""The parts of a pipeline, and the methods that change rows: transactions, and the passing of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from deltic.circuit.graph import Circuit
from deltic.engine.conflicts import Conflicts
from deltic.engine.lateness import LatePolicy
from deltic.engine.protocol import Engine
from deltic.pipeline.definitions.evolving import DefinitionChanger
from deltic.pipeline.durability.state_keeper import StateKeeper
from deltic.pipeline.engines import Engines
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.clock import Clock, Time
from deltic.pipeline.epochs.epochs import Epochs
from deltic.pipeline.epochs.transaction import Transaction, TransactionTerms
from deltic.pipeline.names import check_choice
from deltic.pipeline.options import Transactions
from deltic.pipeline.reading.reading import Reading


class Changing(Reading):
    """Opens transactions, each of which is one epoch. Here are the parts of a pipeline that all its methods share."""

    _epochs: Epochs
    _evolving: DefinitionChanger
    _engines: Engines
    _keeping: StateKeeper
    _opened: ActiveTransactions
    _clock: Clock
    _terms: Transactions
    """What transactions do unless they say otherwise."""

    def _engine_of(self, circuit: Circuit) -> Engine:
        """An engine for one answer."""
        return self._clock.show(self._engines.for_answer(circuit), circuit)

    def transaction(
        self,
        conflicts: Conflicts | None = None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        late: LatePolicy | None = None,
    ) -> Transaction:
        """A transaction, for a with-block: all changes made in it are one epoch, or none takes effect.

        Several threads may each have one open; they commit one after the other, each on the result of the last.
        `conflicts`, `timeout` and `late` override those of the pipeline. The end of the block raises ChangeError where
        the changes conflict with the tables, DataError where values of statements do not fit, and BusyError after
        waiting `timeout` seconds for other threads. After any exception tables and views are unchanged.

        `positions` record by name how far sources have been read, as JSON. The epoch stores them, and the `token`.
        """
        return self._noted(self._transaction(conflicts, timeout, token, positions or {}, late=late))

    def open_transaction(self) -> Transaction:
        """An open transaction that belongs to no thread, for a server with one per client.

        `commit` or `discard` ends it, in any thread; `pipeline.epochs.grouping` says which may be committed together.
        """
        return self._transaction(None, None).__enter__()

    def advance(self, to: Time | None = None) -> Transaction:
        """An epoch in which only time passes: `current_timestamp` becomes `to`, or the machine's time.

        `to` is a datetime, or a text such as "2026-03-01T12:30:00Z", in UTC without a zone. Unless the pipeline was
        made with a fixed time, the machine's time applies again once it is later. Raises DelticError for a time before
        that of the last epoch.
        """
        if to is not None:
            self._clock.advance(to, self.catalog, self._epochs.engine)
        with self.transaction() as change:
            pass
        return change

    def what_if(self, conflicts: Conflicts | None = None, timeout: float | None = None) -> Transaction:
        """A transaction that its block discards at the end, unless you call its `commit`.

        Its `preview` has the tables and views as they would be, and their changes. It blocks no other transaction, and
        previews changes of a read-only state too.
        """
        return self._noted(self._transaction(conflicts, timeout, is_kept=False))

    def _noted(self, made: Transaction) -> Transaction:
        """Note a transaction as the open one of this thread or task; raises DelticError where it has another."""
        self._opened.refuse("transactions do not nest")
        self._opened.note(made)
        return made

    def _transaction(
        self,
        conflicts: Conflicts | None,
        timeout: float | None,
        token: str = "",
        positions: Mapping[str, Any] | None = None,
        is_kept: bool = True,
        late: LatePolicy | None = None,
    ) -> Transaction:
        if is_kept or not self._keeping.is_readonly:
            self._keeping.refuse_change()
        if not self._epochs.have_begun:
            self._engines.recursion.check(self.catalog)
        chosen = conflicts or self._terms.conflicts
        check_choice(chosen, "policy for conflicts", get_args(Conflicts))
        chosen_late = late or self._terms.late
        check_choice(chosen_late, "policy for late rows", get_args(LatePolicy))
        refuse = self._keeping.refuse_change
        terms = TransactionTerms(chosen, timeout, token, positions or {}, is_kept, chosen_late, refuse)
        return Transaction(self._epochs, terms, self._engine_of, self.spark)

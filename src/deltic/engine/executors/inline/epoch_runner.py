"""Retries an epoch until all domains hold its values. Each attempt ends in the state after the epoch or before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from deltic.engine.changes import Changes
from deltic.engine.interrupts import postponed
from deltic.engine.operators.faults import Faults
from deltic.engine.prepared import unfailing
from deltic.engine.storage.columns import DomainOverflow
from deltic.engine.storage.domains import Growth
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Renumbered, Store, StoreSnapshot
from deltic.errors import CountOverflowError, IterationLimitError
from deltic.program.program import Program

Grow = Callable[[DomainOverflow, Sequence[State]], None]
"""Makes room for a value within an epoch: undoes the change of some relations, and repacks outgrown layouts."""


@dataclass(frozen=True)
class EpochRunner:
    """Runs epochs of a program over a store. An epoch is a function that changes the states of the store."""

    program: Program
    store: Store
    faults: Faults

    def run(
        self,
        epoch: Callable[[Grow], Changes],
        again: Callable[[], None] = lambda: None,
        relations: Collection[str] | None = None,
    ) -> tuple[StoreSnapshot, Changes]:
        """Return the state before an epoch and its changes, once all domains hold its values. `again` runs before each
        retry.

        `relations` are those that the epoch may change; by default all.
        """
        growth = Growth()
        while (done := self.attempt(epoch, growth, relations)) is None:
            again()
        return done

    def attempt(
        self, epoch: Callable[[Grow], Changes], growth: Growth, relations: Collection[str] | None
    ) -> tuple[StoreSnapshot, Changes] | None:
        """Return the state before and the changes of the views; None if the epoch must be run again.

        That is so if a domain had to grow before the first stratum, or if labels were reassigned, because rows packed
        with old labels cannot be repacked. After any exception the state is as before the epoch.
        """
        self.store.fit()
        snapshot = self.store.snapshot(relations)
        self.faults.clear()
        try:
            changes = epoch(partial(self.grow, growth, snapshot))
            self.faults.refuse(self.program.views_over)
            postponed.check()
            return snapshot, changes
        except BaseException as error:
            unfailing(partial(self.store.roll_back, snapshot), "to undo an epoch")
            if isinstance(error, IterationLimitError | CountOverflowError):
                raise error.naming_views(self.program.views_over(error.relations[0])) from None
            if isinstance(error, DomainOverflow):
                growth.make_room(error)
            elif not isinstance(error, Renumbered):
                raise
            return None

    def grow(
        self, growth: Growth, snapshot: StoreSnapshot, overflow: DomainOverflow, relations: Sequence[State]
    ) -> None:
        """Undo the change of relations, make room for a value, and repack. Raises Renumbered."""
        self.store.restore(snapshot, relations)
        growth.make_room(overflow, relations)
        self.store.fit_within_epoch()

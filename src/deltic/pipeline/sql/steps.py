"""The steps of a text of SQL, done one after the other with a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine
from deltic.errors import CatalogError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.definitions.evolving import Evolving
from deltic.pipeline.epochs.opened import Opened
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.reading.snapshot import Snapshot
from deltic.pipeline.sql.answers import Told
from deltic.pipeline.sql.evaluation import answered, circuit_of
from deltic.pipeline.sql.planning import ANSWER, Explained, Query, Step
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.statements import Bracket


@dataclass(frozen=True)
class Steps:
    """Does steps with a pipeline, of which it has what each kind of step needs."""

    evolving: Evolving
    opened: Opened
    transaction: Callable[[], Transaction]
    snapshot: Callable[[], Snapshot]
    explain: Callable[[str, bool], str]
    engine_of: Callable[[Circuit], Engine]

    def done(self, steps: Sequence[Step], planned_from: Definitions) -> Iterator[Evolution | Transaction | Rows]:
        """What each step gives, once it is done; they were planned from these definitions."""
        for step in steps:
            if isinstance(step, Definitions):
                yield self.evolving.evolve(partial(_unless_moved, planned_from, step))
                planned_from = step
            else:
                yield self._done(step)

    def _done(self, step: Effect | Query | Explained | Bracket | Rows) -> Transaction | Rows:
        """Do one step that defines nothing; an error of it ends the transaction that BEGIN has opened."""
        try:
            match step:
                case Bracket():
                    return self.opened.take(step, self.transaction)
                case Effect():
                    return self._changed(step)
                case Query():
                    bracketed = self.opened.bracketed
                    seen = self.snapshot() if bracketed is None else bracketed.preview()
                    return answered(step, seen.version, self.engine_of, seen.spark)
                case Explained():
                    return Told("plan", self._explained(step))
                case Rows():
                    return step
        except BaseException:
            if (bracketed := self.opened.bracketed) is not None:
                bracketed.discard()
            raise

    def _changed(self, effect: Effect) -> Transaction:
        """The transaction that changes a table: the one that BEGIN has opened, or one of its own."""
        if (bracketed := self.opened.bracketed) is not None:
            bracketed.add(effect)
            return bracketed
        with self.transaction() as change:
            change.add(effect)
        return change

    def _explained(self, asked: Explained) -> str:
        """How a view, or a query as one, is kept fresh."""
        if isinstance(asked.subject, str):
            return self.explain(asked.subject, asked.extended)
        return self.engine_of(circuit_of([asked.subject])).explain(ANSWER, asked.extended)


def _unless_moved(planned_from: Definitions, planned: Definitions, now: Definitions) -> Definitions:
    """What was planned from definitions, if they are still those that there are."""
    if now is not planned_from:
        raise CatalogError("another thread changed definitions meanwhile; nothing was changed. Run it again")
    return planned

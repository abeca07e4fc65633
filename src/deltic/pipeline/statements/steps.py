"""Runs the steps of a text of SQL, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from deltic.circuit.graph import Circuit
from deltic.engine.protocol import Engine
from deltic.errors import DefinitionsMovedError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.epochs.active_transactions import ActiveTransactions
from deltic.pipeline.epochs.snapshot import Snapshot
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.evolution import Evolution
from deltic.pipeline.evolving import DefinitionChanger
from deltic.pipeline.rows.rows import Rows
from deltic.pipeline.sql.answers import TextAnswer
from deltic.pipeline.sql.evaluation import answered
from deltic.pipeline.sql.planning import ANSWER, Explained, ExplainedRows, Step, circuit_of
from deltic.pipeline.sql.prepared import PlannedQuery
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.statements import TransactionBracket

if TYPE_CHECKING:
    from deltic.pipeline.connectors.source import SourceReport
    from deltic.pipeline.defining import Defining

# How often a statement is planned that meets other threads' changes of definitions.
_TRIES = 100


@dataclass(frozen=True)
class SqlSession:
    """The parts of a pipeline that statements of SQL work with. `load` reads the sources of new tables."""

    pipeline: Defining
    evolving: DefinitionChanger
    opened: ActiveTransactions
    load: Callable[[Collection[str]], Mapping[str, SourceReport]]
    engine_of: Callable[[Circuit], Engine]

    @property
    def definitions(self) -> Definitions:
        return self.evolving.epochs.last.definitions

    def results(self, plan: Callable[[Definitions], list[Step]]) -> Iterator[Evolution | Transaction | Rows]:
        """Return what each step of a text gives, which is planned at once.

        It is planned again where its first step met a change of definitions: so a lone statement is done.
        """
        definitions = self.definitions
        return self._repeated(plan, plan(definitions), definitions)

    def _repeated(
        self, plan: Callable[[Definitions], list[Step]], steps: list[Step], definitions: Definitions
    ) -> Iterator[Evolution | Transaction | Rows]:
        for left in reversed(range(_TRIES)):
            is_done = False
            try:
                for result in self.done(steps, definitions):
                    is_done = True
                    yield result
                return
            except DefinitionsMovedError:
                if is_done or not left or isinstance(steps[0], TransactionBracket):
                    raise
            definitions = self.definitions
            steps = plan(definitions)

    def done(self, steps: Sequence[Step], planned_from: Definitions) -> Iterator[Evolution | Transaction | Rows]:
        """Yield what each step gives, once it is done; they were planned from these definitions."""
        for step in steps:
            if isinstance(step, Definitions):
                yield self._defined(partial(_unless_moved, planned_from, step))
                planned_from = self.definitions
            else:
                yield self._done(step)

    def _defined(self, change: Callable[[Definitions], Definitions]) -> Evolution:
        """Go on with other definitions, and read the sources of new tables; where that fails, these go again."""
        evolution = self.evolving.evolve(change)
        sources = self.definitions.sources
        if tables := [name for name in evolution.added if name in sources]:
            try:
                evolution.loaded = self.load(tables)
            except BaseException:
                self.evolving.evolve(lambda now: now.dropping(evolution.added))
                raise
        return evolution

    def _done(
        self, step: Effect | PlannedQuery | Explained | ExplainedRows | TransactionBracket | Rows
    ) -> Transaction | Rows:
        """Do one step that defines nothing; an error of it ends the transaction that BEGIN has opened."""
        try:
            match step:
                case TransactionBracket():
                    return self.opened.take(step, self.pipeline.transaction)
                case Effect():
                    return self._changed(step)
                case PlannedQuery():
                    seen = self.present()
                    return answered(step, seen.version, self.engine_of, seen.spark)
                case ExplainedRows():
                    return self.present().explained_rows(step.definition, step.kind)
                case Explained():
                    return TextAnswer("plan", self._explained(step))
                case Rows():
                    return step
        except BaseException:
            if (bracketed := self.opened.bracketed) is not None:
                bracketed.discard()
            raise

    def present(self) -> Snapshot:
        """Tables and views as they are, or as the transaction that BEGIN has opened would leave them."""
        bracketed = self.opened.bracketed
        return self.pipeline.snapshot() if bracketed is None else bracketed.preview()

    def _changed(self, effect: Effect) -> Transaction:
        """Return the transaction that changes a table: the one that BEGIN has opened, or one of its own."""
        if (bracketed := self.opened.bracketed) is not None:
            bracketed.add(effect)
            return bracketed
        with self.pipeline.transaction() as change:
            change.add(effect)
        return change

    def _explained(self, asked: Explained) -> str:
        """Return how a view, or a query as one, is kept fresh."""
        if isinstance(asked.subject, str):
            return self.pipeline.explain(asked.subject, asked.extended)
        return self.engine_of(circuit_of([asked.subject])).explain(ANSWER, asked.extended)


def _unless_moved(planned_from: Definitions, planned: Definitions, now: Definitions) -> Definitions:
    """Return what was planned from definitions, if they are still the present ones."""
    if now is not planned_from:
        raise DefinitionsMovedError("another thread changed definitions meanwhile; nothing was changed. Run it again")
    return planned

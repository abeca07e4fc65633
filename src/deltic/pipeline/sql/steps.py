"""The steps of a text of SQL, done one after the other with a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from deltic.errors import DefinitionsMovedError
from deltic.pipeline.defining import Defining
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.evolution import Evolution
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.reading.rows import Rows
from deltic.pipeline.reading.snapshot import Snapshot
from deltic.pipeline.sql.answers import TextAnswer
from deltic.pipeline.sql.evaluation import answered
from deltic.pipeline.sql.planning import ANSWER, Explained, ExplainedRows, Step, circuit_of
from deltic.pipeline.sql.prepared import PlannedQuery
from deltic.sql.statements.effect import Effect
from deltic.sql.statements.statements import TransactionBracket

# How often a statement is planned that meets other threads' changes of definitions.
_TRIES = 100


def results(pipeline: Defining, plan: Callable[[Definitions], list[Step]]) -> Iterator[Evolution | Transaction | Rows]:
    """What each step of a text gives, which is planned at once.

    It is planned again where its first step met a change of definitions: so a lone statement is done.
    """
    definitions = pipeline._epochs.last.definitions
    return _repeated(pipeline, plan, plan(definitions), definitions)


def _repeated(
    pipeline: Defining, plan: Callable[[Definitions], list[Step]], steps: list[Step], definitions: Definitions
) -> Iterator[Evolution | Transaction | Rows]:
    for left in reversed(range(_TRIES)):
        is_done = False
        try:
            for result in done(pipeline, steps, definitions):
                is_done = True
                yield result
            return
        except DefinitionsMovedError:
            if is_done or not left or isinstance(steps[0], TransactionBracket):
                raise
        definitions = pipeline._epochs.last.definitions
        steps = plan(definitions)


def done(
    pipeline: Defining, steps: Sequence[Step], planned_from: Definitions
) -> Iterator[Evolution | Transaction | Rows]:
    """What each step gives, once it is done; they were planned from these definitions."""
    for step in steps:
        if isinstance(step, Definitions):
            yield _defined(pipeline, partial(_unless_moved, planned_from, step))
            planned_from = pipeline._epochs.last.definitions
        else:
            yield _done(pipeline, step)


def _defined(pipeline: Defining, change: Callable[[Definitions], Definitions]) -> Evolution:
    """Go on with other definitions, and read the sources of new tables; where that fails, these go again."""
    evolution = pipeline._evolving.evolve(change)
    sources = pipeline._epochs.last.definitions.sources
    if tables := [name for name in evolution.added if name in sources]:
        try:
            evolution.loaded = pipeline._refreshing.load(tables)
        except BaseException:
            pipeline._evolving.evolve(lambda now: now.dropping(evolution.added))
            raise
    return evolution


def _done(
    pipeline: Defining, step: Effect | PlannedQuery | Explained | ExplainedRows | TransactionBracket | Rows
) -> Transaction | Rows:
    """Do one step that defines nothing; an error of it ends the transaction that BEGIN has opened."""
    try:
        match step:
            case TransactionBracket():
                return pipeline._opened.take(step, pipeline.transaction)
            case Effect():
                return _changed(pipeline, step)
            case PlannedQuery():
                seen = present(pipeline)
                return answered(step, seen.version, pipeline._engine_of, seen.spark)
            case ExplainedRows():
                return present(pipeline).explained_rows(step.definition, step.kind)
            case Explained():
                return TextAnswer("plan", _explained(pipeline, step))
            case Rows():
                return step
    except BaseException:
        if (bracketed := pipeline._opened.bracketed) is not None:
            bracketed.discard()
        raise


def present(pipeline: Defining) -> Snapshot:
    """Tables and views as they are, or as the transaction that BEGIN has opened would leave them."""
    bracketed = pipeline._opened.bracketed
    return pipeline.snapshot() if bracketed is None else bracketed.preview()


def _changed(pipeline: Defining, effect: Effect) -> Transaction:
    """The transaction that changes a table: the one that BEGIN has opened, or one of its own."""
    if (bracketed := pipeline._opened.bracketed) is not None:
        bracketed.add(effect)
        return bracketed
    with pipeline.transaction() as change:
        change.add(effect)
    return change


def _explained(pipeline: Defining, asked: Explained) -> str:
    """How a view, or a query as one, is kept fresh."""
    if isinstance(asked.subject, str):
        return pipeline.explain(asked.subject, asked.extended)
    return pipeline._engine_of(circuit_of([asked.subject])).explain(ANSWER, asked.extended)


def _unless_moved(planned_from: Definitions, planned: Definitions, now: Definitions) -> Definitions:
    """What was planned from definitions, if they are still those that there are."""
    if now is not planned_from:
        raise DefinitionsMovedError("another thread changed definitions meanwhile; nothing was changed. Run it again")
    return planned

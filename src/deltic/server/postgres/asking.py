"""What a client asks: answers to questions, their columns, and the tables and views that statements name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltic.errors import did_you_mean
from deltic.pipeline.sql.prepared import PlannedQuery
from deltic.server.postgres.catalog.questions import is_about_catalog
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.outcomes import ResultRows
from deltic.server.postgres.types import Field
from deltic.server.service import Answer
from deltic.sql.statements.ordering import KEY

if TYPE_CHECKING:
    from deltic.engine.stopping import StopSignal
    from deltic.pipeline.sql.planning import PlannedText
    from deltic.server.postgres.block import Block
    from deltic.server.postgres.catalog.answers import PostgresCatalog
    from deltic.server.postgres.dialect import ClientStatement
    from deltic.server.postgres.settings import Client
    from deltic.server.service import Service
    from deltic.values.types import Schema

Args = Sequence[Any]


class Questions:
    """Answers what a client asks of the pipeline and of PostgreSQL's catalog; `block` has the client's transaction."""

    def __init__(self, service: Service, catalog: PostgresCatalog, client: Client, block: Block) -> None:
        self._service, self._catalog, self._client, self._block = service, catalog, client, block

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The columns of all tables and views."""
        catalog = self._service.pipeline.catalog
        return {**catalog.table_schemas, **catalog.view_schemas}

    def relation(self, name: str) -> str:
        """Return a table or view as it was defined, from its name in any case; raises PostgresError."""
        known = self.schemas
        if (found := next((each for each in known if each.lower() == name.lower()), None)) is None:
            raise PostgresError("42P01", f"there is no table or view {name}", hint=did_you_mean(name, known))
        return found

    def schema(self, name: str) -> Schema:
        """Return the columns of a table or view; raises PostgresError."""
        return self.schemas[self.relation(name)]

    def planned(self, statement: ClientStatement, args: Args) -> PlannedText:
        """Return what a statement would do; raises what is wrong in it, and NotAllowedError."""
        planned = self._service.planned(statement.deltic.text, [args[number - 1] for number in statement.parameters])
        self._service.require(self._client.user, planned)
        return planned

    def answer(self, statement: ClientStatement, args: Args, signal: StopSignal) -> ResultRows:
        """Return the answer to a question, as of now, or as the transaction has made the tables so far."""
        if is_about_catalog(statement):
            return self._catalog.answer(self._service.pipeline.catalog, self._client, statement, args)
        values = [args[number - 1] for number in statement.parameters]
        if (transaction := self._block.transaction) is not None:
            begun = time.perf_counter()
            with self._service.asking(signal):
                rows = transaction.preview().query(statement.deltic.text, values)
                return ResultRows.of(self._service.limited(rows, self._service.pipeline.epoch, begun).rows.to_arrow())
        given = self._service.execute(statement.deltic.text, values, user=self._client.user, signal=signal)
        if not isinstance(given, Answer):
            raise statement.error(0, "this is no question")
        return ResultRows.of(given.rows.to_arrow())

    def fields(self, statement: ClientStatement, args: Args, signal: StopSignal) -> Sequence[Field]:
        """Return the columns of a question; of one that is no SELECT it is the answer that has them."""
        if is_about_catalog(statement):
            return self.answer(statement, args, signal).fields
        (step,) = self.planned(statement, args).steps
        if not isinstance(step, PlannedQuery):
            return self.answer(statement, args, signal).fields
        (view,) = step.definition.views
        columns = [(n, c.type) for n, c in zip(step.names, view.schema, strict=True) if not n.startswith(KEY)]
        return [Field.of(name, type_) for name, type_ in columns]

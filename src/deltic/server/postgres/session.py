"""A session of a client: it runs statements."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from deltic.errors import DelticError, Diagnostic
from deltic.pipeline.evolution import Evolution
from deltic.server.postgres.asking import Args, Questions
from deltic.server.postgres.block import Block
from deltic.server.postgres.copying import copy_of
from deltic.server.postgres.cursors import Cursors, fetched
from deltic.server.postgres.dialect import ClientStatement, statements
from deltic.server.postgres.errors import PostgresError, postgres_error
from deltic.server.postgres.outcomes import CopyIn, CopyOut, Done, FollowedView, Outcome, ResultRows, followed
from deltic.server.postgres.parameters import parameter_types
from deltic.server.postgres.settings import Client, assignment
from deltic.server.postgres.types import TEXT, Field, samples
from deltic.server.tracing import span
from deltic.server.users import Role, require
from deltic.values.words import quoted

if TYPE_CHECKING:
    from deltic.pipeline.epochs.transaction import Transaction
    from deltic.server.postgres.catalog.answers import PostgresCatalog
    from deltic.server.service import Service
    from deltic.sql.statements.effect import Effect

AUDIT = logging.getLogger("deltic.audit")

T = TypeVar("T")

_QUESTIONS = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(", "EXPLAIN", "DESCRIBE", "DESC")
_SHOWN = ("TABLES", "VIEWS", "FUNCTIONS", "COLUMNS", "CREATE")
"""What SHOW says of the pipeline; other words are settings."""
_CHANGES = {
    "INSERT": "INSERT 0 {}",
    "UPDATE": "UPDATE {}",
    "DELETE": "DELETE {}",
    "MERGE": "MERGE {}",
    "TRUNCATE": "TRUNCATE TABLE",
}
"""What changes tables, and the tags that say so."""
_BRACKETS = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE")
_UNAUDITED = (*_QUESTIONS, "SHOW", "SET", "FETCH", "MOVE", "CLOSE", "DECLARE", "BEGIN")
_ENDS = ("COMMIT", "END", "ROLLBACK", "ABORT")
_NOTHING = ("UNLISTEN", "ANALYZE", "VACUUM", "CHECKPOINT")
"""What clients send to keep a database well, and is not needed here."""
_REFUSED = {
    "LISTEN": "SUBSCRIBE TO a view sends its changes",
    "NOTIFY": "SUBSCRIBE TO a view sends its changes",
    "LOCK": "a transaction that meets another one fails at COMMIT: run it again then",
    "GRANT": "users and their roles are the server's",
    "REVOKE": "users and their roles are the server's",
    "DO": "",
    "CALL": "",
}


@dataclass
class ParsedStatement:
    """A statement with the types of its parameters; the columns of its answer, once they were asked for."""

    statement: ClientStatement
    oids: Sequence[int]
    fields: Sequence[Field] | None = None
    is_described: bool = False


class ClientSession:
    """The session of a client: settings, transaction, prepared statements, cursors.

    `service` and `catalog` are those of all clients.
    """

    def __init__(self, service: Service, catalog: PostgresCatalog, client: Client) -> None:
        self.service, self.client, self.settings = service, client, client.settings
        self.notices: list[str] = []
        self.block = Block(service, self.notices.append)
        self.questions = Questions(service, catalog, client, self.block)
        self.cursors = Cursors()
        self.prepared: dict[str, ParsedStatement | None] = {}
        self._signal = service.signal()
        self._doers: Mapping[str, Callable[[ClientStatement, Args, bool], Awaitable[Outcome]]] = {
            **dict.fromkeys(_QUESTIONS, self._question),
            **dict.fromkeys(_CHANGES, self._change),
            **dict.fromkeys(_BRACKETS, self._bracket),
            **dict.fromkeys(("SET", "RESET", "DISCARD"), self._set),
            **dict.fromkeys(("FETCH", "MOVE", "CLOSE"), self._cursor),
            **dict.fromkeys(_NOTHING, self._nothing),
            **dict.fromkeys(_REFUSED, self._refused),
            "SHOW": self._show,
            "DECLARE": self._declare,
            "PREPARE": self._prepare,
            "EXECUTE": self._execute,
            "DEALLOCATE": self._deallocate,
            "COPY": self._copy,
            "SUBSCRIBE": self._subscribe,
        }

    async def prepare(self, statement: ClientStatement, oids: Sequence[int] = ()) -> ParsedStatement:
        """Return a statement with the types of its parameters: for 0 the client leaves open what the place says."""
        if not statement.parameters or statement.words[0] == "PREPARE":
            return ParsedStatement(statement, ())
        return ParsedStatement(statement, await self._work(parameter_types, statement, oids, self.questions.schemas))

    async def describe(self, prepared: ParsedStatement) -> Sequence[Field] | None:
        """Return the columns of its answer; None where it has none."""
        if not prepared.is_described:
            prepared.fields = await self._placed(prepared.statement, self._described(prepared))
            prepared.is_described = True
        return prepared.fields

    async def run(self, prepared: ParsedStatement, args: Args, is_last: bool) -> Outcome:
        """Run a statement; `is_last`: no message that has arrived belongs to the same transaction.

        Raises PostgresError.
        """
        if prepared.statement.words[0] not in _ENDS:
            self.block.refuse_failed()
        self._signal = self.service.signal(self.settings.seconds)
        word, verdict = prepared.statement.words[0], "done"
        with span(f"PostgreSQL {word}", prepared.statement.text, prepared.statement.trace) as note:
            try:
                return await self._placed(prepared.statement, self._done(prepared.statement, args, is_last))
            except PostgresError as error:
                self.service.activity.error("statement", str(error))
                verdict = error.sqlstate
                note("db.response.status_code", verdict)
                raise
            finally:
                if word not in _UNAUDITED:
                    AUDIT.info("%s@%s PostgreSQL %s: %s", self.client.name, self.client.address, word, verdict)

    def cancel(self) -> None:
        """Cancel the running statement."""
        self._signal.stop("it was cancelled")

    async def synchronize(self) -> None:
        """Commit what was not part of a transaction of BEGIN. Raises what a commit does."""
        if self.block.status == "I" and self.block.transaction is not None:
            with span("PostgreSQL COMMIT", headers={}):
                await self.block.commit(self._signal)

    def close(self) -> None:
        """End the session and close what it has open."""
        self.block.discard()
        self.cursors.close()

    async def _placed(self, statement: ClientStatement, work: Awaitable[T]) -> T:
        """Return the result of work on a statement; its error gets the place in the client's text."""
        try:
            return await work
        except (DelticError, MemoryError) as error:
            raise _with_place(error, statement) from error

    async def _described(self, prepared: ParsedStatement) -> Sequence[Field] | None:
        statement = prepared.statement
        match statement.words[0]:
            case "SUBSCRIBE":
                return followed(self.questions.schema(_subscribed(statement)[0]))
            case "EXECUTE":
                return await self.describe(self._named(statement))
            case "FETCH":
                return self.cursors[fetched(statement)[1]].fields
            case "SHOW" if statement.words[1] not in _SHOWN:
                return [Field(statement.words[-1].lower(), TEXT)]
            case word if word in _QUESTIONS or word == "SHOW":
                return await self._work(self.questions.fields, statement, samples(prepared.oids), self._signal)
        return None

    async def _done(self, statement: ClientStatement, args: Args, is_last: bool) -> Outcome:
        word, *rest = statement.words
        if word == "DECLARE" and "CURSOR" not in rest:
            return await self._define(statement, args, is_last)
        return await self._doers.get(word, self._define)(statement, args, is_last)

    # Changes

    async def _change(self, statement: ClientStatement, args: Args, is_last: bool) -> Done:
        """Change a table: as an epoch of its own, or in the transaction that is open."""
        self._refuse_read_only(statement)
        tag = _CHANGES[statement.words[0]]
        is_alone = self.block.status == "I" and self.block.transaction is None and is_last
        transaction = self.block.opened()
        effects = await self._work(self._added, transaction, statement, args)
        if is_alone:
            return Done(tag.format(await self.block.commit(self._signal)))
        return Done(tag.format(await self._work(self.block.affected, effects, is_last, self._signal)))

    def _added(self, transaction: Transaction, statement: ClientStatement, args: Args) -> list[Effect]:
        effects = self.questions.planned(statement, args).changes
        for effect in effects:
            transaction.add(effect)
        return effects

    async def _bracket(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        tag = await self.block.bracket(statement, self._signal)
        if self.block.status == "I":
            self.settings.begin()
            self.cursors.end_transaction()
        elif tag == "BEGIN":
            self.settings.begin(statement.words)
        return Done(tag)

    def _refuse_read_only(self, statement: ClientStatement) -> None:
        if self.settings.is_read_only(self.block.status == "T"):
            message = f"cannot execute {statement.words[0]} in a read-only transaction"
            raise statement.error(0, message, "READ WRITE begins another one", "25006")

    async def _define(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        """Definitions take effect at once; those of a transaction do not wait for its end."""
        self._refuse_read_only(statement)
        await self.synchronize()
        if self.block.transaction is not None:
            message = "definitions cannot follow changes of tables in one transaction"
            raise statement.error(0, message, "COMMIT first: definitions take effect at once", "25001")
        if statement.begins("CREATE", "SCHEMA") and statement.words[-1].lower() == "public":
            return Done("CREATE SCHEMA")
        evolutions = await asyncio.wrap_future(self.service.writer.run(lambda: self._evolved(statement), self._signal))
        if self.block.status == "T" and evolutions:
            self.notices.append("definitions take effect at once: ROLLBACK does not undo them")
        return Done(_tag(statement))

    def _evolved(self, statement: ClientStatement) -> list[Evolution]:
        planned = self.questions.planned(self._altered(statement), ())
        return [each for each in self.service.pipeline.run_planned(planned) if isinstance(each, Evolution)]

    def _altered(self, statement: ClientStatement) -> ClientStatement:
        """ALTER TABLE of a view, as PostgreSQL's clients rename it, is ALTER VIEW."""
        if not statement.begins("ALTER", "TABLE"):
            return statement
        name, _ = statement.name(4 if statement.words[2:4] == ["IF", "EXISTS"] else 2)
        is_view = any(each.lower() == name.lower() for each in self.service.pipeline.catalog.view_schemas)
        return replace(statement, said={1: "VIEW"}) if is_view else statement

    # Settings

    async def _set(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        word, *rest = statement.words
        if word == "SET":
            name, value = assignment(statement)
            if value is not None:
                self.settings.set(name, value)
                return Done("SET")
        else:
            name = (
                "all" if word == "DISCARD" or rest == ["ALL"] else "".join(token.text for token in statement.tokens[1:])
            )
        self.settings.reset(name)
        if word == "DISCARD":
            self.prepared.clear()
            return Done("DISCARD ALL")
        return Done(word)

    async def _show(self, statement: ClientStatement, args: Args, is_last: bool) -> Outcome:
        word, *rest = [*statement.words[1:], ""]
        if word in _SHOWN:
            return await self._question(statement, args, is_last)
        if word == "ALL":
            names, values = zip(*sorted(self.settings), strict=True)
            return ResultRows.of_texts({"name": names, "setting": values, "description": [""] * len(names)})
        name = " ".join([word, *rest[:-1]]).lower() if word in ("TIME", "TRANSACTION") else word
        return ResultRows.of_texts({statement.words[-1].lower(): [self.settings[name]]}, "SHOW")

    async def _nothing(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        return Done(statement.words[0])

    async def _refused(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        word = statement.words[0]
        raise statement.error(0, f"{word} is not supported", _REFUSED[word], "0A000")

    # Questions

    async def _question(self, statement: ClientStatement, args: Args, _is_last: bool) -> ResultRows:
        return await self._work(self.questions.answer, statement, args, self._signal)

    async def _work(self, work: Callable[..., T], *args: Any) -> T:
        return await self.service.in_thread(work, *args)

    # Prepared statements and cursors

    def _named(self, statement: ClientStatement) -> ParsedStatement:
        name = statement.part(1).tokens[0].text
        if (prepared := self.prepared.get(name)) is None:
            raise statement.error(1, f'prepared statement "{name}" does not exist', sqlstate="26000")
        return prepared

    async def _prepare(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        """PREPARE name (types) AS statement."""
        if "AS" not in statement.words:
            raise statement.error(len(statement.words) - 1, "expected PREPARE name AS statement")
        prepared = await self.prepare(statement.part(statement.words.index("AS") + 1))
        self.prepared[statement.tokens[1].text] = prepared
        return Done("PREPARE")

    async def _execute(self, statement: ClientStatement, _args: Args, is_last: bool) -> Outcome:
        """EXECUTE name (values)."""
        prepared = self._named(statement)
        values: Sequence[Any] = ()
        if len(statement.tokens) > 3:
            (asked,) = statements(f"SELECT {statement.part(3, -1).text}")
            answer = await self._work(self.questions.answer, asked, (), self._signal)
            values = [column[0].as_py() for column in answer.table.columns]
        if len(values) != len(prepared.oids):
            raise statement.error(1, f"there are {len(values)} values for {len(prepared.oids)} parameters")
        return await self._done(prepared.statement, values, is_last)

    async def _deallocate(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Done:
        if statement.words[-1] == "ALL":
            self.prepared.clear()
        else:
            self.prepared.pop(statement.tokens[-1].text, None)
        return Done("DEALLOCATE")

    async def _declare(self, statement: ClientStatement, args: Args, _is_last: bool) -> Done:
        """DECLARE name CURSOR FOR question."""
        if "FOR" not in statement.words:
            raise statement.error(len(statement.words) - 1, "expected DECLARE name CURSOR FOR question")
        outcome = await self._done(statement.part(statement.words.index("FOR") + 1), args, False)
        if not isinstance(outcome, ResultRows | FollowedView):
            raise statement.error(0, "a cursor is FOR a question or SUBSCRIBE")
        self.cursors.declare(statement.tokens[1].text, outcome)
        return Done("DECLARE CURSOR")

    async def _cursor(self, statement: ClientStatement, _args: Args, _is_last: bool) -> Outcome:
        return await self._work(self.cursors.move, statement)

    # Subscriptions and copies

    async def _subscribe(self, statement: ClientStatement, _args: Args, _is_last: bool) -> FollowedView:
        """SUBSCRIBE TO view [SINCE epoch]: the present rows and then changes, or the changes alone."""
        name, since = _subscribed(statement)
        found = self.questions.relation(name)
        fields = followed(self.questions.schema(found))
        if since is not None:
            empty = self.questions.schema(found).to_arrow().empty_table()
            return FollowedView(fields, self.service.subscribe(found, since, self.client.name), since, empty)
        seen = self.service.pipeline.snapshot()
        follower = self.service.subscribe(found, seen.epoch, self.client.name)
        return FollowedView(fields, follower, seen.epoch, await self._work(lambda: seen[found].to_arrow()))

    async def _copy(self, statement: ClientStatement, args: Args, _is_last: bool) -> Outcome:
        copy = copy_of(statement)
        if copy.query is not None:
            outcome = await self._done(copy.query, args, False)
            if not isinstance(outcome, ResultRows | FollowedView):
                raise statement.error(1, "COPY takes a question or SUBSCRIBE between its brackets")
            return CopyOut(outcome, copy.options)
        name = self.questions.relation(copy.table)
        types = {column.name.lower(): column for column in self.questions.schema(name)}
        if unknown := [each for each in copy.columns if each.lower() not in types]:
            raise PostgresError("42703", f"there is no column {unknown[0]} in {name}")
        chosen = [types[each.lower()] for each in copy.columns] or list(types.values())
        fields = [Field.of(column.name, column.type) for column in chosen]
        if copy.is_in:
            self._refuse_read_only(statement)
            require(self.client.user, Role.WRITER, "a change of a table")
            return CopyIn(name, fields, copy.options)
        names = ", ".join(quoted(field.name) for field in fields)
        (asked,) = statements(f"SELECT {names} FROM {quoted(name)}")
        return CopyOut(await self._work(self.questions.answer, asked, (), self._signal), copy.options)

    async def copied(self, copy: CopyIn, rows: pa.Table) -> Done:
        """Insert the rows of a COPY."""
        is_alone = self.block.status == "I" and self.block.transaction is None
        with span("PostgreSQL COPY data", headers={}):
            await self._work(self.block.opened().insert, copy.table, rows)
            if is_alone:
                await self.block.commit(self._signal)
        return Done(f"COPY {len(rows)}")


def _subscribed(statement: ClientStatement) -> tuple[str, int | None]:
    """Return the view of SUBSCRIBE [TO] view [SINCE epoch], and the epoch."""
    name, place = statement.name(2 if statement.words[1:2] == ["TO"] else 1)
    rest = statement.words[place:]
    if rest and not (len(rest) == 2 and rest[0] == "SINCE" and rest[1].isdecimal()):
        raise statement.error(place, "expected SUBSCRIBE TO view, or SUBSCRIBE TO view SINCE epoch")
    return name, int(rest[1]) if rest else None


def _tag(statement: ClientStatement) -> str:
    """Return the tag of a definition: CREATE TABLE, DROP VIEW."""
    words = [word for word in statement.words[:6] if word not in ("OR", "REPLACE", "TEMPORARY", "RECURSIVE")]
    return " ".join(words[: 3 if words[1:2] == ["MATERIALIZED"] else 2])


def _with_place(error: DelticError | MemoryError, statement: ClientStatement) -> PostgresError:
    def place(finding: Diagnostic) -> int:
        return statement.deltic.position(finding.line, finding.column) if finding.column else 0

    return postgres_error(error, place)

"""A connection: the order of messages from the first to the last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa
from pygwire import messages as wire
from pygwire.constants import TransactionStatus

from deltic.errors import DelticError
from deltic.server.following import CutOffError
from deltic.server.postgres.codec import load, rows_of
from deltic.server.postgres.copying import copied_in, copied_out, copied_rows
from deltic.server.postgres.cursors import OpenCursor
from deltic.server.postgres.dialect import statements
from deltic.server.postgres.errors import PostgresError, postgres_error
from deltic.server.postgres.messages import Disconnected, MessageStream, Request
from deltic.server.postgres.outcomes import CopyIn, CopyOut, Done, FollowedView, Outcome, ResultRows
from deltic.server.postgres.session import ClientSession, ParsedStatement
from deltic.server.postgres.types import Field

_LOG = logging.getLogger("deltic.server.postgres")
_ROWS = 4096
"""This many rows are encoded at once."""
_VALUES = 256
"""This many values are encoded in less time than another thread takes to wake up."""


@dataclass
class Portal:
    """A prepared statement with values; its answer, once it was asked for, as a cursor."""

    prepared: ParsedStatement | None
    args: Sequence[object]
    forms: Sequence[int]
    cursor: OpenCursor | None = None
    outcome: Outcome | None = None


class Connection:
    """Serves an authenticated client until it leaves; `close` releases its resources."""

    def __init__(self, stream: MessageStream, session: ClientSession, secret: bytes) -> None:
        self._stream, self._session, self._secret = stream, session, secret
        self._portals: dict[str, Portal] = {}
        self._is_skipping = False
        self._following: asyncio.Event | None = None

    async def serve(self) -> None:
        """Answer messages until the client leaves."""
        await self._stream.send(wire.BackendKeyData(self._session.client.process, self._secret))
        await self._ready()
        while not isinstance(message := await self._stream.receive(), wire.Terminate):
            await self._answer(message)

    def cancel(self) -> None:
        """Cancel the running statement."""
        self._session.cancel()
        if self._following is not None:
            self._following.set()

    def close(self) -> None:
        """Release everything; uncommitted changes are discarded."""
        self._session.close()

    async def _answer(self, message: Request) -> None:
        match message:
            case wire.Query():
                await self._attempt(self._simple(message.query_string))
                await self._ready()
            case wire.Sync():
                if not self._is_skipping:
                    await self._attempt(self._session.synchronize())
                self._is_skipping = False
                await self._ready()
            case wire.Flush():
                await self._stream.flush()
            case wire.CopyData() | wire.CopyDone() | wire.CopyFail():
                pass
            case wire.FunctionCall():
                error = PostgresError("0A000", "calls by the function call protocol are not supported")
                await self._refuse(error)
                await self._ready()
            case _ if not self._is_skipping:
                self._is_skipping = not await self._attempt(self._extended(message))

    async def _attempt(self, work: Awaitable[None]) -> bool:
        """Await something, and send its error to the client; return whether it succeeded."""
        try:
            await work
        except (DelticError, MemoryError) as error:
            await self._refuse(postgres_error(error))
        except (Disconnected, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 the client is told, and the connection goes on
            _LOG.exception("a statement of %s ended by an error of Deltic's", self._session.client.name)
            await self._refuse(postgres_error(error))
        else:
            return True
        return False

    async def _refuse(self, error: PostgresError) -> None:
        self._session.block.fail()
        await self._stream.send(wire.ErrorResponse(error.fields))

    async def _ready(self) -> None:
        """Send notices, changed settings, and that the server is ready for the next statement."""
        for notice in self._session.notices:
            await self._stream.send(wire.NoticeResponse({"S": "WARNING", "V": "WARNING", "C": "01000", "M": notice}))
        self._session.notices.clear()
        await self._stream.send(*(wire.ParameterStatus(*each) for each in self._session.settings.news()))
        if self._session.block.status == "I":
            self._portals.clear()
        await self._stream.send(wire.ReadyForQuery(TransactionStatus(self._session.block.status)))
        await self._stream.flush()

    # Simple queries

    async def _simple(self, text: str) -> None:
        """Run the statements of a text in order; outside of BEGIN they are one transaction."""
        parts = statements(text)
        if not parts:
            await self._stream.send(wire.EmptyQueryResponse())
        for number, statement in enumerate(parts, 1):
            prepared = await self._session.prepare(statement)
            if prepared.oids:
                raise PostgresError("42P02", "there is no parameter $1", hint="send the values beside the text")
            outcome = await self._session.run(prepared, (), number == len(parts))
            await self._send_outcome(outcome, [0], described=False)
        await self._session.synchronize()

    # Extended queries

    async def _extended(self, message: Request) -> None:
        match message:
            case wire.Parse():
                await self._parse(message)
            case wire.Bind():
                await self._bind(message)
            case wire.Describe():
                await self._describe(message)
            case wire.Execute():
                await self._execute(message)
            case wire.Close():
                (self._portals if message.kind == "P" else self._session.prepared).pop(message.name, None)
                await self._stream.send(wire.CloseComplete())

    async def _parse(self, message: wire.Parse) -> None:
        parts = statements(message.query)
        if len(parts) > 1:
            raise PostgresError("42601", "cannot insert multiple commands into a prepared statement")
        known = self._session.prepared
        if message.statement and message.statement in known:
            raise PostgresError("42P05", f'prepared statement "{message.statement}" already exists')
        known[message.statement] = await self._session.prepare(parts[0], message.param_types) if parts else None
        await self._stream.send(wire.ParseComplete())

    def _statement(self, name: str) -> ParsedStatement | None:
        if name not in self._session.prepared:
            raise PostgresError("26000", f'prepared statement "{name}" does not exist')
        return self._session.prepared[name]

    async def _bind(self, message: wire.Bind) -> None:
        prepared = self._statement(message.statement)
        oids = prepared.oids if prepared is not None else ()
        if len(message.param_values) != len(oids):
            reason = f"bind message supplies {len(message.param_values)} parameters, but {len(oids)} are required"
            raise PostgresError("08P01", reason)
        forms = _of_each(message.param_formats, len(oids))
        values = zip(oids, forms, message.param_values, strict=True)
        args = [None if data is None else load(oid, form, data) for oid, form, data in values]
        self._portals[message.portal] = Portal(prepared, args, message.result_formats)
        await self._stream.send(wire.BindComplete())

    def _portal(self, name: str) -> Portal:
        if name in self._portals:
            return self._portals[name]
        if name in self._session.cursors:
            return Portal(None, (), (), self._session.cursors[name])
        raise PostgresError("34000", f'portal "{name}" does not exist')

    async def _describe(self, message: wire.Describe) -> None:
        forms: Sequence[int] = ()
        if message.kind == "S":
            prepared = self._statement(message.name)
            await self._stream.send(wire.ParameterDescription(list(prepared.oids) if prepared is not None else []))
            fields = await self._session.describe(prepared) if prepared is not None else None
        else:
            portal = self._portal(message.name)
            forms = portal.forms
            fields = await self._fields(portal)
        await self._stream.send(_description(fields, forms) if fields is not None else wire.NoData())

    async def _fields(self, portal: Portal) -> Sequence[Field] | None:
        if portal.cursor is not None:
            return portal.cursor.fields
        return await self._session.describe(portal.prepared) if portal.prepared is not None else None

    async def _execute(self, message: wire.Execute) -> None:
        portal = self._portal(message.portal)
        if portal.prepared is None and portal.cursor is None:
            await self._stream.send(wire.EmptyQueryResponse())
            return
        if portal.outcome is None:
            assert portal.prepared is not None
            outcome = await self._session.run(portal.prepared, portal.args, self._stream.is_next(b"S"))
            portal.outcome = _as_described(outcome, portal.prepared)
        if isinstance(portal.outcome, ResultRows) and message.max_rows:
            await self._send_part(portal, portal.outcome, message.max_rows)
        else:
            await self._send_outcome(portal.outcome, portal.forms, described=True)

    async def _send_part(self, portal: Portal, answer: ResultRows, count: int) -> None:
        """Send the next rows of a portal, and whether more are left."""
        portal.cursor = portal.cursor or OpenCursor(answer)
        part = portal.cursor.take(count)
        await self._send_rows(ResultRows(answer.fields, part), portal.forms)
        is_done = portal.cursor.is_done
        await self._stream.send(
            wire.CommandComplete(f"{answer.tag} {len(part)}") if is_done else wire.PortalSuspended()
        )

    # Outcomes

    async def _send_outcome(self, outcome: Outcome, forms: Sequence[int], described: bool) -> None:
        match outcome:
            case Done():
                await self._stream.send(wire.CommandComplete(outcome.tag))
            case ResultRows():
                if not described:
                    await self._stream.send(_description(outcome.fields, forms))
                await self._send_rows(outcome, forms)
                count = "" if outcome.tag == "SHOW" else f" {len(outcome.table)}"
                await self._stream.send(wire.CommandComplete(outcome.tag + count))
            case FollowedView():
                if not described:
                    await self._stream.send(_description(outcome.fields, forms))
                await self._follow(outcome, lambda table: self._encoded(outcome.fields, table, forms))
            case CopyOut():
                await self._copy_out(outcome)
            case CopyIn():
                await self._copy_in(outcome)

    async def _send_rows(self, answer: ResultRows, forms: Sequence[int]) -> None:
        messages = self._encoded(answer.fields, answer.table, forms)
        if answer.table.num_rows * len(answer.fields) <= _VALUES:
            await self._stream.send(b"".join(messages))
        else:
            await self._send_all(messages)

    def _encoded(self, fields: Sequence[Field], table: pa.Table, forms: Sequence[int]) -> Iterator[bytes]:
        rows = rows_of(table, fields, _of_each(forms, len(fields)))
        return (wire.DataRow(list(row)).to_wire() for row in rows)

    async def _send_all(self, messages: Iterator[bytes]) -> None:
        """Send many messages, made in another thread, as fast as the client reads them."""
        in_thread = self._session.service.in_thread
        while part := await in_thread(lambda: b"".join(islice(messages, _ROWS))):
            await self._stream.send(part)

    async def _copy_out(self, outcome: CopyOut) -> None:
        answer, options = outcome.answer, outcome.options
        await self._stream.send(wire.CopyOutResponse(options.code, [options.code] * len(answer.fields)))
        copied = copied_out if isinstance(answer, ResultRows) else copied_rows

        def encode(table: pa.Table) -> Iterator[bytes]:
            return (wire.CopyData(row).to_wire() for row in copied(table, answer.fields, options))

        if isinstance(answer, FollowedView):
            await self._follow(answer, encode)
        else:
            await self._send_all(encode(answer.table))
            await self._stream.send(wire.CopyDone(), wire.CommandComplete(f"COPY {len(answer.table)}"))

    async def _copy_in(self, copy: CopyIn) -> None:
        options = copy.options
        await self._stream.send(wire.CopyInResponse(options.code, [options.code] * len(copy.fields)))
        await self._stream.flush()
        data = await self._copied()
        schema = self._session.questions.schema(copy.table)
        rows = await self._session.service.in_thread(copied_in, data, copy.fields, options, schema)
        done = await self._session.copied(copy, rows)
        await self._stream.send(wire.CommandComplete(done.tag))

    async def _copied(self) -> bytes:
        """Return the client's data up to the end of the copy. Raises PostgresError where it cancels the copy."""
        data, most = bytearray(), self._session.service.limits.body_bytes
        while True:
            match await self._stream.receive():
                case wire.CopyData(part):
                    if len(data) <= most:
                        data += part
                case wire.CopyDone() if len(data) > most:
                    hint = "copy in parts, or let the server allow more with --max-body"
                    raise PostgresError(
                        "54000", f"the copy has more than the {most:,} bytes that it may have", hint=hint
                    )
                case wire.CopyDone():
                    return bytes(data)
                case wire.CopyFail(reason):
                    raise PostgresError("57014", f"COPY from stdin failed: {reason}")
                case wire.Flush() | wire.Sync():
                    pass
                case other:
                    raise PostgresError("08P01", f"unexpected {type(other).__name__} in a copy", severity="FATAL")

    async def _follow(self, following: FollowedView, encode: Callable[[pa.Table], Iterator[bytes]]) -> None:
        """Send changes as they arrive, until the statement is cancelled or the client is gone."""
        self._following = asyncio.Event()
        sending = asyncio.ensure_future(self._send_changes(following, encode))
        others = [asyncio.ensure_future(self._following.wait()), asyncio.ensure_future(self._stream.end())]
        try:
            await asyncio.wait([sending, *others], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            if others[1].done():
                others[1].result()
        except CutOffError as error:
            raise PostgresError("54000", str(error), hint=f"SINCE {error.position} was the last") from error
        finally:
            self._following = None
            following.follower.close()
            for task in (sending, *others):
                task.cancel()
            await asyncio.gather(sending, *others, return_exceptions=True)
        raise PostgresError("57014", "canceling statement due to user request")

    async def _send_changes(self, following: FollowedView, encode: Callable[[pa.Table], Iterator[bytes]]) -> None:
        await self._stream.flush()
        async for table in following.changes():
            await self._send_all(encode(table))
            await self._stream.flush()


def _as_described(outcome: Outcome, prepared: ParsedStatement) -> Outcome:
    """Rows in the types that the client was given, which it reads them by. Raises PostgresError where that cannot be.

    They may be others than those of the answer: a parameter's value has the least type of its values.
    """
    if not isinstance(outcome, ResultRows) or prepared.fields is None:
        return outcome
    if len(prepared.fields) != len(outcome.fields):
        hint = "prepare it again: a definition has changed"
        raise PostgresError("0A000", "cached plan must not change result type", hint=hint)
    return replace(outcome, fields=prepared.fields)


def _of_each(forms: Sequence[int], count: int) -> Sequence[int]:
    """Return the format of each value: one for all, one for each, or text. Raises PostgresError."""
    result = [*forms] * count if len(forms) == 1 else [*forms] or [0] * count
    if len(result) != count or not set(result) <= {0, 1}:
        raise PostgresError("08P01", f"{len(forms)} format codes for {count} values")
    return result


def _description(fields: Sequence[Field], forms: Sequence[int]) -> wire.RowDescription:
    each = zip(fields, _of_each(forms, len(fields)), strict=True)
    return wire.RowDescription(
        [wire.FieldDescription(field.name, 0, 0, field.oid, field.size, field.modifier, form) for field, form in each]
    )

"""The server of PostgreSQL's protocol, in a thread of its own: it accepts, serves and cancels clients."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Coroutine
from itertools import count
from threading import Thread
from typing import Any, TypeVar

from pygwire import messages as wire

from deltic.errors import DelticError
from deltic.server.listening import Address, Tls
from deltic.server.postgres.authentication import authenticate
from deltic.server.postgres.catalog.answers import PostgresCatalog
from deltic.server.postgres.connection import Connection
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.messages import Disconnected, MessageStream
from deltic.server.postgres.session import ClientSession
from deltic.server.postgres.settings import Client, Settings
from deltic.server.service import Service
from deltic.server.users import Users

T = TypeVar("T")
_PATIENCE = 60.0
"""The seconds in which a client has to say who it is."""


class Clients:
    """The clients of a service that are connected.

    Without `users` every client is believed to be an owner. With `tls` clients may encrypt their connections, and have
    to where there are users.
    """

    def __init__(self, service: Service, users: Users | None, tls: ssl.SSLContext | None) -> None:
        self._service, self._users, self._tls = service, users, tls
        self._catalog = PostgresCatalog()
        self._connections: dict[int, tuple[bytes, Connection]] = {}
        self._processes = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client until it leaves."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        address, *_ = writer.get_extra_info("peername") or ("unknown",)
        stream = MessageStream(reader, writer, str(address), self._service.limits.body_bytes)
        try:
            await self._serve(stream)
        except PostgresError as error:
            await _tell(stream, error)
        except (Disconnected, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, stream: MessageStream) -> None:
        async with asyncio.timeout(_PATIENCE):
            session = await self._introduced(stream)
        if session is None:
            return
        secret = secrets.token_bytes(4)
        connection = Connection(stream, session, secret)
        self._connections[session.client.process] = secret, connection
        try:
            await connection.serve()
        finally:
            del self._connections[session.client.process]
            connection.close()

    async def _introduced(self, stream: MessageStream) -> ClientSession | None:
        """Authenticate the client; None for one that only cancels. Raises PostgresError."""
        is_encrypted = False
        while isinstance(message := await stream.startup(), wire.SSLRequest | wire.GSSEncRequest):
            encrypts = self._tls is not None and isinstance(message, wire.SSLRequest) and not is_encrypted
            await stream.send(b"S" if encrypts else b"N")
            await stream.flush()
            if encrypts:
                assert self._tls is not None
                await stream.encrypt(self._tls)
                is_encrypted = True
        if isinstance(message, wire.CancelRequest):
            self._cancel(message)
            return None
        return await self._known(stream, message, is_encrypted)

    async def _known(self, stream: MessageStream, message: wire.StartupMessage, is_encrypted: bool) -> ClientSession:
        given = dict(message.params)
        name = given.pop("user", "")
        if not name:
            raise PostgresError("28000", "no user name is given in the startup packet", severity="FATAL")
        if self._users is not None and self._tls is not None and not is_encrypted:
            hint = "connect with sslmode=require"
            raise PostgresError("28000", "passwords are taken on encrypted connections", hint=hint, severity="FATAL")
        if len(self._connections) >= self._service.limits.connections:
            raise PostgresError("53300", "sorry, too many clients already", severity="FATAL")
        user = await authenticate(stream, name, self._users)
        database = given.pop("database", name)
        given = {name: value for name, value in given.items() if name not in ("options", "replication")}
        client = Client(name, user, stream.address, database, next(self._processes), Settings(name, given))
        return ClientSession(self._service, self._catalog, client)

    def _cancel(self, message: wire.CancelRequest) -> None:
        secret, connection = self._connections.get(message.process_id, (b"", None))
        if connection is not None and secrets.compare_digest(secret, message.secret_key):
            connection.cancel()


class PostgresServer:
    """Serves a service at an address until `stop`, or the end of a with-block; `address` is where.

    Without `users` every client is an owner. With `tls` clients may encrypt their connections, and have to where there
    are users. Raises DelticError where the address is taken, or the certificate is none.
    """

    def __init__(self, service: Service, address: Address, users: Users | None = None, tls: Tls | None = None) -> None:
        self._clients = Clients(service, users, None if tls is None else _context(tls))
        bound = address.bound()
        self.address = Address(address.host, bound.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="deltic postgres", daemon=True)
        self._thread.start()
        listening = asyncio.start_server(self._clients.connected, sock=bound, backlog=1024)
        self._listening: asyncio.Server = self._do(listening)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Refuse new connections, and end the open ones: what was not committed is not kept."""
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._listening.close()
        await self._clients.close()

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise DelticError(f"{tls.certificate} and {tls.key} are no certificate and its key in PEM: {error}") from None
    return context


async def _tell(stream: MessageStream, error: PostgresError) -> None:
    """Send an error that ends the connection."""
    try:
        await stream.send(wire.ErrorResponse(error.fields))
        await stream.flush()
    except Disconnected:
        pass

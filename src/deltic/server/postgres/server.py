"""The server of PostgreSQL's protocol, in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from deltic.errors import DelticError
from deltic.server.listening import Address, Tls
from deltic.server.postgres.clients import Clients

if TYPE_CHECKING:
    from deltic.server.service import Service
    from deltic.server.users import Users

T = TypeVar("T")


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
        """Take no more connections, and end those that there are: what was not committed is not kept."""
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

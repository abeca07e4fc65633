"""Messages of the protocol between a client's socket and this process; their formats are pygwire's."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Mapping
from typing import TypeVar, get_args

from pygwire import messages as wire
from pygwire.exceptions import ProtocolError

from deltic.server.postgres.errors import PostgresError

T = TypeVar("T", bound=wire.PGMessage)
S = TypeVar("S", wire.SASLInitialResponse, wire.SASLResponse)
_Copied = wire.CopyData | wire.CopyDone | wire.CopyFail
_Asked = wire.Bind | wire.Close | wire.Describe | wire.Execute | wire.Parse | wire.Query
Request = _Copied | _Asked | wire.Flush | wire.FunctionCall | wire.Sync
_KINDS: Mapping[bytes, type[Request | wire.Terminate]] = {
    kind.identifier: kind for kind in (*get_args(Request), wire.Terminate)
}
Startup = wire.SSLRequest | wire.GSSEncRequest | wire.CancelRequest | wire.StartupMessage
_STARTUP: Mapping[int, type[Startup]] = {
    80877102: wire.CancelRequest,
    80877103: wire.SSLRequest,
    80877104: wire.GSSEncRequest,
    0x00030000: wire.StartupMessage,
    0x00030002: wire.StartupMessage,
}
_LONGEST_STARTUP = 10_000
_READ, _WRITE = 1 << 16, 1 << 18


class Disconnected(Exception):
    """The client is gone or sent an invalid message."""


class MessageStream:
    """Reads messages one by one, and writes them when `flush` is called or many bytes have gathered.

    `address` is that of the client, `longest` the maximum size of a message in bytes.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, longest: int) -> None:
        self._reader, self._writer, self.address, self._longest = reader, writer, address, longest
        self._read, self._written = bytearray(), bytearray()

    async def startup(self) -> Startup:
        """Return the first message, or the one after a question for encryption."""
        length, code = struct.unpack("!II", await self._take(8, _LONGEST_STARTUP))
        body = await self._take(length - 8, _LONGEST_STARTUP)
        if code not in _STARTUP:
            message = f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}: the server has 3.0 and 3.2"
            raise PostgresError("0A000", message, severity="FATAL")
        return _decoded(_STARTUP[code], struct.pack("!I", code) + body)

    async def password(self, kind: type[S]) -> S:
        """Return the client's response to a password request."""
        identifier, body = await self._message(_LONGEST_STARTUP)
        if identifier != b"p":
            raise _violation(f"expected a password, found a message {identifier!r}")
        return _decoded(kind, body)

    async def receive(self) -> Request | wire.Terminate:
        """Return the next message. Raises Disconnected, and PostgresError for an invalid message."""
        identifier, body = await self._message(self._longest)
        if identifier not in _KINDS:
            raise _violation(f"there is no message {identifier!r}")
        return _decoded(_KINDS[identifier], body)

    def is_next(self, identifier: bytes) -> bool:
        """Return whether a message of this kind has come already, and is the next."""
        return self._read[:1] == identifier

    async def end(self) -> None:
        """Wait until the client is gone, and keep what it sends before. Raises Disconnected then, or for too much."""
        while len(self._read) <= self._longest:
            await self._fill()
        raise Disconnected

    async def _message(self, longest: int) -> tuple[bytes, bytes]:
        identifier, length = struct.unpack("!cI", await self._take(5, longest))
        return identifier, await self._take(length - 4, longest)

    async def _take(self, count: int, longest: int) -> bytes:
        if not 0 <= count <= longest:
            raise _violation(f"a message of {count:,} bytes: {longest:,} are the most")
        while len(self._read) < count:
            await self._fill()
        result = bytes(self._read[:count])
        del self._read[:count]
        return result

    async def _fill(self) -> None:
        try:
            data = await self._reader.read(_READ)
        except (ConnectionError, TimeoutError) as error:
            raise Disconnected from error
        if not data:
            raise Disconnected
        self._read += data

    async def send(self, *messages: wire.PGMessage | bytes) -> None:
        """Write messages, or bytes that are some; waits where the client does not read them."""
        for message in messages:
            self._written += message if isinstance(message, bytes) else message.to_wire()
        if len(self._written) >= _WRITE:
            await self.flush()

    async def flush(self) -> None:
        """Send buffered messages."""
        written, self._written = bytes(self._written), bytearray()
        try:
            self._writer.write(written)
            await self._writer.drain()
        except (ConnectionError, TimeoutError) as error:
            raise Disconnected from error

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Switch to TLS. Raises Disconnected where the client fails to, or has already sent plain text."""
        if self._read:
            raise Disconnected
        try:
            await self._writer.start_tls(context)
        except OSError as error:
            raise Disconnected from error


def _decoded(kind: type[T], body: bytes) -> T:
    try:
        return kind.decode(memoryview(body))
    except (ValueError, IndexError, struct.error, ProtocolError) as error:
        raise _violation(f"{kind.__name__} cannot be read: {error}") from None


def _violation(message: str) -> PostgresError:
    return PostgresError("08P01", f"protocol violation: {message}", severity="FATAL")

"""One request, with what every endpoint needs: the user, the relation, the body within its limits."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from starlette.requests import Request

from deltic.errors import DelticError, StoppedError
from deltic.server.service import Service
from deltic.server.users import User
from deltic.values.types import Schema

_AUDITED = 500
"""Characters of a statement in an audit line."""


class MissingError(DelticError):
    """There is no relation of that name."""


class TooLargeError(DelticError):
    """A body exceeds its limit."""


@dataclass(frozen=True)
class HttpCall:
    """A request of a user."""

    service: Service
    request: Request
    user: User
    program: str
    """What the server calls its program."""

    @property
    def name(self) -> str:
        """The table or view in the path; raises MissingError where it cannot be read."""
        self.schema()
        return str(self.request.path_params["name"])

    def schema(self) -> Schema:
        """Return the columns of that table or view."""
        try:
            return self.service.pipeline[str(self.request.path_params["name"])].schema
        except DelticError as error:
            raise MissingError(str(error)) from None

    @property
    def client(self) -> str:
        """The user and address of the client."""
        return f"{self.user.name}@{self.request.client.host if self.request.client else 'unknown'}"

    def text(self, name: str) -> str:
        """Return a query parameter; "" where it is missing."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, least: int = 0) -> int | None:
        """Return an integer query parameter; None where it is missing. Raises DelticError."""
        if not (text := self.text(name)):
            return None
        if not text.isascii() or not text.isdecimal() or int(text[:18]) < least:
            raise DelticError(f"{name} is {text!r}; it is an integer: {least} or more")
        return int(text[:18])

    def truth(self, name: str) -> bool:
        """Return a Boolean query parameter; raises DelticError."""
        if (text := self.text(name).lower()) not in ("", "true", "false", "1", "0"):
            raise DelticError(f"{name} is {text!r}; it is true or false")
        return text in ("true", "1")

    async def body(self) -> bytes:
        """Read the body; raises TooLargeError, and StoppedError past the time limit of a statement."""
        limits, parts, size = self.service.limits, [], 0
        try:
            async with asyncio.timeout(limits.seconds):
                async for part in self.request.stream():
                    size += len(part)
                    if size > limits.body_bytes:
                        raise TooLargeError(
                            f"the body has more than {limits.body_bytes:,} bytes: send it in several requests, or let "
                            "the server allow more with --max-body"
                        )
                    parts.append(part)
        except TimeoutError:
            raise StoppedError(f"the body did not come within {limits.seconds:g} s; nothing was changed") from None
        return b"".join(parts)

    def audited(self, statement: str) -> None:
        """Enter the beginning of a statement in the request's audit line."""
        self.request.state.statement = f": {' '.join(statement[:_AUDITED].split())}"

    @property
    def key(self) -> str:
        """The idempotency key; "" where there is none."""
        return self.request.headers.get("idempotency-key", "")

    def digest(self, body: bytes) -> str:
        """Return a text that is equal for equal requests."""
        about = f"{self.request.url.path}?{self.request.url.query} {self.request.headers.get('content-type', '')}\n"
        return hashlib.sha256(about.encode() + body).hexdigest()[:32]

"""Authentication: anyone on this machine, or users with passwords by SCRAM-SHA-256 [RFC 5802, RFC 7677].

PostgreSQL's clients speak it without channel binding. The package scramp is not used for it: from 1.4.18 on it refuses
the empty user name that libpq sends, by which PostgreSQL means the one of the startup message.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from pygwire import messages as wire

from deltic.server.postgres.errors import PostgresError
from deltic.server.users import ANYONE, User, Users, verifier

if TYPE_CHECKING:
    from deltic.server.postgres.messages import MessageStream

AUDIT = logging.getLogger("deltic.audit")
_MECHANISM = "SCRAM-SHA-256"


_FIRST = re.compile(r"([ny],[^,]*,)((?:n=[^,]*),r=([!-+\--~]+)(?:,.*)?)", re.DOTALL)
_FINAL = re.compile(r"(c=([^,]*),r=([!-+\--~]+)(?:,.*)?),p=([A-Za-z0-9+/=]+)", re.DOTALL)


class ScramError(Exception):
    """A client does not prove a password."""


@dataclass
class Exchange:
    """One exchange with a client; `verifier` is PostgreSQL's: SCRAM-SHA-256$iterations:salt$stored key:server key."""

    verifier: str
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    _header: str = ""
    _messages: str = ""

    def first(self, message: str) -> str:
        """Return the answer to a client's first message. Raises ScramError."""
        if (match := _FIRST.fullmatch(message)) is None:
            raise ScramError("the first message is malformed, or asks for channel binding")
        self._header, bare, nonce = match[1], match[2], match[3]
        self.nonce = nonce + self.nonce
        iterations, _, salt = self.verifier.split("$")[1].partition(":")
        answer = f"r={self.nonce},s={salt},i={iterations}"
        self._messages = f"{bare},{answer}"
        return answer

    def final(self, message: str) -> str:
        """Return the answer to a client's last message. Raises ScramError where it does not prove the password."""
        if (match := _FINAL.fullmatch(message)) is None:
            raise ScramError("the last message is malformed")
        stored, server = (base64.b64decode(key) for key in self.verifier.split("$")[2].split(":"))
        signed = f"{self._messages},{match[1]}".encode()
        proof = base64.b64decode(match[4])
        key = bytes(a ^ b for a, b in zip(hmac.digest(stored, signed, "sha256"), proof, strict=False))
        is_proved = hmac.compare_digest(hashlib.sha256(key).digest(), stored) and len(proof) == len(stored)
        is_bound = match[2] == base64.b64encode(self._header.encode()).decode() and match[3] == self.nonce
        if not (is_proved and is_bound):
            raise ScramError("the proof is wrong")
        return f"v={base64.b64encode(hmac.digest(server, signed, 'sha256')).decode()}"


@cache
def _nobody() -> str:
    """Return the verifier for unknown users, who fail only in the last step, like a wrong password."""
    return verifier(secrets.token_urlsafe())


async def authenticate(stream: MessageStream, name: str, users: Users | None) -> User:
    """Authenticate a client; without users every client is an owner. Raises PostgresError."""
    user = ANYONE if users is None else await _exchanged(stream, name, users)
    await stream.send(wire.AuthenticationOk())
    return user


async def _exchanged(stream: MessageStream, name: str, users: Users) -> User:
    user = users.named(name)
    password = user.password if user is not None else ""
    exchange = Exchange(password or _nobody())
    try:
        await stream.send(wire.AuthenticationSASL([_MECHANISM]))
        await stream.flush()
        first = exchange.first((await stream.password(wire.SASLInitialResponse)).data.decode())
        await stream.send(wire.AuthenticationSASLContinue(first.encode()))
        await stream.flush()
        final = exchange.final((await stream.password(wire.SASLResponse)).data.decode())
        if user is None or not password:
            raise ScramError("there is no such user")
        await stream.send(wire.AuthenticationSASLFinal(final.encode()))
    except (ScramError, ValueError) as error:
        AUDIT.info("%s@%s PostgreSQL login: %s", name, stream.address, error)
        message = f'password authentication failed for user "{name}"'
        raise PostgresError("28P01", message, severity="FATAL") from None
    return user

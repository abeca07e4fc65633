"""Authentication: anyone on this machine, or users with passwords by SCRAM-SHA-256."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from pygwire import messages as wire

from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.scram import Exchange, ScramError
from deltic.server.users import ANYONE, User, Users, verifier

if TYPE_CHECKING:
    from deltic.server.postgres.messages import MessageStream

AUDIT = logging.getLogger("deltic.audit")
_MECHANISM = "SCRAM-SHA-256"


class Passwords:
    """Verifiers of passwords; an unknown user fails only in the last step, like a wrong password."""

    def __init__(self, users: Users) -> None:
        self._users, self._nobody = users, verifier(secrets.token_urlsafe())

    def known(self, name: str) -> User | None:
        """The user of a name who has a password."""
        user = self._users.named(name)
        return user if user is not None and user.password else None

    def exchange(self, name: str) -> Exchange:
        """The server's part of one exchange with a client."""
        user = self.known(name)
        return Exchange(self._nobody if user is None else user.password)


async def authenticate(stream: MessageStream, name: str, passwords: Passwords | None) -> User:
    """Authenticate a client; without passwords every client is an owner. Raises PostgresError."""
    user = ANYONE if passwords is None else await _exchanged(stream, name, passwords)
    await stream.send(wire.AuthenticationOk())
    return user


async def _exchanged(stream: MessageStream, name: str, passwords: Passwords) -> User:
    exchange = passwords.exchange(name)
    try:
        await stream.send(wire.AuthenticationSASL([_MECHANISM]))
        await stream.flush()
        first = exchange.first((await stream.password(wire.SASLInitialResponse)).data.decode())
        await stream.send(wire.AuthenticationSASLContinue(first.encode()))
        await stream.flush()
        final = exchange.final((await stream.password(wire.SASLResponse)).data.decode())
        if (user := passwords.known(name)) is None:
            raise ScramError("there is no such user")
        await stream.send(wire.AuthenticationSASLFinal(final.encode()))
    except (ScramError, ValueError) as error:
        AUDIT.info("%s@%s PostgreSQL login: %s", name, stream.address, error)
        message = f'password authentication failed for user "{name}"'
        raise PostgresError("28P01", message, severity="FATAL") from None
    return user

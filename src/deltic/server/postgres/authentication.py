"""Who a client is: anybody on this machine, or a user with a password, by SCRAM-SHA-256."""

from __future__ import annotations

import base64
import logging
import secrets
from typing import TYPE_CHECKING

from pygwire.messages import (
    AuthenticationOk,
    AuthenticationSASL,
    AuthenticationSASLContinue,
    AuthenticationSASLFinal,
    SASLInitialResponse,
    SASLResponse,
)

from deltic.server.postgres.errors import PostgresError
from deltic.server.users import ANYONE, User, Users

if TYPE_CHECKING:
    from scramp.core import ScramServer

    from deltic.server.postgres.messages import MessageStream

AUDIT = logging.getLogger("deltic.audit")
_MECHANISM = "SCRAM-SHA-256"


class Passwords:
    """What proves the passwords of users; a user that there is not fails in the last step only, as a wrong password."""

    def __init__(self, users: Users) -> None:
        from scramp import ScramMechanism

        self._users, self._mechanism = users, ScramMechanism(_MECHANISM)
        self._nobody = self._mechanism.make_auth_info(secrets.token_urlsafe())

    def known(self, name: str) -> User | None:
        """The user of a name who has a password."""
        user = self._users.named(name)
        return user if user is not None and user.password else None

    def exchange(self, name: str) -> ScramServer:
        """The server's part of one exchange with a client."""
        user = self.known(name)
        proof = self._nobody if user is None else _proof(user.password)
        return self._mechanism.make_server(lambda _: proof)


def _proof(verifier: str) -> tuple[bytes, bytes, bytes, int]:
    """Salt, stored key, server key and iterations, from PostgreSQL's form of them."""
    _, first, second = verifier.split("$")
    iterations, _, salt = first.partition(":")
    stored, _, server = second.partition(":")
    return base64.b64decode(salt), base64.b64decode(stored), base64.b64decode(server), int(iterations)


async def authenticate(stream: MessageStream, name: str, passwords: Passwords | None) -> User:
    """Who a client is; without passwords it is believed to be an owner. Raises PostgresError."""
    user = ANYONE if passwords is None else await _exchanged(stream, name, passwords)
    await stream.send(AuthenticationOk())
    return user


async def _exchanged(stream: MessageStream, name: str, passwords: Passwords) -> User:
    from scramp import ScramException

    server = passwords.exchange(name)
    try:
        await stream.send(AuthenticationSASL([_MECHANISM]))
        await stream.flush()
        server.set_client_first((await stream.password(SASLInitialResponse)).data.decode())
        await stream.send(AuthenticationSASLContinue(server.get_server_first().encode()))
        await stream.flush()
        server.set_client_final((await stream.password(SASLResponse)).data.decode())
        if (user := passwords.known(name)) is None:
            raise ScramException("no such user")
        await stream.send(AuthenticationSASLFinal(server.get_server_final().encode()))
    except (ScramException, ValueError, TypeError):
        AUDIT.info("%s PostgreSQL login: refused", name)
        told = f'password authentication failed for user "{name}"'
        raise PostgresError("28P01", told, severity="FATAL") from None
    return user

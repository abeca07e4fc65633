"""Users with roles, from a TOML file that stores secrets only as hashes.

    [ada]
    role = "owner"
    token = "sha256:…"         # of the token for HTTP
    password = "SCRAM-SHA-256$4096:…$…:…"   # PostgreSQL's verifier

`deltic user NAME` makes such an entry. Without users everyone is an owner: that is for loopback addresses only.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from deltic.errors import DelticError

_ITERATIONS = 4096
_KNOWN = ("role", "token", "password")


class Role(IntEnum):
    """What a user may do; each role includes those before it."""

    READER = 1
    """Ask, follow views, and look at what the server does."""
    WRITER = 2
    """Change tables."""
    OWNER = 3
    """Make, alter and drop tables and views."""


@dataclass(frozen=True)
class User:
    """A user; `token` is the SHA-256 of the token in hex, `password` the verifier of SCRAM; "" where there is none."""

    name: str
    role: Role
    token: str = ""
    password: str = ""


ANYONE = User("anyone", Role.OWNER)
"""Who uses a server without users."""


class NotAllowedError(DelticError):
    """The user's role does not allow this; the message names the role that does."""


def require(user: User, role: Role, what: str) -> None:
    """Raise NotAllowedError where a user has a lesser role."""
    if user.role < role:
        raise NotAllowedError(
            f"{user.name} is a {user.role.name.lower()}, and {what} takes the role {role.name.lower()}: the file of "
            "users says who has it"
        )


class Users:
    """The users of a server by their names."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._by_name = dict(users)
        self._by_token = {user.token: user for user in users.values() if user.token}

    @classmethod
    def load(cls, path: Path) -> Users:
        """Return the users of a file; raises DelticError, which names the entry that is wrong."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DelticError(f"users {path}: {error}; `deltic user NAME` makes an entry") from None
        if not content:
            raise DelticError(f"users {path}: the file has no user; `deltic user NAME` makes an entry")
        return cls({name: _user(path, name, entry) for name, entry in content.items()})

    def named(self, name: str) -> User | None:
        """Return the user of that name."""
        return self._by_name.get(name)

    def with_token(self, token: str) -> User | None:
        """Return the user who has a token."""
        return self._by_token.get(_digest(token))


def _user(path: Path, name: str, entry: Any) -> User:
    message = f"users {path}: {name}"
    if not isinstance(entry, Mapping) or (unknown := [key for key in entry if key not in _KNOWN]):
        what = f"there is no key {unknown[0]!r}" if isinstance(entry, Mapping) else "it is no table"
        raise DelticError(f"{message}: {what}; an entry has {', '.join(_KNOWN)}")
    try:
        role = Role[str(entry.get("role", "")).upper()]
    except KeyError:
        roles = ", ".join(role.name.lower() for role in Role)
        raise DelticError(f"{message}: role is {entry.get('role')!r}; it is one of {roles}") from None
    token, password = str(entry.get("token", "")), str(entry.get("password", ""))
    if token and not token.startswith("sha256:"):
        raise DelticError(f"{message}: token is to be sha256:… of the token, as `deltic user {name}` makes it")
    if password and not password.startswith("SCRAM-SHA-256$"):
        raise DelticError(f"{message}: password is to be a SCRAM-SHA-256 verifier, as `deltic user {name}` makes it")
    return User(name, role, token.removeprefix("sha256:"), password)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def new_entry(name: str, role: Role) -> tuple[str, str]:
    """Make a new secret, which is both token and password, and its entry for a file of users."""
    secret = secrets.token_urlsafe(24)
    lines = (
        f"[{name}]",
        f'role = "{role.name.lower()}"',
        f'token = "sha256:{_digest(secret)}"',
        f'password = "{verifier(secret)}"',
    )
    return secret, "\n".join(lines) + "\n"


def verifier(password: str) -> str:
    """Return the verifier of a password for SCRAM-SHA-256, in PostgreSQL's form [RFC 5802, RFC 7677]."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    stored, kept = (base64.b64encode(key).decode() for key in (hashlib.sha256(client).digest(), server))
    return f"SCRAM-SHA-256${_ITERATIONS}:{base64.b64encode(salt).decode()}${stored}:{kept}"

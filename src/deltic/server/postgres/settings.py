"""The settings of a session: SET, SHOW and RESET."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deltic.errors import did_you_mean
from deltic.server.postgres.dialect import ClientStatement
from deltic.server.postgres.errors import PostgresError
from deltic.server.users import User

VERSION, VERSION_NUMBER = "15.0", "150000"
"""The version of PostgreSQL whose catalog clients find."""

_TOLD = (
    *("application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby"),
    *("integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version"),
    *("session_authorization", "standard_conforming_strings", "TimeZone"),
)
"""The settings whose changes are sent to the client."""
_FIXED = {
    "client_encoding": ("UTF8", "UTF-8", "UNICODE"),
    "standard_conforming_strings": ("on", "true"),
    "datestyle": ("ISO", "ISO, MDY", "ISO,MDY"),
    "intervalstyle": ("postgres",),
    "bytea_output": ("hex",),
    "search_path": ("public", '"$user", public', '"$user",public', "public,pg_catalog", ""),
}
"""Settings of which other values would change what is sent."""
_DEFAULTS = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "DateStyle": "ISO, MDY",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "off",
    "extra_float_digits": "1",
    "in_hot_standby": "off",
    "integer_datetimes": "on",
    "IntervalStyle": "postgres",
    "is_superuser": "off",
    "jit": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lock_timeout": "0",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "search_path": '"$user", public',
    "server_encoding": "UTF8",
    "server_version": VERSION,
    "server_version_num": VERSION_NUMBER,
    "session_authorization": "deltic",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "TimeZone": "UTC",
    "transaction_isolation": "serializable",
    "transaction_read_only": "off",
}
_READONLY = {"server_version", "server_version_num", "server_encoding", "integer_datetimes", "is_superuser"}
_IS_READ_ONLY, _IS_READ_ONLY_BY_DEFAULT = "transaction_read_only", "default_transaction_read_only"
_TRUTHS = {**dict.fromkeys(("on", "true", "yes", "1"), "on"), **dict.fromkeys(("off", "false", "no", "0"), "off")}
_TIME = re.compile(r"(\d+)\s*(us|ms|s|min|h|d|)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_ALIASES = {"time zone": "timezone", "transaction isolation level": "transaction_isolation", "names": "client_encoding"}


class Settings:
    """Settings by case-insensitive names."""

    def __init__(self, user: str, given: Mapping[str, str]) -> None:
        self._names = {name.lower(): name for name in _DEFAULTS}
        self._is_changed = True
        self._values = {name.lower(): value for name, value in _DEFAULTS.items()} | {"session_authorization": user}
        for name, value in given.items():
            self.set(name, value.strip("'"))  # asyncpg quotes them
        self._initial = dict(self._values)
        self._told: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """Return a value; raises PostgresError where there is no setting of that name."""
        lowered = _ALIASES.get(name.lower(), name.lower())
        if lowered not in self._values:
            hint = did_you_mean(lowered, self._values)
            raise PostgresError("42704", f'unrecognized configuration parameter "{name}"', hint=hint)
        return self._values[lowered]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Names and values."""
        return ((self._names[name], value) for name, value in self._values.items())

    def set(self, name: str, value: str) -> None:
        """Change a value; raises PostgresError for one that would not be heeded."""
        lowered = _ALIASES.get(name.lower(), name.lower())
        if lowered in _READONLY:
            raise PostgresError("55P02", f'parameter "{name}" cannot be changed')
        fixed = _FIXED.get(lowered, ())
        if fixed and value.lower() not in [each.lower() for each in fixed]:
            raise PostgresError("22023", f"{name} is {fixed[0]} here, and cannot be {value!r}")
        if lowered in (_IS_READ_ONLY, _IS_READ_ONLY_BY_DEFAULT):
            if value.lower() not in _TRUTHS:
                raise PostgresError("22023", f"{name} is on or off, and cannot be {value!r}")
            value = _TRUTHS[value.lower()]
        if lowered == "statement_timeout" and not _TIME.fullmatch(value):
            raise PostgresError("22023", f"{name} is a time such as 500ms or 2s, and cannot be {value!r}")
        self._names.setdefault(lowered, name)
        self._values[lowered] = fixed[0] if fixed and lowered != "search_path" else value
        self._is_changed = True

    def reset(self, name: str) -> None:
        """Reset one setting, or all, to the initial value."""
        self._is_changed = True
        if name.lower() == "all":
            self._values = dict(self._initial)
        elif name.lower() in self._initial:
            self._values[name.lower()] = self._initial[name.lower()]
        else:
            self._values.pop(name.lower(), None)

    @property
    def seconds(self) -> float | None:
        """The time that a statement may take; None where the client sets no limit."""
        match = _TIME.fullmatch(self["statement_timeout"])
        assert match is not None
        return int(match[1]) * _SECONDS[match[2]] or None

    def begin(self, words: Sequence[str] = ()) -> None:
        """A transaction has the mode that the words of BEGIN name, or that of the session."""
        self._values[_IS_READ_ONLY] = _mode(words) or self[_IS_READ_ONLY_BY_DEFAULT]

    def is_read_only(self, in_block: bool) -> bool:
        """Return whether nothing may be changed, within a transaction of BEGIN or outside."""
        return self[_IS_READ_ONLY if in_block else _IS_READ_ONLY_BY_DEFAULT] == "on"

    def news(self) -> list[tuple[str, str]]:
        """Return the settings to send to the client: those whose value is another one than it was sent last."""
        if not self._is_changed:
            return []
        before, self._told, self._is_changed = self._told, {name: self[name] for name in _TOLD}, False
        return [(name, value) for name, value in self._told.items() if before.get(name) != value]


def assignment(statement: ClientStatement) -> tuple[str, str | None]:
    """Return the name and value of SET, where the value may be DEFAULT: None. Raises PostgresError."""
    words = [word for word in statement.words[1:] if word not in ("SESSION", "LOCAL")]
    texts = [token.text for token in statement.tokens[-len(words) :]] if words else []
    if words[:2] == ["TIME", "ZONE"]:
        return _assigned("timezone", texts[2:])
    if words[:1] == ["NAMES"]:
        return _assigned("client_encoding", texts[1:])
    if "CHARACTERISTICS" in words or words[:1] == ["TRANSACTION"]:
        name = _IS_READ_ONLY_BY_DEFAULT if "CHARACTERISTICS" in words else _IS_READ_ONLY
        return (name, mode) if (mode := _mode(words)) else ("transaction_isolation", "serializable")
    split = next((n for n, word in enumerate(words) if word in ("=", "TO")), 0)
    if not split:
        raise statement.error(1, "expected SET name = value")
    return _assigned("".join(texts[:split]), texts[split + 1 :])


def _mode(words: Sequence[str]) -> str:
    """Return the value of transaction_read_only for the modes of a transaction; "" where none of them says it."""
    modes = " ".join(words)
    return "on" if "READ ONLY" in modes else "off" if "READ WRITE" in modes else ""


def _assigned(name: str, values: list[str]) -> tuple[str, str | None]:
    value = "".join(values).replace(",", ", ")
    return name, None if value.upper() == "DEFAULT" else value


@dataclass(frozen=True)
class Client:
    """Who a client is: its user, from which address, what it calls the database, its session's number and settings.

    `name` is that of the user as the client gives it, which is another than `user.name` where the server has no users.
    """

    name: str
    user: User
    address: str
    database: str
    process: int
    settings: Settings

"""Connections to databases by address, through Python's database interface (PEP 249)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltic.duck import in_file
from deltic.errors import CatalogError, DataError, Diagnostic, did_you_mean
from deltic.extras import required
from deltic.passwords import cause, redacted_reason
from deltic.pipeline.connectors.source import filled
from deltic.values import words

_NAME_OR_MARK = re.compile(r'"(?:[^"]|"")*"|[?%]')


@dataclass(frozen=True)
class Database:
    """A database with an open connection. The first statement starts a transaction."""

    scheme: str
    connection: Any

    def run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement, in which `?` stands for a value, and return its cursor."""
        cursor = self.connection.cursor()
        cursor.execute(self._marked(statement), values)
        return cursor

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        if rows:
            self.connection.cursor().executemany(self._marked(statement), rows)

    def _marked(self, statement: str) -> str:
        """Return the statement with the database's placeholders. Quoted names stay the same."""
        if self.scheme != "postgresql":
            return statement
        return _NAME_OR_MARK.sub(lambda result: "%s" if result[0] == "?" else result[0].replace("%", "%%"), statement)


@contextmanager
def connected(url: str, writes: bool = False, external_access: bool = False) -> Iterator[Database]:
    """Connect for the block: its end commits, an exception rolls back. The database's errors become DataErrors.

    With `external_access`, DuckDB's views may read files.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in _CONNECTS:
        hint = did_you_mean(scheme, _CONNECTS) or "it begins with sqlite:///, duckdb:///, postgresql:// or jdbc:"
        raise CatalogError(f"{url}: there is no such kind of database; {hint}")
    connect, failure = _CONNECTS[scheme]()
    address = filled(url) if scheme == "postgresql" else _file(url, filled(rest).removeprefix("/"), writes)
    try:
        with closing(connect(address, writes, external_access)) as connection:
            try:
                yield Database(scheme, connection)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
    except failure as error:
        reason = redacted_reason(str(error).strip().splitlines()[0])
        raise DataError([Diagnostic(reason, url)]) from cause(error)


def without_jdbc(url: str) -> str:
    """Return the address for Python's interface of a database with a `jdbc:` address. CatalogError if there is none."""
    if not url.startswith("jdbc:"):
        return url
    scheme, _, rest = url.removeprefix("jdbc:").partition(":")
    if scheme not in _CONNECTS:
        raise CatalogError(
            f"{url}: views are published by JDBC to {', '.join(_CONNECTS)} alone; to others as Parquet or Delta"
        )
    return f"{scheme}:{rest}" if rest.startswith("//") else f"{scheme}:///{rest}"


def _file(url: str, path: str, writes: bool) -> str:
    """Return the file of a database, which must exist if it is only read."""
    if not (Path(path).parent.is_dir() if writes else Path(path).is_file()):
        what = "folder" if writes else "file"
        hint = "with four slashes, sqlite:////a/b.db, it is /a/b.db"
        raise DataError([Diagnostic(f"there is no such {what}", url, hint=hint)])
    return path


Connect = Callable[[str, bool, bool], Any]


def _sqlite() -> tuple[Connect, type[Exception]]:
    import sqlite3

    def connect(path: str, writes: bool, _: bool) -> Any:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        return connection

    return connect, sqlite3.Error


def _duckdb() -> tuple[Connect, type[Exception]]:
    import duckdb

    def connect(path: str, writes: bool, external_access: bool) -> Any:
        connection = in_file(path, writes, external_access)
        connection.begin()
        return connection

    return connect, duckdb.Error


def _postgresql() -> tuple[Connect, type[Exception]]:
    psycopg = required("psycopg", "PostgreSQL")
    return lambda address, *_: psycopg.connect(address), psycopg.Error


_CONNECTS = {"sqlite": _sqlite, "duckdb": _duckdb, "postgresql": _postgresql}


def quoted(name: str) -> str:
    """Return a quoted name in SQL. The parts between points are quoted separately."""
    return ".".join(map(words.quoted, name.split(".")))

"""All connections to DuckDB.

DuckDB computes over rows that Deltic passes to it. It reads and writes no file, opens no connection and loads no
extension, whatever the text of a question says, except where the user allows it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_Settings = dict[str, str | bool | int | float | list[str]]
_CLOSED: _Settings = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
}


def in_memory(external_access: bool = False, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database in memory, whose settings no statement changes; times are in UTC."""
    import duckdb

    settings: _Settings = {"python_enable_replacements": False}
    settings |= {} if external_access else _CLOSED
    settings |= {} if threads is None else {"threads": threads}
    connection = duckdb.connect(":memory:", config=settings)
    with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets, where there is no progress bar
        connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")
    return connection


_local = threading.local()


def of_thread() -> duckdb.DuckDBPyConnection:
    """Return the connection of this thread to a database in memory, made once: making one takes 20 ms.

    It starts no threads: a fork would lose them.
    """
    if not hasattr(_local, "connection"):
        _local.connection = in_memory(threads=1)
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection


def in_file(path: str, writes: bool, external_access: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection to the database of a file."""
    import duckdb

    return duckdb.connect(path, read_only=not writes, config={} if external_access else _CLOSED)

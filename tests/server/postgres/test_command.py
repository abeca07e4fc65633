"""`deltic serve --pg`: the command, a stop, and the next start over the same state.

Catches an option that is not passed on, and a change that was acknowledged and is not there after a restart.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest


@contextmanager
def _served(*options: str) -> Iterator[str]:
    """The address of a server, which is stopped at the end."""
    command = [sys.executable, "-m", "deltic", "serve", "--http", "127.0.0.1:0", "--pg", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines: list[str] = []
    try:
        while "ready" not in (line := process.stderr.readline()):
            assert line, lines
            lines.append(line)
        (port,) = re.findall(r"^postgresql: 127\.0\.0\.1:(\d+)$", "".join(lines), re.MULTILINE)
        yield f"host=127.0.0.1 port={port} user=ada"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def _connected(address: str) -> psycopg.Connection[Any]:
    return psycopg.connect(address, autocommit=True)


def test_a_state_outlives_the_server(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with _served("--state", state) as address, _connected(address) as connection:
        connection.execute("CREATE TABLE t (x INT); CREATE VIEW doubled AS SELECT 2 * x AS y FROM t")
        connection.execute("INSERT INTO t VALUES (%s)", [21])
        left = _connected(address)
        left.execute("BEGIN")
        left.execute("INSERT INTO t VALUES (1000)")
    with _served("--state", state) as address, _connected(address) as connection:
        assert connection.execute("SELECT y FROM doubled").fetchall() == [(42,)]


def test_a_program_is_not_changed_by_clients(tmp_path: Path) -> None:
    program = tmp_path / "program.sql"
    program.write_text("CREATE TABLE t (x INT);", encoding="utf-8")
    with _served(str(program)) as address, _connected(address) as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"program\.sql"):
            connection.execute("DROP TABLE t")

"""A server of PostgreSQL, which tests start where the machine has one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest


class Server:
    """A server in a folder; it runs as another user than root."""

    def __init__(self, programs: str, folder: str) -> None:
        self.programs, self.folder = programs, folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-A", "trust", "-U", "postgres")

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        options += " -c wal_level=logical"
        self._run("pg_ctl", "-w", "-s", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-w", "-s", "-m", mode, "stop")

    def at(self, number: int) -> None:
        """Continue with this number of a transaction, at most 2³¹ above the oldest one that a database has."""
        self.stop("fast")
        self._run("pg_resetwal", f"--next-transaction-id={number}")
        states = Path(self.folder, "data/pg_xact", f"{number >> 20:04X}")
        if not states.exists():
            states.write_bytes(bytes(1 << 18))
            shutil.chown(states, *(("postgres",) * 2 if os.getuid() == 0 else (os.getuid(), os.getgid())))
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        command = [*before, f"{self.programs}/{program}", "-D", f"{self.folder}/data", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)


@pytest.fixture(scope="module")
def server():
    config = shutil.which("pg_config")
    programs = config and subprocess.check_output([config, "--bindir"], text=True).strip()
    if not programs or not Path(programs, "initdb").exists():
        pytest.skip("the machine has no PostgreSQL")
    with tempfile.TemporaryDirectory(prefix="deltic-pg-") as folder:
        result = Server(programs, folder)
        result.start()
        try:
            yield result
        finally:
            result.stop("immediate")


@pytest.fixture
def postgresql(server):
    """The address of a database, and what connects to it."""
    psycopg = pytest.importorskip("psycopg")
    return server.url, lambda: psycopg.connect(server.url, autocommit=True)

"""A maintained view beside those of PostgreSQL, by the same client: `python benchmarks/postgresql.py`.

Deltic's server and one of PostgreSQL, each on loopback with its data on the disk, have the same table and view, and
psycopg sends the same statements to them. The programs of PostgreSQL are in the folder of `--programs`, else where
pg_config says (Debian: `apt-get install postgresql`), and run as the user postgres where this process is root's. Writes
results/postgresql.txt.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from threading import Thread

import psycopg
from harness import report
from server import quantile, served

PORT, ROWS, GROUPS, SECONDS, CLIENTS = 54329, 1_000_000, 1_000, 10.0, (1, 8)
TABLE = "CREATE TABLE orders (id INT PRIMARY KEY, who INT, price DECIMAL(10, 2))"
QUERY = "SELECT who, count(*) AS n, sum(price) AS total FROM orders GROUP BY who"
CHANGE = "INSERT INTO orders VALUES (%s, %s, %s)"
ONE = "SELECT total FROM takings WHERE who = %s"
FIRST = "SELECT who, total FROM takings ORDER BY total DESC LIMIT 10"
REFRESH = "REFRESH MATERIALIZED VIEW takings"
NOTES = f"""python benchmarks/postgresql.py: a table of {ROWS:,} rows with a key, and a view of the sums of {GROUPS:,}
groups. A client inserts a row and commits, asks for the sum of one group, and for the ten largest, again and again for
{SECONDS:g} s. rounds a second: of all clients. change: until it is durable and questions see it, with a refresh of the
materialized view. PostgreSQL has an index of orders (who), with which the plain view answers for one group, and one of
the materialized view. Settings of both servers are the defaults: both sync each commit. Each client is a thread of one
process with psycopg, which shares the processors with the server. After each row of the table the view was compared
with the table it is of."""


@contextmanager
def postgresql(programs: str | None) -> Iterator[int]:
    """The port of a server of PostgreSQL with a new database, run by the programs in a folder."""
    programs = programs or subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        if before:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        create = [*before, f"{programs}/initdb", "-D", data, "-A", "trust", "-E", "UTF8", "-U", "postgres"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        options = f"-c listen_addresses=127.0.0.1 -c port={PORT} -c unix_socket_directories={folder}"
        control = [*before, f"{programs}/pg_ctl", "-D", data, "-w", "-s"]
        subprocess.run([*control, "-l", f"{folder}/log", "-o", options, "start"], check=True, cwd=folder)
        try:
            yield PORT
        finally:
            subprocess.run([*control, "-m", "fast", "stop"], check=True, cwd=folder)


def connected(port: int) -> psycopg.Connection[tuple[object, ...]]:
    """A connection to either server."""
    return psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres", autocommit=True)


def fill(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Insert the rows by COPY, in parts that fit into a message."""
    for start in range(0, ROWS, 100_000):
        with connection.cursor().copy("COPY orders FROM STDIN") as copy:
            copy.write("".join(f"{n}\t{n % GROUPS}\t2.50\n" for n in range(start, min(start + 100_000, ROWS))))


class Client(Thread):
    """Changes the table and asks, until a time."""

    def __init__(self, port: int, number: int, until: float, refreshes: bool) -> None:
        super().__init__()
        self._port, self._next, self._until, self._refreshes = port, ROWS + number * 10_000_000, until, refreshes
        self._random = random.Random(number)
        self.times = list[float](), list[float](), list[float]()
        """The seconds of changes, of questions for one group, and of those for the ten largest."""

    def run(self) -> None:
        with connected(self._port) as connection:
            while time.perf_counter() < self._until:
                self._round(connection)

    def _round(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._next += 1
        changes, ones, firsts = self.times

        def change() -> None:
            connection.execute(CHANGE, (self._next, self._random.randrange(GROUPS), 2.5))
            if self._refreshes:
                connection.execute(REFRESH)

        changes.append(timed(change))
        who = self._random.randrange(GROUPS)
        ones.append(timed(lambda: connection.execute(ONE, (who,)).fetchall()))
        firsts.append(timed(lambda: connection.execute(FIRST).fetchall()))


def timed(work: Callable[[], object]) -> float:
    """The seconds of some work."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measured(what: str, port: int, first: int, refreshes: bool) -> Iterator[list[str]]:
    """The rows of one server: for each number of clients."""
    for count in CLIENTS:
        until = time.perf_counter() + SECONDS
        clients = [Client(port, first + number, until, refreshes) for number in range(count)]
        begun = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        spent, first = time.perf_counter() - begun, first + count
        check(port)
        times = [list(chain(*parts)) for parts in zip(*(client.times for client in clients), strict=True)]
        cells = [quantile(each, hundredth) for each in times for hundredth in (50, 99)]
        yield [what, str(count), f"{len(times[0]) / spent:,.1f}", *cells]


def check(port: int) -> None:
    """Compare the view with the table."""
    with connected(port) as connection:
        told = connection.execute("SELECT sum(n), sum(total) FROM takings").fetchall()
        assert told == connection.execute("SELECT count(*), sum(price) FROM orders").fetchall(), told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", metavar="DIR", help="the folder with initdb and pg_ctl of PostgreSQL")
    rows = list[list[str]]()
    with postgresql(parser.parse_args().programs) as port, connected(port) as connection:
        version = connection.info.server_version // 10_000
        connection.execute(TABLE)
        fill(connection)
        connection.execute("CREATE INDEX ON orders (who)")
        connection.execute("VACUUM ANALYZE orders")
        connection.execute(f"CREATE VIEW takings AS {QUERY}")
        rows += measured(f"PostgreSQL {version}, view", port, 0, refreshes=False)
        connection.execute("DROP VIEW takings")
        connection.execute(f"CREATE MATERIALIZED VIEW takings AS {QUERY}")
        connection.execute("CREATE UNIQUE INDEX ON takings (who)")
        rows += measured(f"PostgreSQL {version}, materialized view", port, 100, refreshes=True)
    with served(f"{TABLE};\nCREATE VIEW takings AS {QUERY};\n") as server, connected(server.port) as connection:
        fill(connection)
        rows += measured("Deltic, view", server.port, 0, refreshes=False)
    header = ["view", "clients", "rounds a second", "change p50, ms", "p99", "one group p50", "p99", "ten p50", "p99"]
    report("postgresql", "A view beside PostgreSQL's, by psycopg on loopback", header, rows, NOTES)


if __name__ == "__main__":
    main()

"""What `deltic serve` does a second by HTTP on loopback, and how long a client waits: `python benchmarks/server.py`.

A server with a state on the disk, in a process of its own; clients in this one, each sending its next request when the
last one is answered. Writes results/server.txt.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import httpx
from harness import report

PROGRAM = """
CREATE TABLE orders (id INT PRIMARY KEY, who INT, price DECIMAL(10, 2));
CREATE VIEW takings AS SELECT who, count(*) AS n, sum(price) AS total FROM orders GROUP BY who;
"""
SECONDS, CLIENTS = 5.0, (1, 4, 16, 64)
NOTES = f"""python benchmarks/server.py: a table with a key, a view of sums by group, a state on the disk. change: a row
is inserted, durable when it is answered. question: the sum of one group. Each client sends its next request when the
last one is answered, for {SECONDS:g} s. Clients, in one process, and server share the processors."""
Request = Callable[[httpx.AsyncClient, int], Awaitable[int]]


async def change(client: httpx.AsyncClient, number: int) -> int:
    body = f'{{"id": {number}, "who": {number % 1000}, "price": 2.5}}'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await client.post("/tables/orders/changes?op=insert", content=body, headers=headers)
    answer.raise_for_status()
    return int(answer.json()["epoch"])


async def ask(client: httpx.AsyncClient, number: int) -> int:
    asked = {"text": "SELECT total FROM takings WHERE who = ?", "args": [number % 1000]}
    answer = await client.post("/query", json=asked)
    answer.raise_for_status()
    return len(answer.json()["rows"])


async def measured(url: str, clients: int, request: Request, first: int) -> tuple[list[float], list[int]]:
    """The seconds of each request, and what the requests gave."""
    seconds, results, until = list[float](), list[int](), time.perf_counter() + SECONDS

    async def run(number: int) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
            while time.perf_counter() < until:
                begun = time.perf_counter()
                results.append(await request(client, number))
                seconds.append(time.perf_counter() - begun)
                number += clients

    await asyncio.gather(*(run(first + number) for number in range(clients)))
    return seconds, results


@dataclass(frozen=True)
class Served:
    """A server: its addresses, and its process."""

    http: str
    port: int
    process: subprocess.Popen[str]

    def memory(self) -> int:
        """The resident memory, in bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def served(program: str = PROGRAM) -> Iterator[Served]:
    """A server of a program with a new state, by HTTP and PostgreSQL's protocol on loopback."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.sql")
        path.write_text(program)
        addresses = ["--http", "127.0.0.1:0", "--pg", "127.0.0.1:0"]
        command = [
            sys.executable,
            "-m",
            "deltic",
            "serve",
            str(path),
            "--state",
            str(Path(folder, "state")),
            *addresses,
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            lines = "".join(takewhile(lambda line: not line.startswith("ready"), process.stderr))
            (url,), (port,) = re.findall(r"http: (\S+)", lines), re.findall(r"postgresql: \S+:(\d+)", lines)
            yield Served(url, int(port), process)
        finally:
            process.terminate()
            process.wait()


def quantile(seconds: list[float], hundredth: int) -> str:
    """A quantile in milliseconds."""
    return f"{statistics.quantiles(seconds, n=100)[hundredth - 1] * 1e3:.1f}"


def row(what: str, clients: int, seconds: list[float], epochs: int) -> list[str]:
    """A row of the table."""
    shared = f"{len(seconds) / epochs:.1f}" if epochs else ""
    per_second = f"{len(seconds) / SECONDS:,.0f}"
    return [what, str(clients), per_second, quantile(seconds, 50), quantile(seconds, 99), shared]


def main() -> None:
    rows = []
    with served() as server:
        for number, clients in enumerate(CLIENTS):
            seconds, epochs = asyncio.run(measured(server.http, clients, change, number * 1_000_000))
            rows.append(row("change", clients, seconds, len(set(epochs))))
            rows.append(row("question", clients, asyncio.run(measured(server.http, clients, ask, 0))[0], 0))
    header = ["request", "clients", "a second", "p50, ms", "p99, ms", "changes an epoch"]
    report("server", "A server's changes and questions by HTTP on loopback", header, rows, NOTES)


if __name__ == "__main__":
    main()

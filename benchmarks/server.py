"""What `deltic serve` does a second by HTTP on loopback, and how long a client waits: `python -m benchmarks.server`.

A server with a state on the disk, in a process of its own; clients in this one, each sending its next request when the
last one is answered: changes of one row, questions by key, or both. Beside them the same changes with one client, which
shares an epoch with nobody. Client and server share the processors.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

PROGRAM = """
CREATE TABLE orders (id INT PRIMARY KEY, who INT, price DECIMAL(10, 2));
CREATE VIEW takings AS SELECT who, count(*) AS n, sum(price) AS total FROM orders GROUP BY who;
"""
SECONDS, CLIENTS = 5.0, (1, 4, 16, 64)
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


def row(what: str, clients: int, seconds: list[float], epochs: int) -> None:
    per_second, cuts = len(seconds) / SECONDS, statistics.quantiles(seconds, n=100)
    shared = f"{len(seconds) / epochs:8.1f}" if epochs else " " * 8
    print(f"{what:10}{clients:8}{per_second:12,.0f}{cuts[49] * 1e3:10.1f}{cuts[98] * 1e3:10.1f}{shared}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "shop.sql")
        program.write_text(PROGRAM)
        command = ["serve", str(program), "--state", str(Path(folder, "state")), "--http", "127.0.0.1:0"]
        server = subprocess.Popen([sys.executable, "-m", "deltic", *command], stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            url = next(found[1] for line in server.stderr if (found := re.match(r"http: (\S+)", line)))
            print(f"{'request':10}{'clients':>8}{'a second':>12}{'p50, ms':>10}{'p99, ms':>10}{'an epoch':>8}")
            first = 0
            for clients in CLIENTS:
                seconds, epochs = asyncio.run(measured(url, clients, change, first))
                row("change", clients, seconds, len(set(epochs)))
                first += 1_000_000
                row("question", clients, asyncio.run(measured(url, clients, ask, 0))[0], 0)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()

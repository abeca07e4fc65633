"""What 1,000 subscribers by server-sent events cost: `python benchmarks/subscribers.py`.

Each is a connection of its own to a server on loopback, whose clients are in this process. Writes
results/subscribers.txt.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from urllib.parse import urlsplit

import httpx
from harness import report
from server import Served, change, served

COUNTS, EPOCHS, PAUSE = (1, 100, 1_000), 20, 0.5
NOTES = f"""python benchmarks/subscribers.py: a table with a key, a view of sums by group, a state on the disk. Every
subscriber follows the view; a client changes a row by HTTP, {EPOCHS} times, each after a pause of {PAUSE:g} s.
answered: the change is durable, and the client knows it. first, middle, last: from the request until the first, the
middle and the last subscriber has the event; medians over the epochs. slowest: the last one of all epochs. KiB each:
what the server's resident memory grew by, for each subscriber. Clients and server share the processors."""


async def follow(server: Served, arrivals: dict[int, list[float]], begun: asyncio.Semaphore) -> None:
    """Subscribe to the view, and note when each epoch's event arrives."""
    place = urlsplit(server.http)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(f"GET /views/takings/changes HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
    while line := await reader.readline():
        if line.startswith(b": the changes follow"):
            begun.release()
        if line.startswith(b"id: "):
            arrivals.setdefault(int(line[4:]), []).append(time.perf_counter())


async def measured(server: Served, count: int, first: int) -> list[str]:
    """A row of the table."""
    arrivals = dict[int, list[float]]()
    begun, before = asyncio.Semaphore(0), server.memory()
    tasks = [asyncio.create_task(follow(server, arrivals, begun)) for _ in range(count)]
    for _ in tasks:
        await begun.acquire()
    answered, waits = list[float](), list[list[float]]()
    async with httpx.AsyncClient(base_url=server.http, timeout=60, trust_env=False) as client:
        for number in range(EPOCHS):
            sent = time.perf_counter()
            epoch = await change(client, first + number)
            answered.append(time.perf_counter() - sent)
            while len(arrivals.get(epoch, ())) < count:
                await asyncio.sleep(0.005)
            waits.append([at - sent for at in arrivals[epoch]])
            await asyncio.sleep(PAUSE)
    grown = server.memory() - before
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    last = [max(times) for times in waits]
    columns = answered, [min(times) for times in waits], [statistics.median(times) for times in waits], last
    medians = [f"{statistics.median(times) * 1e3:.1f}" for times in columns]
    return [f"{count:,}", f"{grown / count / 1024:,.0f}", *medians, f"{max(last) * 1e3:.1f}"]


def main() -> None:
    with served() as server:
        asyncio.run(measured(server, 1, 0))  # what is loaded with the first one is no subscriber's memory
        rows = [asyncio.run(measured(server, count, n * 1_000_000)) for n, count in enumerate(COUNTS, 1)]
    header = ["subscribers", "KiB each", "answered, ms", "first, ms", "middle, ms", "last, ms", "slowest, ms"]
    report("subscribers", "Subscribers by server-sent events on loopback", header, rows, NOTES)


if __name__ == "__main__":
    main()

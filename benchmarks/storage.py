"""State of shards that is larger than the memory of every executor, and of the driver.

`python benchmarks/storage.py` runs epochs as tasks in processes of their own, as executors are, each in a control group
of so much memory, and tells what the driver took: it needs root, as memory.py does. `--address` is where the shards'
files are: a directory, or an address of fsspec.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import report
from isolated import isolated, peak
from memory import Limit

from deltic.circuit.tables import WEIGHT
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.executors.shards.files import RUNS
from deltic.engine.executors.shards.messages import DRIVER, Message
from deltic.engine.executors.shards.tasks import Task
from deltic.engine.executors.spark.executor import SparkShards
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.pipeline.session import Pipeline

SQL = """
CREATE TABLE customer (id BIGINT NOT NULL, country INT NOT NULL);
CREATE TABLE sale (id BIGINT NOT NULL, customer BIGINT NOT NULL, price INT NOT NULL);
CREATE VIEW total AS SELECT customer, count(*) AS n, sum(price) AS s FROM sale GROUP BY customer;
CREATE VIEW abroad AS SELECT c.country, count(*) AS n, sum(s.price) AS s
    FROM sale s JOIN customer c ON s.customer = c.id GROUP BY c.country
"""
CUSTOMERS = 1_000_000
MIB = 1 << 20


def run_apart(limit: int, messages: Sequence[Message], tasks: Sequence[Task], shards: int, _: str) -> Iterable[Message]:
    """Run tasks one after the other, each in a new process that may hold so many MiB: the messages for the driver."""
    context = multiprocessing.get_context("fork")
    for task in tasks:
        sent: list[Message] = []
        for number in range(shards):
            here, there = context.Pipe(duplex=False)
            received = [message for message in messages if message.shard == number]
            process = context.Process(target=_work, args=(there, task, received, limit))
            process.start()
            there.close()
            sent += here.recv()
            process.join()
        messages = sent
    return [message for message in messages if message.stage == DRIVER]


def _work(connection: Any, task: Task, received: Sequence[Message], limit: int) -> None:
    if limit:
        Limit.find().enter(limit / 1024)
    connection.send(list(task(iter(received))))


def changes(count: int, start: int) -> pa.Table:
    rng = np.random.default_rng(start)
    columns = {
        "id": np.arange(start, start + count),
        "customer": rng.integers(0, CUSTOMERS, count),
        "price": rng.integers(0, 1000, count).astype(np.int32),
        WEIGHT: np.ones(count, np.int64),
    }
    return pa.table(columns)


def part(address: str, rows: int, batch: int, shards: int, limit: int) -> Iterator[tuple[str, Any]]:
    """Loads so many rows in batches, then changes some, and looks some up."""
    pipeline = Pipeline()
    pipeline.sql(SQL)
    circuit = pipeline.catalog.circuit
    files: Files = files_at(address)
    job = partial(run_apart, limit)
    holder = partial(SparkShards, directory=files, run_tasks=job, place="job")
    engine = IncrementalEngine(circuit, executor=partial(ShardsExecutor.empty, holder=holder), shards=shards)
    customers = np.arange(CUSTOMERS)
    country = pa.array((customers % 200).astype(np.int32))
    one = pa.array(np.ones(CUSTOMERS, np.int64))
    started = time.perf_counter()
    engine.apply({"customer": pa.table({"id": customers, "country": country, WEIGHT: one})})
    for start in range(0, rows, batch):
        engine.apply({"sale": changes(min(batch, rows - start), start)})
    yield "load s", round(time.perf_counter() - started, 1)
    for name, count in (("1,000 rows s", 1000), ("100,000 rows s", 100_000)):
        started = time.perf_counter()
        engine.apply({"sale": changes(count, rows)})
        rows += count
        yield name, round(time.perf_counter() - started, 1)
    known = changes(100_000, rows - 100_000).column("customer")[0].as_py()
    started = time.perf_counter()
    found = engine.version.lookup("total", {"customer": known}).to_pylist()
    yield "look up s", round(time.perf_counter() - started, 2)
    assert found[0]["n"] > 0
    executor = engine.executor
    assert isinstance(executor, ShardsExecutor)
    assert isinstance(executor.holder, SparkShards)
    files = executor.holder.files
    yield "files MiB", sum(map(files.size, files.names(RUNS))) // MIB
    yield "driver's peak MiB", peak() // MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="where the files of the shards are")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--batch", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--limits", type=int, nargs="+", default=[0, 512])
    given = parser.parse_args()
    parts = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for limit in given.limits:
            place = given.address or f"{folder}/{limit}"
            outcome = isolated(part, place, given.rows, given.batch, given.shards, limit)
            parts.append((limit or "none", dict(outcome.values), outcome.failure))
    columns = max((list(values) for _, values, _ in parts), key=len)
    rows = [[limit, *(values.get(column, "") for column in columns), failure] for limit, values, failure in parts]
    report(
        "storage-limited",
        f"{given.rows:,} rows on {given.shards} shards, and tasks with less memory than the state",
        ["limit MiB", *columns, ""],
        rows,
        "Each task is a process of its own in a control group of so much memory, pages of mapped files included; they\n"
        f"run one after the other. Loaded by {given.batch:,} rows, each batch one job. What letters have with them\n"
        "passes the driver here, as it does not with Spark, whose exchanges these processes stand for.",
    )


if __name__ == "__main__":
    main()

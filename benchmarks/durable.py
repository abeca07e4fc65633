"""What it costs to keep state in a directory, and what a restart takes.

`python benchmarks/durable.py price` compares transactions with and without a state, of one row and of many; `restore`
opens states of several sizes again; `soak` does 100,000 small transactions with checkpoints on; `limited` loads and
uses a state under limits of memory that are smaller, and needs root, as memory.py does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import report
from isolated import isolated as run_isolated
from memory import Limit

import deltic

SQL = """
CREATE TABLE sale (id BIGINT NOT NULL, shop INT NOT NULL, price INT NOT NULL);
CREATE VIEW total AS SELECT shop, count(*) AS n, sum(price) AS s, max(price) AS m FROM sale GROUP BY shop;
CREATE VIEW dear AS SELECT id, shop FROM sale WHERE price > 990
"""
SHOPS = 1000


def isolated(part: Callable[..., Iterator[Any]], *arguments: Any) -> list[Any]:
    """What a part yields in a process of its own."""
    found = run_isolated(part, *arguments)
    if found.failure:
        raise SystemExit(f"{part.__name__}: {found.failure}")
    return found.values


def sales(count: int, start: int = 0) -> pa.Table:
    """So many rows."""
    rng = np.random.default_rng(start)
    shops, prices = (pa.array(rng.integers(0, n, count).astype(np.int32)) for n in (SHOPS, 1000))
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "shop": shops, "price": prices})


def insert(pipeline: deltic.Pipeline, rows: pa.Table) -> float:
    """Insert rows in one transaction; the seconds that it took."""
    started = time.perf_counter()
    with pipeline.transaction() as change:
        change.insert("sale", rows)
    return time.perf_counter() - started


def directory_size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def resident() -> int:
    """The memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def percentiles(seconds: list[float]) -> list[str]:
    """Median, 99th and 99.9th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return [f"{1000 * ordered[int(len(ordered) * part)]:.2f}" for part in (0.5, 0.99, 0.999)]


# The price


def priced(place: str | None, before: int, size: int, times: int) -> Iterator[list[float]]:
    """The seconds of transactions of so many rows, beside so many."""
    pipeline = deltic.Pipeline(state=place)
    pipeline.sql(SQL)
    insert(pipeline, sales(before))
    for number in range(3):
        insert(pipeline, sales(size, before + number * size))
    for number in range(3, 3 + times):
        taken = insert(pipeline, sales(size, before + number * size))
        yield [taken, synced(f"{place}/probe") if place else 0.0]
    pipeline.close()


def synced(place: str) -> float:
    """The seconds of appending 1,000 bytes to a file and of syncing it: what the disk takes for itself."""
    with Path(place).open("ab") as file:
        started = time.perf_counter()
        file.write(bytes(1000))
        file.flush()
        os.fsync(file.fileno())
        return time.perf_counter() - started


def price(folder: str) -> None:
    rows = []
    for size, times in ((1, 1000), (1000, 100), (1_000_000, 3)):
        plain = statistics.median(taken for taken, _ in isolated(priced, None, 100_000, size, times))
        found = isolated(priced, f"{folder}/state {size}", 100_000, size, times)
        kept, disk = (statistics.median(column) for column in zip(*found, strict=True))
        shown = [f"{1000 * m:.2f}" for m in (plain, kept, disk)]
        rows.append([f"{size:,}", times, *shown, f"{kept / plain:.2f}", f"{(kept - disk) / plain:.2f}"])
    report(
        "durable-price-in-memory" if folder.startswith("/dev/shm") else "durable-price",
        "Transactions with and without a state",
        ["rows", "times", "without ms", "with ms", "one sync ms", "ratio", "ratio but for the sync"],
        rows,
        "Medians over transactions that insert so many rows beside 100,000, with the defaults. One sync: an append of\n"
        "1,000 bytes that is synced, measured after each transaction, of which each waits for one; the second of two\n"
        "syncs is the quicker one. Other processes kept processors and disk busy. In memory: the directory was in\n"
        "/dev/shm, where a sync costs nothing, so that the rest of the price is seen.",
    )


# Restore


def loaded(place: str, rows: int) -> Iterator[list[int]]:
    pipeline = deltic.Pipeline(state=place)
    pipeline.sql(SQL)
    for start in range(0, rows, 2_000_000):
        insert(pipeline, sales(min(2_000_000, rows - start), start))
    pipeline.close()
    yield [directory_size(Path(place))]


def reopened(place: str, size: int) -> Iterator[list[float]]:
    """The seconds to open a state, to look up a group, to insert a row, and the memory after it."""
    other = deltic.Pipeline()
    other.sql(SQL)
    insert(other, sales(10))
    started = time.perf_counter()
    pipeline = deltic.Pipeline(state=place)
    opened = time.perf_counter()
    (found,) = pipeline["total"].lookup(shop=7).to_arrow().to_pylist()
    looked = time.perf_counter()
    change = insert(pipeline, sales(1, size))
    again = insert(pipeline, sales(1, size + 1))
    yield [opened - started, looked - opened, change, again, resident() / 2**20]
    assert found["n"] > 0


def restore(folder: str, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        place = f"{folder}/state {size}"
        ((taken,),) = isolated(loaded, place, size)
        ((opened, looked, first, second, memory),) = isolated(reopened, place, size)
        times = [f"{1000 * t:.0f}" for t in (opened, looked, first)] + [f"{1000 * second:.1f}"]
        rows.append([f"{size:,}", f"{taken / 2**20:,.0f}", *times, f"{memory:,.0f}"])
    report(
        "durable-restore",
        "States that are opened again, by size",
        ["rows", "files MiB", "open ms", "first look-up ms", "first insert ms", "second ms", "memory MiB"],
        rows,
        "The state was closed, so that there is no log to read. Run files are mapped when the state is opened, and\n"
        "checked when they are used for the first time: the first look-up and insert read what they touch. Another\n"
        "pipeline was made before, so that what every process loads once is loaded.",
    )


# The soak


def soaked(place: str, count: int, parts: int) -> Iterator[list[Any]]:
    """Transactions that insert a row, and delete one after a while; of each part the latencies, memory and disk."""
    pipeline = deltic.Pipeline(state=place, durability=deltic.Durability(epochs=1000))
    pipeline.sql(SQL)
    kept, seconds = 10_000, list[float]()
    insert(pipeline, sales(kept))
    rows = sales(count + kept)
    for number in range(count):
        gone, new = rows.slice(number, 1), rows.slice(kept + number, 1)
        started = time.perf_counter()
        with pipeline.transaction() as change:
            change.insert("sale", new)
            if number >= kept:
                change.delete("sale", gone)
        seconds.append(time.perf_counter() - started)
        if len(seconds) == count // parts:
            yield [number + 1, *percentiles(seconds), resident(), directory_size(Path(place))]
            seconds = []
    pipeline.close()


def soak(folder: str, count: int) -> None:
    rows = []
    for done, median, p99, p999, memory, disk in isolated(soaked, f"{folder}/state", count, 10):
        rows.append([f"{done:,}", median, p99, p999, f"{memory / 2**20:,.0f}", f"{disk / 2**20:.1f}"])
    disks = [float(row[-1]) for row in rows]
    bars = [
        f"{row[0]:>9}  {'#' * round(30 * disk / max(disks))} {row[-1]} MiB"
        for row, disk in zip(rows, disks, strict=True)
    ]
    report(
        "durable-soak",
        f"{count:,} transactions of one or two rows, a checkpoint every 1,000 epochs",
        ["transactions", "median ms", "p99 ms", "p99.9 ms", "memory MiB", "files MiB"],
        rows,
        "Each inserts a row; from the 10,000th on it deletes an old one, too. Latencies are of each tenth. Files\n"
        f"were in {Path(folder).parent}; where that is /dev/shm, which is memory, a sync costs nothing.\n\n"
        + "\n".join(bars),
    )


# Less memory than state

KEYED = """
CREATE TABLE sale (id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, price BIGINT NOT NULL);
CREATE TABLE vip (customer BIGINT PRIMARY KEY);
CREATE VIEW total AS SELECT customer, count(*) AS n, sum(price) AS s FROM sale GROUP BY customer;
CREATE VIEW grand AS SELECT id, price FROM sale JOIN vip USING (customer)
"""
DEAR = "CREATE VIEW dear AS SELECT id FROM sale WHERE price > 1099000000000"
CUSTOMERS = np.random.default_rng(1).integers(0, 1 << 62, 1_000_000)


def wide(count: int, start: int) -> pa.Table:
    """So many rows of values that take 62 bits."""
    rng = np.random.default_rng(start)
    ids = np.arange(start, start + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(1)
    columns = ids.astype(np.int64), CUSTOMERS[rng.integers(0, len(CUSTOMERS), count)], rng.integers(0, 1 << 40, count)
    return pa.table(dict(zip(("id", "customer", "price"), columns, strict=True)))


def fed(pipeline: deltic.Pipeline, size: int, batch: int) -> None:
    """Insert so many rows, in batches."""
    for start in range(0, size, batch):
        insert(pipeline, wide(min(batch, size - start), start))


def limited_part(place: str, size: int, limit: int, batch: int) -> Iterator[tuple[str, float]]:
    """The seconds of what is done with a state under a limit, in MiB."""
    other = deltic.Pipeline()
    other.sql(KEYED)
    fed(other, 10, 10)
    other.duckdb("SELECT 1")
    if limit:
        Limit.find().enter(limit / 1024)
    new = wide(200_001, size)
    steps: dict[str, Callable[[deltic.Pipeline], object]] = {
        "load": lambda pipeline: fed(pipeline, size, batch),
        "join with a new table": lambda pipeline: pipeline.sql("INSERT INTO vip SELECT max(customer) FROM total"),
        "insert a row": lambda pipeline: insert(pipeline, new.slice(0, 1)),
        "insert 200,000": lambda pipeline: insert(pipeline, new.slice(1)),
        "look up": lambda pipeline: list(pipeline["sale"].lookup(id=new["id"][7].as_py())),
        "count": lambda pipeline: len(pipeline["sale"]),
        "sum": lambda pipeline: pipeline.duckdb("SELECT sum(price) FROM sale"),
        "add a view": lambda pipeline: pipeline.sql(
            "CREATE VIEW dear AS SELECT id FROM sale WHERE price > 1099000000000"
        ),
    }
    pipeline = deltic.Pipeline(state=place)
    pipeline.sql(KEYED)
    for name, step in steps.items():
        yield name, seconds(lambda step=step: step(pipeline))  # type: ignore[misc]
    yield "close", seconds(pipeline.close)
    yield "open and look up", seconds(lambda: list(deltic.Pipeline(state=place)["sale"].lookup(id=1)))
    yield "files, MiB", directory_size(Path(place)) / 2**20


def seconds(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def limited(folder: str, size: int) -> None:
    outcomes = {
        limit: run_isolated(limited_part, f"{folder}/limited {limit}", size, limit, 500_000) for limit in (0, 512, 300)
    }
    fields = {limit: {name: f"{taken:,.2f}" for name, taken in found.values} for limit, found in outcomes.items()}
    steps = max(fields.values(), key=len)
    report(
        "durable-limited",
        f"{size:,} rows in a state, and less memory than that",
        ["limit MiB", *steps, ""],
        [[n or "none", *(fields[n].get(step, "") for step in steps), found.failure] for n, found in outcomes.items()],
        "Seconds. The limit is a control group's: it counts what the process takes beyond its libraries, pages of\n"
        "mapped files included, and the system ends a process that cannot keep to it. Loaded by 500,000 rows; with\n"
        "defaults.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["price", "restore", "soak", "limited"])
    parser.add_argument("--place", help="where the directory is made")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.place) as folder:
        match arguments.what:
            case "price":
                price(folder)
            case "restore":
                restore(folder, arguments.sizes)
            case "soak":
                soak(folder, arguments.count)
            case "limited":
                limited(folder, max(arguments.sizes))


if __name__ == "__main__":
    main()

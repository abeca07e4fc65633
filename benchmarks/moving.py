"""What a DataFrame into a pipeline on shards takes of the driver, by tasks and through the driver.

`python benchmarks/moving.py --rows 1000000 10000000`: inserts so many rows of a DataFrame in one transaction, as one
job; beside it the same rows as an Arrow table, which is how they come to the driver.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import report
from isolated import isolated
from pages import session

import deltic

SQL = """
CREATE TABLE sale (id BIGINT, customer BIGINT, price BIGINT{key});
CREATE VIEW total AS SELECT customer, count(*) AS n, sum(price) AS s FROM sale GROUP BY customer
"""
MIB = 1 << 20


def own_memory() -> int:
    """The bytes of this process, without the pages of files that it has mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def part(rows: int, way: str, key: bool, shards: int) -> Iterator[tuple[str, Any]]:
    """Inserts so many rows, after some others."""
    with session(2, "1g") as spark, tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        pipeline = deltic.Pipeline(spark, engine="spark", shards=deltic.Shards(shards, folder, "job"))
        pipeline.sql(SQL.format(key=", PRIMARY KEY (id)" if key else ""))
        frame = spark.range(0, rows + 1000, numPartitions=8).selectExpr(
            "id", "id % 1000 AS customer", "id % 97 AS price"
        )
        with pipeline.transaction() as change:
            change.insert("sale", frame.where(f"id >= {rows}"))
        before, most, is_over = own_memory(), [0], threading.Event()

        def watch() -> None:
            while not is_over.wait(0.02):
                most[0] = max(most[0], own_memory())

        watcher = threading.Thread(target=watch)
        watcher.start()
        started, chosen = time.perf_counter(), frame.where(f"id < {rows}")
        with pipeline.transaction() as change:
            change.insert("sale", chosen if way == "tasks" else chosen.toArrow())
            yield "to shards s", round(time.perf_counter() - started, 1)
        yield "all s", round(time.perf_counter() - started, 1)
        is_over.set()
        watcher.join()
        yield "driver's growth MiB", max(0, most[0] - before) // MIB
        yield "read MiB", change.report.bytes_read // MIB
        yield "written MiB", change.report.bytes_written // MIB
        (total,) = pipeline.sql("SELECT sum(n) AS n, sum(s) AS s FROM total").to_arrow().to_pylist()
        assert total == {"n": rows + 1000, "s": sum(i % 97 for i in range(rows + 1000))}, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--shards", type=int, default=8)
    given = parser.parse_args()
    found = []
    for rows in given.rows:
        for way, key in (("tasks", False), ("tasks", True), ("driver", False)):
            outcome = isolated(part, rows, way, key, given.shards)
            found.append([f"{rows:,}", way, "yes" if key else "no", dict(outcome.values), outcome.failure])
    columns = list(max((values for *_, values, _ in found), key=len))
    report(
        "moving",
        f"A DataFrame into {given.shards} shards, local[2], an aggregate over it, one job",
        ["rows", "by", "primary key", *columns, ""],
        [[*told, *(values.get(column, "") for column in columns), failure] for *told, values, failure in found],
        "tasks: the DataFrame is given, and Spark's tasks write its rows for the shards; driver: its rows as a table\n"
        "in memory. growth: memory of the driver's Python process, without pages of mapped files, at the peak of the\n"
        "transaction beyond that of before it. With a primary key the driver looks the keys up, a letter at a time.",
    )


if __name__ == "__main__":
    main()

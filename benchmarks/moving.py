"""What rows take of the driver, by tasks and through the driver: of DataFrames, folders of Parquet files, snapshots.

`python benchmarks/moving.py --rows 1000000 10000000`: so many rows come in one epoch, as one job, into a pipeline that
is kept (`state=`) or not; beside it the same rows as an Arrow table, or read by the driver. Those of an upsert come in
the place of as many, also where the table is joined by another column than its key; of a snapshot, a table of Spark
that was loaded before, one row of a hundred is another one by now.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import report
from isolated import isolated
from pages import session

import deltic
from deltic.pipeline.connectors import tasks

SQL = "CREATE VIEW total AS SELECT customer, count(*) AS n, sum(price) AS s FROM sale GROUP BY customer"
JOINED = """
    CREATE TABLE buyer (customer BIGINT);
    CREATE VIEW total AS
        SELECT customer, count(*) AS n, sum(price) AS s FROM sale JOIN buyer USING (customer) GROUP BY customer
"""
COLUMNS = "(id BIGINT, customer BIGINT, price BIGINT{key})"
MIB, EVERYTHING = 1 << 20, 1 << 62
WAYS = [
    ("DataFrame", "tasks", False, False),
    ("DataFrame", "tasks", False, True),
    ("DataFrame", "tasks", True, True),
    ("DataFrame", "driver", False, True),
    ("folder", "tasks", False, True),
    ("folder", "driver", False, True),
    ("upsert", "tasks", True, True),
    ("upsert", "driver", True, True),
    ("joined upsert", "tasks", True, True),
    ("joined upsert", "driver", True, True),
    ("snapshot", "tasks", True, True),
    ("snapshot", "driver", True, True),
]
"""What the rows are of, who moves them, whether the table has a key, and whether the pipeline is kept."""


def own_memory() -> int:
    """The bytes of this process, without the pages of files that it has mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def processor_seconds() -> float:
    """The processor time of this process and of all that it has begun, Spark and its tasks among them."""
    spent, children = dict[int, int](), defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent[int(path.parent.name)] = sum(map(int, told[11:15]))
        children[int(told[1])].append(int(path.parent.name))
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        number = waiting.pop()
        ticks += spent.get(number, 0)
        waiting += children[number]
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched(most: list[int]) -> Iterator[None]:
    """Notes by how much the memory of this process grows in a block, at most."""
    before, is_over = own_memory(), threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            most[0] = max(most[0], own_memory() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def part(rows: int, of: str, way: str, key: bool, kept: bool, shards: int) -> Iterator[tuple[str, Any]]:
    """Lets so many rows come, after some others."""
    with session(2, "1g") as spark, tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch:
        folder, files = Path(scratch), Path(scratch) / "files"
        if way == "driver":
            tasks.FEW = EVERYTHING
        state: dict[str, Any] = {"state": folder / "state"} if kept else {}
        pipeline = deltic.Pipeline(
            spark, engine="spark", shards=deltic.Shards(shards, folder / "shards", "job", copies="never"), **state
        )
        frame = spark.range(0, rows + 1000, numPartitions=8).selectExpr(
            "id", "id % 1000 AS customer", "id % 97 AS price"
        )
        columns = COLUMNS.format(key=", PRIMARY KEY (id)" if key else "")
        frame.where(f"id >= {rows}").write.parquet(str(files))
        frame.createOrReplaceTempView("sales")
        source = {"folder": f" USING parquet LOCATION '{files}'", "snapshot": " USING spark OPTIONS (table 'sales')"}
        pipeline.sql(f"CREATE TABLE sale {columns}{source.get(of, '')}")
        pipeline.sql(JOINED if of == "joined upsert" else SQL)
        if of == "joined upsert":
            with pipeline.transaction() as change:
                change.insert("buyer", [(n,) for n in range(1001)])
        if of == "snapshot":
            pipeline.refresh()
            frame.withColumn("customer", frame.customer + (frame.id % 100 == 0).cast("long")).createOrReplaceTempView(
                "sales"
            )
            if way == "driver":
                pipeline._refreshing._tasks = replace(pipeline._refreshing._tasks, sites=lambda table: None)
        elif of == "folder":
            pipeline.refresh()
            frame.where(f"id < {rows}").write.mode("append").parquet(str(files))
        else:
            with pipeline.transaction() as change:
                change.insert("sale", frame if "upsert" in of else frame.where(f"id >= {rows}"))
        before, most, started, spent = own_memory(), [0], time.perf_counter(), processor_seconds()
        with watched(most):
            if of in source:
                told: Any = pipeline.refresh()
            else:
                chosen = frame.where(f"id < {rows}")
                if "upsert" in of:
                    chosen = chosen.withColumn("customer", chosen.customer + 1)
                with pipeline.transaction() as told:
                    do = told.upsert if "upsert" in of else told.insert
                    do("sale", chosen if way == "tasks" else chosen.toArrow())
        yield "s", round(time.perf_counter() - started, 1)
        yield "processor s", round(processor_seconds() - spent, 1)
        yield "driver before MiB", before // MIB
        yield "growth MiB", most[0] // MIB
        yield "read MiB", told.report.bytes_read // MIB
        yield "written MiB", told.report.bytes_written // MIB
        summed: Any = pipeline.sql("SELECT sum(n) AS n, sum(s) AS s FROM total")
        (total,) = summed.to_arrow().to_pylist()
        assert total == {"n": rows + 1000, "s": sum(i % 97 for i in range(rows + 1000))}, total
        most = [0]
        with watched(most):
            pipeline.close()
        yield "growth of close MiB", most[0] // MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--ways", type=int, nargs="+", default=list(range(len(WAYS))), help="numbers of WAYS")
    given = parser.parse_args()
    found = []
    for rows in given.rows:
        for of, way, key, kept in (WAYS[number] for number in given.ways):
            outcome = isolated(part, rows, of, way, key, kept, given.shards)
            told = [f"{rows:,}", of, way, "yes" if key else "no", "yes" if kept else "no"]
            found.append([*told, dict(outcome.values), outcome.failure])
    columns = max((list(values) for *_, values, _ in found), key=len)
    report(
        "moving",
        f"Rows into {given.shards} shards, local[2], an aggregate over them, one job",
        ["rows", "of", "by", "primary key", "state=", *columns, ""],
        [[*told, *(values.get(column, "") for column in columns), failure] for *told, values, failure in found],
        "tasks: Spark's tasks write the rows for the shards; driver: the rows are a table in its memory. growth:\n"
        "memory of the driver's Python process, without pages of mapped files, at the peak of the epoch beyond that\n"
        "of before it; and of the checkpoint that ends it. processor s: of all processes, Spark's among them. Rows of\n"
        "an upsert come in the place of as many, which the shards find, or the driver. snapshot: all rows are read,\n"
        "and one of a hundred is another one.",
    )


if __name__ == "__main__":
    main()

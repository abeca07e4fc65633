"""A view of two joins and an aggregate, kept fresh by each executor, beside Spark's full recomputation and overwrite.

`python benchmarks/spark.py --rows 1000000`: line items of orders of customers; a change takes some line items away and
brings as many others. Processor time is that of this process, its JVM and all of its Python workers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import _family, report

import deltic
from deltic.pipeline.spark_session import spark_session

TABLES = {
    "lineitem": "CREATE TABLE lineitem (id BIGINT, o BIGINT, p BIGINT, price BIGINT, PRIMARY KEY (id))",
    "orders": "CREATE TABLE orders (o BIGINT, c BIGINT, PRIMARY KEY (o))",
    "customer": "CREATE TABLE customer (c BIGINT, nation STRING, PRIMARY KEY (c))",
}
QUERY = """SELECT nation, count(*) AS items, sum(price) AS revenue
FROM lineitem JOIN orders USING (o) JOIN customer USING (c) GROUP BY nation"""
# Seconds of processor that the system can tell apart: less counts as so much in ratios.
TICK = 1 / os.sysconf("SC_CLK_TCK")
PARTS = (0.0001, 0.01, 0.05)
TIMES = 3
# Rows of a load before the first one that counts: compiled code is read, and Spark's workers begin.
_WARM = 1000
NATIONS = [f"nation {i}" for i in range(25)]
NOTES = f"""\
A change of a part of the line items deletes half as many and inserts as many others, in one transaction; the median of
{TIMES}. cpu: processor seconds of all processes. Spark: the query over Parquet files of the tables, its result
overwritten; the change itself is not written to them. Each executor has taken a load of {_WARM:,} line items before.
ratio: Spark's time over the executor's. visited/row: rows and index entries looked at for each changed row. All
executors end with equal views, which is checked."""


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    with spark_session(f"local[{options.cores}]", "4g") as spark, tempfile.TemporaryDirectory() as scratch:
        recomputed = dict(zip(("wall", "cpu"), _recompute(spark, options.rows, Path(scratch)), strict=True))
        shards = options.shards
        kinds = {
            "local engine": {},
            f"{shards} shards, process": {"engine": "spark", "shards": deltic.Shards(shards, executor="process")},
            f"{shards} shards, one job": {"engine": "spark", "shards": deltic.Shards(shards, scratch, "job")},
        }
        rows: list[list[object]] = []
        ends = []
        for kind, given in kinds.items():
            next(_measured(deltic.Pipeline(spark, **given), _WARM))
            pipeline = deltic.Pipeline(spark, threads=1 if not given else None, **given)
            for part, wall, cpu, visited in _measured(pipeline, options.rows):
                told = [f"{part:.2%}" if part else "bootstrap", f"{wall:.3f}", f"{cpu:.3f}", f"{visited:.1f}"]
                ratios = recomputed["cpu"] / max(cpu, TICK), recomputed["wall"] / wall
                rows.append([kind, *told, *(f"{ratio:.1f}" for ratio in ratios)])
            ends.append(sorted(map(str, pipeline["revenue"].to_arrow().to_pylist())))
        rows.append(["Spark", "recompute", f"{recomputed['wall']:.3f}", f"{recomputed['cpu']:.3f}", "", "1.0", "1.0"])
    assert ends[0] == ends[1] == ends[2], "the executors disagree"
    header = ["executor", "change", "wall s", "cpu s", "visited/row", "cpu ratio", "wall ratio"]
    report("spark", f"{options.rows:,} line items, local[{options.cores}]", header, rows, NOTES)


def _tables(count: int) -> dict[str, pa.Table]:
    rng = np.random.default_rng(14)
    orders, customers = max(1, count // 4), max(1, count // 40)
    names = np.array(NATIONS)[rng.integers(0, len(NATIONS), customers)]
    return {
        "lineitem": _items(np.arange(count), rng, orders),
        "orders": pa.table({"o": np.arange(orders), "c": rng.integers(0, customers, orders)}),
        "customer": pa.table({"c": np.arange(customers), "nation": names}),
    }


def _items(ids: np.ndarray, rng: np.random.Generator, orders: int) -> pa.Table:
    count = len(ids)
    drawn = {"o": rng.integers(0, orders, count), "p": rng.integers(0, 1000, count)}
    return pa.table({"id": ids, **drawn, "price": rng.integers(1, 10_000, count)})


def _measured(pipeline: deltic.Pipeline, count: int) -> Iterator[tuple[float, float, float, float]]:
    """For the bootstrap and each part of a change: wall and processor seconds, rows visited for each changed one."""
    for statement in TABLES.values():
        pipeline.sql(statement)
    pipeline.sql(f"CREATE MATERIALIZED VIEW revenue AS {QUERY}")
    tables = _tables(count)
    rng = np.random.default_rng(15)
    yield 0.0, *_transaction(pipeline, {name: (None, rows) for name, rows in tables.items()})
    items, start, orders = tables["lineitem"], 0, len(tables["orders"])
    for part in PARTS:
        half = max(1, int(count * part / 2))
        found = []
        for _ in range(TIMES):
            gone, new = items.slice(start, half), _items(np.arange(count + start, count + start + half), rng, orders)
            found.append(_transaction(pipeline, {"lineitem": (gone, new)}))
            start += half
        yield part, *map(statistics.median, zip(*found, strict=True))


def _transaction(
    pipeline: deltic.Pipeline, changes: dict[str, tuple[pa.Table | None, pa.Table]]
) -> tuple[float, float, float]:
    def run() -> None:
        with pipeline.transaction() as change:
            for name, (gone, new) in changes.items():
                if gone is not None:
                    change.delete(name, gone)
                change.insert(name, new)
        reports.append(change.report)

    reports: list[deltic.pipeline.report.EpochReport] = []
    wall, cpu = _timed(run)
    return wall, cpu, reports[0].rows_visited / reports[0].rows_in


def _recompute(spark: object, count: int, scratch: Path) -> tuple[float, float]:
    """The median wall and processor seconds of Spark's recomputation, after one that warms up."""
    for name, rows in _tables(count).items():
        pq.write_table(rows, scratch / f"{name}.parquet")
        spark.read.parquet(str(scratch / f"{name}.parquet")).createOrReplaceTempView(name)

    def run() -> None:
        spark.sql(QUERY).write.mode("overwrite").parquet(str(scratch / "revenue"))

    run()
    return tuple(map(statistics.median, zip(*(_timed(run) for _ in range(TIMES)), strict=True)))


def _timed(run: Callable[[], None]) -> tuple[float, float]:
    """Wall and processor seconds."""
    before, started = _processor(), time.perf_counter()
    run()
    return time.perf_counter() - started, _processor() - before


def _processor() -> float:
    """The processor seconds of this process and all that it has started."""
    ticks = 0
    for pid in _family(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks * TICK


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    main(parser.parse_args())

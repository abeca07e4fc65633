"""Four views, kept fresh by each executor, beside Spark's full recomputation and overwrite of each.

`python benchmarks/spark.py --rows 1000000`: line items of orders of customers; a change takes some line items away and
brings as many others. The views are an aggregate over two joins, the rows of these joins, COUNT DISTINCT, and a window
function. Processor time is that of this process, its JVM and all of its Python workers.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import TICK, Processor, report
from pages import Work, measured, session

import deltic

TABLES = {
    "lineitem": "CREATE TABLE lineitem (id BIGINT, o BIGINT, p BIGINT, price BIGINT, PRIMARY KEY (id))",
    "orders": "CREATE TABLE orders (o BIGINT, c BIGINT, PRIMARY KEY (o))",
    "customer": "CREATE TABLE customer (c BIGINT, nation STRING, PRIMARY KEY (c))",
}
VIEWS = {
    "revenue": """SELECT nation, count(*) AS items, sum(price) AS revenue
        FROM lineitem JOIN orders USING (o) JOIN customer USING (c) GROUP BY nation""",
    "sold": "SELECT id, price, nation FROM lineitem JOIN orders USING (o) JOIN customer USING (c)",
    "buyers": "SELECT p, count(DISTINCT c) AS customers FROM lineitem JOIN orders USING (o) GROUP BY p",
    "places": "SELECT id, o, row_number() OVER (PARTITION BY o ORDER BY price DESC, id) AS place FROM lineitem",
}
PROCESSOR = Processor()
PARTS = (0.0001, 0.01, 0.05)
TIMES = 3
EXECUTORS = ("local", "process", "job")
# Rows of a load before the first one that counts: compiled code is read, and Spark's workers begin.
_WARM = 1000
NATIONS = [f"nation {i}" for i in range(25)]
HEADER = ["view", "executor", "change", "wall s", "cpu s", "visited/row", "cpu ratio", "wall ratio", "jobs", "stages"]
HEADER += ["rows sent", "MiB sent", "MiB read", "MiB written"]
NOTES = f"""\
revenue: an aggregate over two joins; sold: the rows of these joins; buyers: COUNT DISTINCT over a join; places:
row_number by order. A change of a part of the line items deletes half as many and inserts as many others, in one
transaction; the median of {TIMES}. cpu: processor seconds of all processes. Spark: the query over Parquet files of the
tables, its result overwritten; the change itself is not written to them. Deltic keeps the view in its state, and
nobody reads its change. Each executor has taken a load of {_WARM:,} line items before. ratio: Spark's time over the
executor's, of which less than what Linux tells apart counts as so much. visited/row: rows and index entries looked at
for each changed row. jobs to MiB sent: of one refresh, from Spark's own pages; sent: from stage to stage. MiB read and
written: from and to files, as reports tell, and for Spark its pages, which do not tell what its reader of Parquet
reads; of files that are mapped all that Linux brings with a page counts, 64 KiB to 2 MiB. files: a change that is too
small for a job runs in the driver's process, from the same files. All executors end with equal
views, which is checked."""


@dataclass(frozen=True)
class Refresh:
    """What one refresh took; `work` is Spark's part of it, None where it had none."""

    wall: float
    cpu: float
    visited: float = 0.0
    work: Work | None = None
    read: int = 0
    written: int = 0


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    rows: list[list[object]] = []
    with session(options.cores) as spark, tempfile.TemporaryDirectory() as scratch:
        for view in options.views:
            rows += _of_view(spark, view, options, Path(scratch))
    notes = f"{options.note}\n{NOTES}" if options.note else NOTES
    report(options.name, f"{options.rows:,} line items, local[{options.cores}]", HEADER, rows, notes)


def _of_view(spark: Any, view: str, options: argparse.Namespace, scratch: Path) -> list[list[object]]:
    """The rows of the report about a view, of all executors."""
    shards = options.shards
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "local": ("local engine", {}),
        "process": (
            f"{shards} shards, process",
            {"engine": "spark", "shards": deltic.Shards(shards, executor="process")},
        ),
        "job": (
            f"{shards} shards, one job",
            {"engine": "spark", "shards": deltic.Shards(shards, scratch / "shards", "job")},
        ),
    }
    whole = _recompute(spark, VIEWS[view], options.rows, scratch)
    rows, ends = [], []
    for kind, given in (kinds[name] for name in options.executors):
        next(epochs(spark, deltic.Pipeline(spark, **given), view, _WARM))
        pipeline = deltic.Pipeline(spark, **(given or {"engine": "local", "resources": deltic.Resources(threads=1)}))
        for part, found in epochs(spark, pipeline, view, options.rows):
            place = kind if found.work is None or found.work.jobs else kind.replace("one job", "files")
            rows.append([view, place, f"{part:.2%}" if part else "bootstrap", *_told(found, whole)])
        order = [(name, "ascending") for name in pipeline[view].to_arrow().column_names]
        ends.append(pipeline[view].to_arrow().sort_by(order).combine_chunks())
    assert all(end.equals(ends[0]) for end in ends), "the executors disagree"
    return [*rows, [view, "Spark", "recompute", *_told(whole, whole)]]


def _told(one: Refresh, whole: Refresh) -> list[object]:
    """The cells about a refresh, beside a full recomputation."""
    parts: list[object] = [f"{one.wall:.3f}", f"{one.cpu:.3f}", f"{one.visited:.1f}" if one.visited else "-"]
    parts += [f"{ratio:.1f}" for ratio in (whole.cpu / max(one.cpu, TICK), whole.wall / one.wall)]
    if one.work is None or not (one.work.jobs or one.written):
        return [*parts, 0, 0, 0, *["0.00"] * 3]
    read = f"{one.read / 2**20:.2f}" if one.read else "-"
    sent, written = f"{one.work.sent / 2**20:.2f}", f"{(one.written or one.work.written) / 2**20:.2f}"
    return [*parts, one.work.jobs, one.work.stages, f"{one.work.rows:,}", sent, read, written]


def tables_of(count: int) -> dict[str, pa.Table]:
    rng = np.random.default_rng(14)
    orders, customers = max(1, count // 4), max(1, count // 40)
    names = np.array(NATIONS)[rng.integers(0, len(NATIONS), customers)]
    return {
        "lineitem": items_of(np.arange(count), rng, orders),
        "orders": pa.table({"o": np.arange(orders), "c": rng.integers(0, customers, orders)}),
        "customer": pa.table({"c": np.arange(customers), "nation": names}),
    }


def items_of(ids: np.ndarray, rng: np.random.Generator, orders: int) -> pa.Table:
    count = len(ids)
    drawn = {"o": rng.integers(0, orders, count), "p": rng.integers(0, 1000, count)}
    return pa.table({"id": ids, **drawn, "price": rng.integers(1, 10_000, count)})


def epochs(spark: Any, pipeline: deltic.Pipeline, view: str, count: int) -> Iterator[tuple[float, Refresh]]:
    """The bootstrap, and of each part of a change the refresh whose wall time is the median."""
    for statement in TABLES.values():
        pipeline.sql(statement)
    pipeline.sql(f"CREATE MATERIALIZED VIEW {view} AS {VIEWS[view]}")
    tables = tables_of(count)
    rng = np.random.default_rng(15)
    yield 0.0, transaction(spark, pipeline, {name: (None, rows) for name, rows in tables.items()})
    items, start, orders = tables["lineitem"], 0, len(tables["orders"])
    for part in PARTS:
        half = max(1, int(count * part / 2))
        found = []
        for _ in range(TIMES):
            gone, new = items.slice(start, half), items_of(np.arange(count + start, count + start + half), rng, orders)
            found.append(transaction(spark, pipeline, {"lineitem": (gone, new)}))
            start += half
        yield part, _median(found)


def _median(found: list[Refresh]) -> Refresh:
    """The refresh in the middle, with the median of processor time."""
    middle = sorted(found, key=lambda one: one.wall)[len(found) // 2]
    cpu = statistics.median(one.cpu for one in found)
    return Refresh(middle.wall, cpu, middle.visited, middle.work, middle.read, middle.written)


def transaction(spark: Any, pipeline: deltic.Pipeline, changes: dict[str, tuple[pa.Table | None, pa.Table]]) -> Refresh:
    def run() -> None:
        with pipeline.transaction() as change:
            for name, (gone, new) in changes.items():
                if gone is not None:
                    change.delete(name, gone)
                change.insert(name, new)
        reports.append(change.report)

    reports: list[deltic.pipeline.epochs.report.EpochReport] = []
    wall, cpu, work = _timed(spark, run)
    told = reports[0]
    return Refresh(wall, cpu, told.rows_visited / told.rows_in, work, told.bytes_read, told.bytes_written)


def _recompute(spark: Any, query: str, count: int, scratch: Path) -> Refresh:
    """Spark's recomputation that is the median, after one that warms up."""
    for name, rows in tables_of(count).items():
        pq.write_table(rows, scratch / f"{name}.parquet")
        spark.read.parquet(str(scratch / f"{name}.parquet")).createOrReplaceTempView(name)

    def run() -> None:
        spark.sql(query).write.mode("overwrite").parquet(str(scratch / "view"))

    run()
    return _median([Refresh(wall, cpu, work=work) for wall, cpu, work in (_timed(spark, run) for _ in range(TIMES))])


def _timed(spark: Any, run: Callable[[], None]) -> tuple[float, float, Work]:
    """Wall and processor seconds, and what Spark did."""
    found: list[tuple[float, float]] = []
    work = measured(spark, lambda: found.append(timed(run)))
    return *found[0], work


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    before, started = PROCESSOR.seconds(), time.perf_counter()
    run()
    return time.perf_counter() - started, PROCESSOR.seconds() - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--views", nargs="+", default=list(VIEWS), choices=list(VIEWS))
    parser.add_argument("--executors", nargs="+", default=list(EXECUTORS), choices=EXECUTORS)
    parser.add_argument("--name", default="spark", help="of the file of results")
    parser.add_argument("--note", default="", help="what is to be known of this run")
    main(parser.parse_args())

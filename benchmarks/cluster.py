"""Epochs as jobs on a standalone cluster on loopback: Galen, and how cost grows with workers and shards.

`PYTHONPATH=. python benchmarks/cluster.py growth --rows 200000` and `… galen`: a master and workers of one core each,
with memory of 512 MiB, as tests/standalone.py starts them. What Spark did is read from its own pages.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import galen
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import spark as revenue
from harness import report
from pages import measured
from tests.standalone import Standalone, session

import deltic

WORKERS, SHARDS, PART, TIMES = (1, 2), (2, 4, 8), 0.01, 3
NOTES = """\
Two joins and an aggregate as in benchmarks/spark.py, every epoch one job; changes of 1 %, the median of 3. rows
sent, MiB sent: letters between the driver and the stages and from stage to stage, from Spark's own pages; MiB read,
written: by tasks and the driver, from and to files, of mapped ones the pages that came; task s: the time of all
tasks together, of which the longest is `slowest`. visited/row: rows and index entries looked at for each changed
row. Workers have one core each, of one machine with two. All views are equal, which is checked."""
GALEN = """\
Every epoch is one job of two shards on two workers, whose executors have a heap of 1 GiB; the recursion is on one
shard. MiB sent: through Spark. MiB read, written: from and to files, by the tasks and the driver; of files that are
mapped the pages that came, 64 KiB to 2 MiB at a time. The views have the sizes that are known of Galen, the deletion
changes them as it does in the local engine, which is checked row by row, and so does putting the rows back."""


def growth(count: int, note: str) -> None:
    """Measure the revenue view with each number of workers and shards."""
    rows: list[list[object]] = []
    views = []
    for workers in WORKERS:
        with OnCluster(workers) as (spark, folder):
            for shards in SHARDS:
                pipeline = deltic.Pipeline(spark, engine="spark", shards=deltic.Shards(shards, folder, "job"))
                for change, one in _epochs(spark, pipeline, count):
                    work = one.work
                    assert work is not None
                    parts = [f"{work.wall:.2f}", work.jobs, work.stages, work.tasks, f"{work.rows:,}"]
                    parts += [f"{size / 2**20:.2f}" for size in (work.sent, one.read, one.written)]
                    parts += [f"{work.busy:.2f}", f"{work.slowest:.2f}", f"{one.visited:.1f}"]
                    rows.append([workers, shards, change, *parts])
                views.append(sorted(pipeline["revenue"]))
    assert all(view == views[0] for view in views), "the views differ"
    header = ["workers", "shards", "change", "wall s", "jobs", "stages", "tasks", "rows sent", "MiB sent", "MiB read"]
    header += ["MiB written", "task s", "slowest", "visited/row"]
    report("cluster-growth", f"{count:,} line items on a cluster", header, rows, note + NOTES)


class OnCluster:
    """A cluster and a session on it, and a directory for shards."""

    def __init__(self, workers: int, memory: str = "512m") -> None:
        self._memory = memory
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._cluster = Standalone(Path(self._folder.name) / "cluster", workers, memory=memory)

    def __enter__(self) -> tuple[Any, Path]:
        folder = Path(self._folder.name)
        given = {"spark_ui_enabled": "true", "spark_ui_port": "0", "spark_driver_maxResultSize": "0"}
        memory = {"spark_executor_memory": self._memory, "spark_driver_memory": self._memory}
        self._spark = session(folder, self._cluster.master, **given, **memory)
        return self._spark, folder / "shards"

    def __exit__(self, *_: object) -> None:
        self._spark.stop()
        self._cluster.close()
        self._folder.cleanup()


def _epochs(spark: Any, pipeline: deltic.Pipeline, count: int) -> Iterator[tuple[str, revenue.Refresh]]:
    """The first load, and the change whose time is the median."""
    for statement in revenue.TABLES.values():
        pipeline.sql(statement)
    pipeline.sql(f"CREATE MATERIALIZED VIEW revenue AS {revenue.VIEWS['revenue']}")
    tables, rng = revenue.tables_of(count), np.random.default_rng(15)
    yield "first load", revenue.transaction(spark, pipeline, {name: (None, rows) for name, rows in tables.items()})
    items, start, half = tables["lineitem"], 0, max(1, int(count * PART / 2))
    found = []
    for _ in range(TIMES):
        new = revenue.items_of(np.arange(count + start, count + start + half), rng, len(tables["orders"]))
        found.append(revenue.transaction(spark, pipeline, {"lineitem": (items.slice(start, half), new)}))
        start += half
    yield f"{PART:.0%}", sorted(found, key=lambda one: one.wall)[TIMES // 2]


def galen_by_jobs(note: str) -> None:
    """Bootstrap Galen, delete ten rows and put them back, each as a job."""
    with tempfile.TemporaryDirectory() as name, OnCluster(2, "1g") as (spark, folder):
        removed = galen.prepare(Path(name))
        unnamed = csv.ReadOptions(autogenerate_column_names=True)
        tables = {n: csv.read_csv(Path(name) / "facts" / f"{n}.txt", read_options=unnamed) for n in galen.TABLES}
        tables = {n: table.rename_columns(list(galen.COLUMNS[n])) for n, table in tables.items()}
        ten = pa.table([[int(row.split(",")[i]) for row in removed] for i in range(2)], names=["x", "z"])
        shards = deltic.Shards(2, folder, "job", rounds="never")
        pipeline = deltic.Pipeline(
            spark, engine="spark", shards=shards, transactions=deltic.Transactions(conflicts="normalize")
        )
        pipeline.datalog(galen.PROGRAM)
        rows: list[list[object]] = []

        def epoch(message: str, gone: dict[str, pa.Table], new: dict[str, pa.Table]) -> deltic.Transaction:
            changes: list[deltic.Transaction] = []

            def run() -> None:
                with pipeline.transaction() as change:
                    for name, table in gone.items():
                        change.delete(name, table)
                    for name, table in new.items():
                        change.insert(name, table)
                changes.append(change)

            work, views = measured(spark, run), {}
            for view in galen.EXPECTED:
                views[view] = changes[0].of(view)
            told_rows = " ".join(f"{v} +{c.inserted} -{c.deleted}" for v, c in views.items())
            report = changes[0].report
            sizes = (f"{size / 2**20:.1f}" for size in (work.sent, report.bytes_read, report.bytes_written))
            rows.append([message, f"{work.wall:.1f}", work.jobs, work.stages, work.tasks, *sizes, told_rows])
            return changes[0]

        epoch("first load", {}, tables)
        assert {name: len(pipeline[name]) for name in galen.EXPECTED} == galen.EXPECTED
        deleted = epoch("ten rows of p deleted", {"p": ten}, {})
        back = epoch("put back", {}, {"p": ten})
        assert {name: len(pipeline[name]) for name in galen.EXPECTED} == galen.EXPECTED
        local = galen.bootstrap(tables)
        for wanted, change in ((deleted, {"delete": ten}), (back, {"insert": ten})):
            with local.transaction() as done:
                for what, those in change.items():
                    getattr(done, what)("p", those)
            for view in galen.EXPECTED:
                assert _sorted(done.of(view).to_arrow()).equals(_sorted(wanted.of(view).to_arrow())), view
        report(
            "cluster-galen",
            "Galen on a cluster",
            ["epoch", "wall s", "jobs", "stages", "tasks", "MiB sent", "MiB read", "MiB written", "changes"],
            rows,
            note + GALEN,
        )


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["growth", "galen"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--note", default="", help="what is to be known of this run")
    options = parser.parse_args()
    note = f"{options.note}\n" if options.note else ""
    growth(options.rows, note) if options.what == "growth" else galen_by_jobs(note)

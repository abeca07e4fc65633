"""A star on shards as Spark jobs: a large table joined with three small ones, with copies of these and without.

`python benchmarks/star.py --rows 100000`: sales of articles in shops to customers, summed up by kind, town and nation.
Beside each epoch stands what Spark's own pages tell of its job.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import report
from pages import session
from spark import Refresh, transaction

import deltic
from deltic.engine.executors.placed import CopiesChoice

DIMENSIONS = {"article": ("kind", 2000, 20), "shop": ("town", 300, 30), "customer": ("nation", 4000, 25)}
FACTS = (
    """CREATE TABLE sale (id BIGINT, article BIGINT, shop BIGINT, customer BIGINT, price BIGINT, PRIMARY KEY (id))"""
)
VIEW = """CREATE MATERIALIZED VIEW sold AS
    SELECT kind, town, nation, count(*) AS items, sum(price) AS revenue
    FROM sale JOIN article USING (article) JOIN shop USING (shop) JOIN customer USING (customer)
    GROUP BY kind, town, nation"""
HEADER = ["copies", "epoch", "wall s", "cpu s", "rows changed", "visited", "jobs", "stages"]
HEADER += ["rows sent", "MiB sent", "MiB read", "MiB written"]
CHOICES: tuple[CopiesChoice, ...] = ("never", "auto")
NOTES = """\
cpu: processor seconds of all processes. visited: rows and index entries looked at. jobs to MiB sent: from Spark's own
pages; sent: from stage to stage, as letters, which hold the rows or name files of them. MiB read and written: from and
to files, as reports tell. Both end with equal views, which is checked."""


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    rows, ends = list[list[object]](), list[pa.Table]()
    with session(options.cores) as spark, tempfile.TemporaryDirectory() as scratch:
        for choice in CHOICES:
            shards = deltic.Shards(options.shards, Path(scratch) / choice, "job", copies=choice)
            list(_epochs(spark, deltic.Pipeline(spark, engine="spark", shards=shards), options.rows // 100))
            pipeline = deltic.Pipeline(spark, engine="spark", shards=shards)
            for what, changed, found in _epochs(spark, pipeline, options.rows):
                rows.append([choice, what, *_told(found, changed)])
            order = [(name, "ascending") for name in ("kind", "town", "nation")]
            ends.append(pipeline["sold"].to_arrow().sort_by(order).combine_chunks())
            print(pipeline.explain("sold"))
    assert ends[0].equals(ends[1]), "the views differ"
    report("star", f"{options.rows:,} sales, {options.shards} shards, local[{options.cores}]", HEADER, rows, NOTES)


def _epochs(spark: Any, pipeline: deltic.Pipeline, count: int) -> Iterator[tuple[str, int, Refresh]]:
    """The load, a change of sales, and one of a row of each small table."""
    rng = np.random.default_rng(14)
    pipeline.sql(FACTS)
    for name, (what, _, _) in DIMENSIONS.items():
        pipeline.sql(f"CREATE TABLE {name} ({name} BIGINT, {what} BIGINT, PRIMARY KEY ({name}))")
    pipeline.sql(VIEW)
    small = {
        name: pa.table({name: np.arange(size), what: rng.integers(0, of, size)})
        for name, (what, size, of) in DIMENSIONS.items()
    }
    tables = {"sale": _sales(rng, np.arange(count)), **small}
    total = sum(len(rows) for rows in tables.values())
    yield "load", total, transaction(spark, pipeline, {name: (None, rows) for name, rows in tables.items()})
    new = _sales(rng, np.arange(count, count + count // 100))
    yield "1 % of sales", len(new), transaction(spark, pipeline, {"sale": (None, new)})
    for name, (what, _, of) in DIMENSIONS.items():
        gone = small[name].slice(7, 1)
        other = pa.table({name: gone.column(name), what: [(gone.column(what)[0].as_py() + 1) % of]})
        yield f"a row of {name}", 2, transaction(spark, pipeline, {name: (gone, other)})


def _sales(rng: np.random.Generator, ids: np.ndarray) -> pa.Table:
    drawn = {name: rng.integers(0, size, len(ids)) for name, (_, size, _) in DIMENSIONS.items()}
    return pa.table({"id": ids, **drawn, "price": rng.integers(1, 10_000, len(ids))})


def _told(one: Refresh, changed: int) -> list[object]:
    """The cells about an epoch."""
    assert one.work is not None
    sizes = [f"{size / 2**20:.2f}" for size in (one.work.sent, one.read, one.written)]
    visited = f"{one.visited * changed:,.0f}"
    parts = [f"{one.wall:.2f}", f"{one.cpu:.2f}", f"{changed:,}", visited, one.work.jobs, one.work.stages]
    return [*parts, f"{one.work.rows:,}", *sizes]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    main(parser.parse_args())

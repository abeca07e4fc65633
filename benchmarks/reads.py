"""What a job reads of a state that is not on this machine's disk: the blocks near the changed rows.

`python benchmarks/reads.py`: views of every kind of look-up over line items, kept by jobs on shards whose files are
behind fsspec (`local://`, so that nothing is mapped). Two rows change, then a thousandth of all.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import report
from pages import session

import deltic

VIEWS = {
    "join": "SELECT id, c, price FROM item JOIN orders USING (o)",
    "no match": "SELECT id, o FROM item WHERE o NOT IN (SELECT o FROM orders)",
    "sum": "SELECT o, sum(price) AS s, count(*) AS n FROM item GROUP BY o",
    "min": "SELECT o, min(price) AS least FROM item GROUP BY o",
    "distinct": "SELECT o, count(DISTINCT price) AS n FROM item GROUP BY o",
    "median": "SELECT o, median(price) AS middle FROM item GROUP BY o",
    "rank": "SELECT id, o, row_number() OVER (PARTITION BY o ORDER BY price DESC, id) AS k FROM item",
    "running": "SELECT id, sum(price) OVER (PARTITION BY o ORDER BY id) AS s FROM item",
}
HEADER = ["view", "MiB written", "2 rows: KiB read", "visited/row", "0.1 %: MiB read", "visited/row"]
NOTES = """\
written: by the load, all files of the shards. read: from files, in blocks of 256 KiB, by all tasks of the epoch's job
and the driver. A task reads the description of its shard, heads of pieces, fences, and the blocks of runs between
those fences that changed rows fall in."""


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    rows: list[list[object]] = []
    with session(2) as spark, tempfile.TemporaryDirectory() as scratch:
        for number, (view, query) in enumerate(VIEWS.items()):
            place = f"local://{Path(scratch) / str(number)}"
            shards = deltic.Shards(options.shards, place, executor="job")
            rows.append([view, *_measured(deltic.Pipeline(spark, engine="spark", shards=shards), query, options.rows)])
    title = f"{options.rows:,} line items, {options.shards} shards behind fsspec, jobs on local[2]"
    report(options.name, title, HEADER, rows, f"{options.note}\n{NOTES}" if options.note else NOTES)


def _measured(pipeline: deltic.Pipeline, query: str, count: int) -> list[str]:
    pipeline.sql("CREATE TABLE item (id BIGINT PRIMARY KEY, o BIGINT, price BIGINT)")
    pipeline.sql("CREATE TABLE orders (o BIGINT PRIMARY KEY, c BIGINT)")
    pipeline.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    rng, orders = np.random.default_rng(14), count // 4
    with pipeline.transaction() as change:
        change.insert("item", _items(rng, 0, count, orders))
        change.insert("orders", pa.table({"o": np.arange(orders), "c": rng.integers(0, 1000, orders)}))
    parts, end = [f"{change.report.bytes_written / 2**20:.1f}"], count
    for more, unit in ((2, 2**10), (count // 1000, 2**20)):
        with pipeline.transaction() as change:
            change.insert("item", _items(rng, end, more, orders))
        end += more
        parts += [f"{change.report.bytes_read / unit:.1f}", f"{change.report.rows_visited / more:.1f}"]
    return parts


def _items(rng: np.random.Generator, first: int, count: int, orders: int) -> pa.Table:
    drawn = {"o": rng.integers(0, orders, count), "price": rng.integers(1, 10_000, count)}
    return pa.table({"id": np.arange(first, first + count), **drawn})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--name", default="reads", help="of the file of results")
    parser.add_argument("--note", default="", help="what is to be known of this run")
    main(parser.parse_args())

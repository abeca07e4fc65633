"""A hot key on shards: how much longer the slowest of eight takes than the mean, when one key has many of the rows.

`PYTHONPATH=. python benchmarks/skew.py`: 10^6 rows, of which an epoch replaces 1 %. Measured is the processor time of
each shard, in this process: that is what each would take as a task of its own.
"""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np
import pyarrow as pa
from harness import report

import deltic
from deltic.engine.executors.shards.exchange import Inbox
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.shard import Shard

ROWS, KEYS, SHARDS, CHANGED, TIMES = 1_000_000, 100_000, 8, 10_000, 5
HOT = (0.0, 0.01, 0.3)
VIEWS = {
    "sum of a join": "SELECT k, shop, sum(v) AS s, count(*) AS n FROM sale JOIN item USING (k) GROUP BY k, shop",
    "rows of a join": "SELECT id, k, shop, v FROM sale JOIN item USING (k)",
    "max": "SELECT k, max(v) AS m FROM sale GROUP BY k",
    "COUNT(DISTINCT)": "SELECT k, count(DISTINCT v) AS n FROM sale GROUP BY k",
    "row_number()": "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v, id) AS r FROM sale",
}
NOTES = """\
mean, slowest: processor milliseconds of the eight shards for an epoch that replaces 1 % of 10^6 rows; medians of 5
epochs. factor: how much longer the slowest takes. A key has its rows on one shard, and the others wait for it."""

SPENT: defaultdict[int, float] = defaultdict(float)


def main() -> None:
    """Print the table."""
    run = Shard.run

    def timed(shard: Shard, stage: int, inbox: Inbox) -> list[Message]:
        started = time.thread_time()
        try:
            return run(shard, stage, inbox)
        finally:
            SPENT[shard.number] += time.thread_time() - started

    Shard.run = timed  # type: ignore[assignment, method-assign]
    rows = [[view, f"{hot:.0%}", *measured(query, hot)] for view, query in VIEWS.items() for hot in HOT]
    report("skew", "A hot key on 8 shards", ["view", "rows of the key", "mean", "slowest", "factor"], rows, NOTES)


def measured(query: str, hot: float) -> list[str]:
    """The mean and the slowest of the shards' times, and how they compare."""
    rng = np.random.default_rng(1)
    pipeline = deltic.Pipeline(engine="spark", shards=deltic.Shards(SHARDS, executor="process"))
    pipeline.sql("""
        CREATE TABLE item (k BIGINT PRIMARY KEY, shop BIGINT);
        CREATE TABLE sale (id BIGINT, k BIGINT, v BIGINT)
    """)
    pipeline.sql(f"CREATE VIEW view AS {query}")
    sales = sales_of(0, ROWS, hot, rng)
    with pipeline.transaction() as change:
        change.insert("item", pa.table({"k": np.arange(KEYS), "shop": np.arange(KEYS) % 100}))
        change.insert("sale", sales)
    found = []
    for epoch in range(TIMES):
        SPENT.clear()
        with pipeline.transaction() as change:
            change.delete("sale", sales.slice(epoch * CHANGED, CHANGED // 2))
            change.insert("sale", sales_of(ROWS + epoch * CHANGED, CHANGED // 2, hot, rng))
        found.append((1000 * sum(SPENT.values()) / SHARDS, 1000 * max(SPENT.values())))
    mean, slowest = (sorted(times)[TIMES // 2] for times in zip(*found, strict=True))
    return [f"{mean:.1f}", f"{slowest:.1f}", f"{slowest / mean:.2f}"]


def sales_of(start: int, count: int, hot: float, rng: np.random.Generator) -> pa.Table:
    """Sales from a number on, a part of them of one item."""
    keys = np.where(rng.random(count) < hot, 0, rng.integers(1, KEYS, count))
    return pa.table({"id": np.arange(start, start + count), "k": keys, "v": rng.integers(0, 1000, count)})


if __name__ == "__main__":
    main()

"""Changes by key in tables of growing size: `python -m benchmarks.by_key [ROWS…]`.

Each statement changes one or two rows, and so costs the same in every table. Prints the processor time of each, in
milliseconds, the median of nine.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

import deltic

REPEATS = 9


def table(rows: int) -> deltic.Pipeline:
    """A table with a key that is not its first column, and a view of sums over it."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (x STRING, id INT PRIMARY KEY, c BIGINT)")
    pipeline.sql("CREATE VIEW v AS SELECT x, sum(c) AS s FROM t GROUP BY x")
    rng = np.random.default_rng(1)
    ids = pa.array(np.arange(rows), pa.int32())
    with pipeline.transaction() as change:
        change.insert(
            "t", pa.table({"id": ids, "x": [f"k{i % 1000}" for i in range(rows)], "c": rng.integers(0, 9, rows)})
        )
    return pipeline


def statements(pipeline: deltic.Pipeline, rows: int) -> dict[str, Callable[[int], object]]:
    """What is measured; each is called with a number of its own."""

    def change(what: str, *arguments: object) -> None:
        with pipeline.transaction() as transaction:
            getattr(transaction, what)("t", *arguments)

    return {
        "insert": lambda i: change("insert", [("k1", rows + i, 5)]),
        "upsert": lambda i: change("upsert", [("k1", i, 5)]),
        "update by key": lambda i: change("update", [{"id": 20 + i, "c": i}]),
        "delete by key": lambda i: change("delete", [(40 + i,)]),
        "INSERT": lambda i: pipeline.execute("INSERT INTO t VALUES ('k1', ?, 5)", [rows + 1000 + i]),
        "INSERT … ON CONFLICT": lambda i: pipeline.execute(
            "INSERT INTO t VALUES ('k1', ?, 5) ON CONFLICT (id) DO UPDATE SET c = excluded.c", [60 + i]
        ),
        "UPDATE … WHERE key =": lambda i: pipeline.execute("UPDATE t SET c = c + 1 WHERE id = ?", [80 + i]),
        "DELETE … WHERE key IN": lambda i: pipeline.execute("DELETE FROM t WHERE id IN (?, ?)", [100 + i, 200 + i]),
        "MERGE": lambda i: pipeline.execute(
            "MERGE INTO t USING (SELECT :i AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET c = 0", {"i": 300 + i}
        ),
        "SELECT … WHERE key =": lambda i: pipeline.query("SELECT c FROM t WHERE id = ?", [400 + i]),
        "lookup": lambda i: pipeline["t"].lookup(id=500 + i).to_arrow(),
    }


def measured(call: Callable[[int], object]) -> float:
    """The processor time of a call, in milliseconds."""
    call(REPEATS)
    times = []
    for number in range(REPEATS):
        started = time.process_time()
        call(number)
        times.append(1000 * (time.process_time() - started))
    return statistics.median(times)


def main(sizes: list[int]) -> None:
    """Print a line for each statement, and a column for each size."""
    columns = []
    for rows in sizes:
        pipeline = table(rows)
        columns.append({name: measured(call) for name, call in statements(pipeline, rows).items()})
    print(f"{'ms':24}" + "".join(f"{rows:>12,}" for rows in sizes))
    for name in columns[0]:
        print(f"{name:24}" + "".join(f"{column[name]:12.1f}" for column in columns))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000])

"""What a refresh reads and writes: a folder of Parquet files, a view of it published to another.

`python benchmarks/refresh.py [--files N --rows N]`: each line is a change of the folder, and a process's worth of work,
as a scheduler has it: open the state, refresh, close. Beside it stands DuckDB, which computes the view from all files
and writes it whole, on as many threads. CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import report

import deltic
from deltic.pipeline.refreshing import RefreshReport

T = TypeVar("T")
VIEW = "SELECT customer, count(*) AS n, sum(price) AS total, max(day) AS last FROM orders GROUP BY customer"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20_000, help="of each file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        table = list(_lines(Path(scratch), options.files, options.rows))
    header = ["change", "seconds", "files read", "KiB", "rows of the view", "files written", "KiB", "recomputed"]
    notes = (
        f"{options.files} files of {options.rows:,} rows, {options.rows * options.files // 20:,} customers; the view's "
        "files have about 2,000 rows.\nseconds: CPU of opening the state, refresh and close; recomputed: of DuckDB, "
        "from all files, written whole."
    )
    report("refresh", "Refreshes of a folder of Parquet files", header, table, notes)


def _lines(scratch: Path, files: int, rows: int) -> Iterator[list[str]]:
    orders, customers = scratch / "orders", files * rows // 20
    orders.mkdir()
    rng = np.random.default_rng(0)
    for number in range(files):
        _write(rng, orders / f"{number:05}.parquet", rows, customers)
    seconds, loaded = _measured(lambda: _defined(scratch, orders))
    whole, _ = _measured(lambda: _recomputed(orders, scratch / "whole.parquet"))
    size = sum(path.stat().st_size for path in orders.iterdir()) >> 10
    yield ["defined and loaded", f"{seconds:.2f}", f"{files:,}", f"{size:,}", f"{loaded:,}", "0", "0", f"{whole:.2f}"]
    changes: dict[str, Callable[[], object]] = {
        "published first": lambda: None,
        "nothing": lambda: None,
        "1 file of 20 rows more": lambda: _write(rng, orders / "a.parquet", 20, customers),
        "1 file of 400 rows more": lambda: _write(rng, orders / "b.parquet", 400, customers),
        f"1 file of {rows:,} rows more": lambda: _write(rng, orders / "c.parquet", rows, customers),
        "1 file with 5 rows changed": lambda: _changed(orders / "00003.parquet"),
        "1 file less": lambda: (orders / "00007.parquet").unlink(),
    }
    for name, change in changes.items():
        change()
        seconds, told = _measured(lambda: _refreshed(scratch / "state"))
        read, (written,) = told.sources["orders"], told.published.values()
        changed = sum(c.inserted + c.deleted for c in told.report.changed.values()) if told.report else 0
        cells = (read.files_read, read.bytes_read >> 10, changed, written.files, written.bytes >> 10)
        whole, _ = _measured(lambda: _recomputed(orders, scratch / "whole.parquet"))
        yield [name, f"{seconds:.2f}", *(f"{cell:,}" for cell in cells), f"{whole:.2f}"]
    differs = f"FROM '{scratch}/totals/*.parquet' EXCEPT FROM '{scratch}/whole.parquet'"
    assert duckdb.execute(f"SELECT count(*) FROM ({differs})").fetchall() == [(0,)]


def _write(rng: np.random.Generator, path: Path, rows: int, customers: int) -> None:
    columns = {"customer": rng.integers(0, customers, rows), "price": rng.integers(1, 100, rows)}
    days = (np.datetime64("2026-01-01") + rng.integers(0, 300, rows)).astype("datetime64[D]")
    pq.write_table(pa.table({**columns, "day": pa.array(days, pa.date32())}), path)


def _changed(path: Path) -> None:
    rows = pq.read_table(path)
    prices = rows.column("price").to_numpy().copy()
    prices[:5] += 1
    pq.write_table(rows.set_column(1, "price", pa.array(prices)), path)


def _defined(scratch: Path, orders: Path) -> int:
    """Define and load the table and its view. Return the number of the view's rows."""
    with deltic.Pipeline(state=scratch / "state") as pipeline:
        pipeline.sql(f"CREATE TABLE orders USING parquet LOCATION '{orders}'; CREATE VIEW totals AS {VIEW}")
        pipeline.publish("totals", deltic.External("parquet", path=scratch / "totals", rows=2_000))
        return len(pipeline["totals"])


def _refreshed(state: Path) -> RefreshReport:
    with deltic.Pipeline(state=state) as pipeline:
        return pipeline.refresh()


def _recomputed(orders: Path, target: Path) -> None:
    query = VIEW.replace("FROM orders", f"FROM '{orders}/*.parquet'").replace("sum(price)", "sum(price)::BIGINT")
    duckdb.execute(f"COPY ({query}) TO '{target}'")


def _measured(do: Callable[[], T]) -> tuple[float, T]:
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = do()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, found


if __name__ == "__main__":
    main()

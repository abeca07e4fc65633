"""TPC-H's 22 queries as maintained views: what a change of orders and their line items costs, beside recomputation.

`python benchmarks/tpch.py --scale 0.1 --generator PATH/tpchgen-cli` generates the data (the package tpchgen-cli of the
Python index, in an environment of its own), and runs each query in a process of its own. `--spark` recomputes with
Spark, too. The queries are in tpch/, as the specification gives them, with its parameters for validation.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from epochs import Epoch, epoch
from harness import report
from isolated import Outcome, isolated

import deltic
from deltic.circuit.operators import Source
from deltic.engine.engine import IncrementalEngine

QUERIES = Path(__file__).parent / "tpch"
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
NAMES = [f"q{number:02}" for number in range(1, 23)]
PARTS = (0.001, 0.01, 0.05)
TIMES = 3
HEADER = [
    "query",
    "bootstrap s",
    *(f"{part:.1%} {what}" for part in PARTS for what in ("ms", "visited/row")),
    "DuckDB ms",
    "2 threads",
    "Spark ms",
    *(f"ratio {part:.1%}" for part in PARTS),
    "Spark ratio",
    "state/tables",
    "equal",
]
NOTES = f"""\
A change deletes a part of the orders with their line items, or inserts them again, in one transaction of a pipeline of
one thread, which checks keys. ms: the median of {TIMES} deletions and {TIMES} insertions; empty where the query reads
neither table. visited/row: rows and index entries visited for each changed row of the tables that the query reads.
DuckDB, Spark: the median of {TIMES} recomputations of the query over tables that they hold. ratio: DuckDB's time, with
one thread, over the refresh, in one process; Spark ratio: its time over the refresh of the smallest part.
state/tables: rows in all column orders, and what groups keep, without the texts themselves, of which there is one copy,
over the bytes of the tables that the query reads, as Arrow has them. equal: the view against DuckDB's answer after the
last deletion and the last insertion, decimals exactly; where DuckDB divides in floats, Deltic's decimal must be its
rounding."""
Change = dict[str, pa.Table]


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    data = Path(options.data) / f"sf{options.scale}"
    if not data.exists():
        command = [options.generator, "parquet", "-q", "-s", options.scale, "-o", str(data)]
        subprocess.run(command, check=True)
    names = options.queries.split(",") if options.queries else NAMES
    spark = dict(isolated(recomputed_by_spark, data, names).values) if options.spark else {}
    rows = [_row(name, isolated(measure, name, data, seconds=options.limit), spark.get(name)) for name in names]
    title = f"TPC-H at scale factor {options.scale}: views refreshed, and queries recomputed"
    report(f"tpch-{options.scale}", title, HEADER, rows, NOTES)


# One query


def measure(name: str, data: Path) -> Iterator[Any]:
    """The bootstrap with the state after it; epochs for each part of the orders; DuckDB's seconds; the comparisons."""
    query = (QUERIES / f"{name}.sql").read_text()
    pipeline = deltic.Pipeline(engine="local", resources=deltic.Resources(threads=1))
    pipeline.sql((QUERIES / "tables.sql").read_text())
    pipeline.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    read = {op.name for op in pipeline.circuit(name).operators if isinstance(op, Source)}
    tables = {table: load(data, table) for table in TABLES if table in read}
    bootstrap = epoch(pipeline, "insert", tables)
    engine = pipeline._epochs.engine
    assert isinstance(engine, IncrementalEngine)
    yield bootstrap.seconds, engine.nbytes / sum(table.nbytes for table in tables.values())
    duckdb = DuckDB(query, tables)
    orders = load(data, "orders")["o_orderkey"].to_numpy()
    _both(pipeline, change_of(tables, orders, PARTS[0], seed=TIMES))
    for part in PARTS:
        changes = [change_of(tables, orders, part, seed) for seed in range(TIMES)]
        yield part, [e for change in changes for e in _both(pipeline, change)]
    last = change_of(tables, orders, PARTS[-1], seed=0)
    equal = []
    for action in ("delete", "insert"):
        epoch(pipeline, action, last)
        duckdb.change(action, last)
        equal.append(same(pipeline[name].to_arrow(), duckdb.answer()))
    yield [duckdb.seconds(threads) for threads in (1, 2)]
    yield all(equal)


def load(data: Path, table: str) -> pa.Table:
    """A table, with texts as Arrow's strings."""
    found = pq.read_table(data / f"{table}.parquet")
    plain = [pa.string() if pa.types.is_string_view(field.type) else field.type for field in found.schema]
    return pa.table([c.cast(t) for c, t in zip(found.columns, plain, strict=True)], names=found.column_names)


def change_of(tables: Mapping[str, pa.Table], orders: np.ndarray[Any, Any], part: float, seed: int) -> Change:
    """A random part of the orders with their line items, of the tables that are read."""
    chosen = pa.array(np.random.default_rng(seed).choice(orders, max(1, int(len(orders) * part)), replace=False))
    keys = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
    return {t: tables[t].filter(pc.is_in(tables[t][key], chosen)) for t, key in keys.items() if t in tables}


def _both(pipeline: deltic.Pipeline, change: Change) -> list[tuple[int, Epoch]]:
    """The changed rows and the epoch of a deletion, and of the insertion that takes it back."""
    rows = sum(len(table) for table in change.values())
    return [(rows, epoch(pipeline, action, change)) for action in ("delete", "insert")] if rows else []


class DuckDB:
    """A query over tables of DuckDB."""

    def __init__(self, query: str, tables: Mapping[str, pa.Table]) -> None:
        import duckdb
        import sqlglot

        self._connection = duckdb.connect(config={"threads": 1})
        self._query = sqlglot.transpile(query, read="spark", write="duckdb")[0]
        for name, rows in tables.items():
            self._connection.register("given", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._connection.unregister("given")

    def change(self, action: str, change: Change) -> None:
        """Delete or insert rows."""
        for name, rows in change.items():
            key = rows.column_names[0]
            self._connection.register("given", rows)
            where = f"DELETE FROM {name} WHERE {key} IN (SELECT {key} FROM given)"
            self._connection.execute(where if action == "delete" else f"INSERT INTO {name} SELECT * FROM given")
            self._connection.unregister("given")

    def answer(self) -> list[tuple[Any, ...]]:
        """The rows of the query."""
        return self._connection.execute(self._query).fetchall()

    def seconds(self, threads: int) -> float:
        """The median time that an answer takes."""
        self._connection.execute(f"SET threads = {threads}")
        return median(self.answer)


def median(run: Any) -> float:
    """The median of the seconds that something takes."""
    found = []
    for _ in range(TIMES):
        started = time.perf_counter()
        run()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def same(found: pa.Table, wanted: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a view has the rows of an answer, in any order."""
    floats = {i for row in wanted for i, value in enumerate(row) if isinstance(value, float)}

    def exact(row: tuple[Any, ...]) -> str:
        return repr([value for i, value in enumerate(row) if i not in floats])

    rows = sorted((tuple(row.values()) for row in found.to_pylist()), key=exact)
    pairs = list(zip(rows, sorted(wanted, key=exact), strict=False))
    return len(rows) == len(wanted) and all(_is(a, b) for x, y in pairs for a, b in zip(x, y, strict=True))


def _is(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, float) or not isinstance(found, Decimal):
        return bool(found == wanted)
    unit = 10.0 ** int(found.as_tuple().exponent)
    return abs(float(found) - wanted) <= unit * 0.5001 + abs(wanted) * 1e-12


def recomputed_by_spark(data: Path, names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """The median seconds of each query over cached tables."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
    for table in TABLES:
        spark.read.parquet(str(data / f"{table}.parquet")).createOrReplaceTempView(table)
        spark.sql(f"CACHE TABLE {table}")
    for name in names:
        query = (QUERIES / f"{name}.sql").read_text()
        spark.sql(query).collect()
        yield name, median(lambda query=query: spark.sql(query).collect())
    spark.stop()


# The table


def _row(name: str, outcome: Outcome, spark: float | None) -> list[object]:
    if outcome.failure or len(outcome.values) < len(PARTS) + 3:
        return [name, outcome.failure or "failed", *[""] * (len(HEADER) - 2)]
    (bootstrap, state), *epochs, duckdb, equal = outcome.values
    refresh = [statistics.median([e.seconds for _, e in found]) if found else None for _, found in epochs]
    per_row = [statistics.median([e.visited / rows for rows, e in found]) if found else None for _, found in epochs]
    measured = [part for r, v in zip(refresh, per_row, strict=True) for part in (_ms(r), _number(v))]
    ratios = [_ratio(duckdb[0], r) for r in refresh]
    theirs = [*map(_ms, duckdb), _ms(spark)]
    last = [_ratio(spark, refresh[0]), f"{state:.2f}", "yes" if equal else "NO"]
    return [name, f"{bootstrap:.2f}", *measured, *theirs, *ratios, *last]


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _ratio(theirs: float | None, ours: float | None) -> str:
    return "" if theirs is None or ours is None else f"{theirs / ours:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="0.1", help="the scale factor, as the generator takes it")
    parser.add_argument("--data", default="/tmp/tpch", help="where the data is, or is to be generated")
    parser.add_argument("--generator", default="tpchgen-cli")
    parser.add_argument("--queries", default="", help="q01,q02,…; all if not told")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one query, its data and its bootstrap")
    parser.add_argument("--spark", action="store_true")
    main(parser.parse_args())

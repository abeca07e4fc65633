"""TPC-DS's 99 queries as maintained views: what a change of the facts costs, beside DuckDB's recomputation.

`python benchmarks/tpcds.py [q1 q5 …] --scale 0.1` measures each query in a process of its own. The data and the texts
of the queries come from the package duckdb-extension-tpcds of the Python index, in an environment of its own below
--data, made at the first run; nothing of them is in the repository. `--profile q5` prints where the time of one query
goes. Where all queries are measured, results are written to results/tpcds.txt, or for other than the default scale and
part to results/tpcds-SCALE-PART.txt.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import subprocess
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from harness import report
from isolated import Outcome, isolated

import deltic

VERSION = "1.5.5"
GENERATE = """
import json, pathlib, sys, duckdb, duckdb_extension_tpcds
(extension,) = pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension")
directory, scale = pathlib.Path(sys.argv[1]), float(sys.argv[2])
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
connection.execute(f"CALL dsdgen(sf={scale})")
for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
    connection.execute(f"COPY {table} TO '{directory / table}.parquet'")
queries = connection.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall()
(directory / "queries.json").write_text(json.dumps({f"q{number}": query for number, query in queries}))
"""
FACTS = {
    "store_sales": ("ss_item_sk", "ss_ticket_number"),
    "store_returns": ("sr_item_sk", "sr_ticket_number"),
    "catalog_sales": ("cs_item_sk", "cs_order_number"),
    "catalog_returns": ("cr_item_sk", "cr_order_number"),
    "web_sales": ("ws_item_sk", "ws_order_number"),
    "web_returns": ("wr_item_sk", "wr_order_number"),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
}
"""The tables that change, with their keys; the key of each other table is its first column."""
SCALE, PART = "0.1", 0.001
EPOCHS = 9
WARM = 3
HEADER = ["query", "changed", "visited", "update ms", "DuckDB ms", "ratio", "goal", "load s", "equal"]
NOTES = f"""\
An epoch deletes and inserts rows of each fact table that the query reads, {{part}} of its rows together, or one of each
where that is less, in one transaction of a pipeline of one thread, which checks keys. changed: the changed rows;
visited: rows and index entries visited; update: processor time, the median of {EPOCHS} epochs after {WARM} others,
whose rows are made before all of them; DuckDB: processor time of a recomputation with one thread over the same rows in
the same process, the median of 5; ratio: DuckDB's time over the update's; goal: whether the update took at most 2 ms
and 1 µs for each row visited; load: processor time of CREATE MATERIALIZED VIEW over the tables. equal: the view against
DuckDB's answer after the last epoch; where it differs, how many rows are in one of the two alone: numbers are compared
by six digits, and the sixth of a mean or a quotient, a decimal here and a float there, may be rounded otherwise."""
Changes = dict[str, tuple[pa.Table, pa.Table]]
"""For each table the rows that are deleted, and those that are inserted."""


def main(options: argparse.Namespace) -> None:
    """Measure and report."""
    directory = generated(options.data, options.scale)
    queries = json.loads((directory / "queries.json").read_text())
    if options.profile:
        print(*measure(directory, queries[options.profile], options.part, profile=True))
        return
    rows = []
    for name in options.queries or list(queries):
        outcome = isolated(measure, directory, queries[name], options.part, seconds=options.limit)
        rows.append([name, *_row(outcome)])
        print(*rows[-1], sep="\t", flush=True)
    print(summary(rows))
    if not options.queries:
        count = sum(pq.read_metadata(file).num_rows for file in directory.glob("*.parquet"))
        title = f"TPC-DS at scale factor {options.scale} ({count:,} rows): views refreshed, and queries recomputed"
        name = "tpcds" if (options.scale, options.part) == (SCALE, PART) else f"tpcds-{options.scale}-{options.part:g}"
        report(name, title, HEADER, rows, f"{NOTES.format(part=f'{100 * options.part:g} %')}\n\n{summary(rows)}")


# The data


def generated(data: Path, scale: str) -> Path:
    """The directory of the tables and queries of a scale factor, made where it is not there."""
    directory = data / f"sf{scale}"
    if not (directory / "queries.json").exists():
        directory.mkdir(parents=True, exist_ok=True)
        python = data / "environment" / "bin" / "python"
        if not python.exists():
            venv.create(data / "environment", with_pip=True)
            packages = [f"duckdb=={VERSION}", f"duckdb-extension-tpcds=={VERSION}"]
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        subprocess.run([python, "-c", GENERATE, str(directory), scale], check=True)
    return directory


def filled(tables: Mapping[str, pa.Table]) -> deltic.Pipeline:
    """A pipeline that has the tables."""
    pipeline = deltic.Pipeline(engine="local", resources=deltic.Resources(threads=1))
    for name, rows in tables.items():
        key = FACTS.get(name, rows.column_names[:1])
        columns = [f"{f.name} {_type(f.type)}{' NOT NULL' * (f.name in key)}" for f in rows.schema]
        pipeline.sql(f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY ({', '.join(key)}))")
    with pipeline.transaction() as change:
        for name, rows in tables.items():
            change.insert(name, rows)
    return pipeline


def _type(type_: pa.DataType) -> str:
    """A column's type in SQL."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    return {pa.int32(): "INT", pa.int64(): "BIGINT", pa.date32(): "DATE", pa.string(): "STRING"}[type_]


class FactChanges:
    """Changes of facts: each epoch deletes the next rows of a random order, and inserts those of the epoch before."""

    def __init__(self, tables: Mapping[str, pa.Table], part: float) -> None:
        self._tables = tables
        rng = np.random.default_rng(1)
        self._orders = {name: rng.permutation(len(rows)) for name, rows in tables.items()}
        self._sizes = {name: max(1, round(len(rows) * part / 2)) for name, rows in tables.items()}

    def of(self, epoch: int) -> Changes:
        """The changes of an epoch; the first deletes alone."""
        return {name: (self._some(name, epoch), self._some(name, epoch - 1)) for name in self._tables}

    def _some(self, name: str, number: int) -> pa.Table:
        size = self._sizes[name]
        return self._tables[name].take(self._orders[name][max(number, 0) * size : (number + 1) * size])


# One query


def measure(directory: Path, query: str, part: float, profile: bool = False) -> Iterator[Any]:
    """Load seconds; of each epoch changed and visited rows and seconds; DuckDB's seconds; the rows that differ."""
    parsed = sqlglot.parse_one(query, read="duckdb")
    files = {directory / f"{table.name}.parquet" for table in parsed.find_all(sqlglot.exp.Table)}
    tables = {file.stem: pq.read_table(file) for file in sorted(files) if file.exists()}
    pipeline, profiler = filled(tables), cProfile.Profile(time.process_time)
    started = time.process_time()
    pipeline.sql(f"CREATE MATERIALIZED VIEW v AS {parsed.sql('spark')}")
    yield time.process_time() - started
    facts = FactChanges({name: tables[name] for name in FACTS if name in tables}, part)
    epochs = [facts.of(number) for number in range(WARM + EPOCHS)]
    for number, changes in enumerate(epochs):
        started = time.process_time()
        if profile and number >= WARM:
            profiler.enable()
        with pipeline.transaction() as transaction:
            for name, (deleted, inserted) in changes.items():
                transaction.delete(name, deleted)
                transaction.insert(name, inserted)
        profiler.disable()
        seconds = time.process_time() - started
        if number >= WARM:
            rows = sum(len(rows) for pair in changes.values() for rows in pair)
            yield rows, transaction.report.rows_visited, seconds
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
    duckdb = DuckDB(query, tables, {name: deleted for name, (deleted, _) in epochs[-1].items()})
    yield duckdb.seconds()
    yield difference(pipeline["v"].to_arrow(), duckdb.answer())


class DuckDB:
    """A query over tables of DuckDB, of which some rows were deleted."""

    def __init__(self, query: str, tables: Mapping[str, pa.Table], deleted: Mapping[str, pa.Table]) -> None:
        import duckdb

        self._connection, self._query = duckdb.connect(config={"threads": 1}), query
        for name, rows in tables.items():
            self._connection.register("given", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._connection.unregister("given")
        for name, rows in deleted.items():
            self._connection.register("given", rows)
            equal = " AND ".join(f"{name}.{column} = given.{column}" for column in FACTS[name])
            self._connection.execute(f"DELETE FROM {name} USING given WHERE {equal}")
            self._connection.unregister("given")

    def answer(self) -> list[tuple[Any, ...]]:
        """The rows of the query."""
        return self._connection.execute(self._query).fetchall()

    def seconds(self) -> float:
        """The median processor time of an answer."""
        return statistics.median(_processor_time(self.answer) for _ in range(5))


def _processor_time(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def difference(view: pa.Table, answer: Sequence[tuple[Any, ...]]) -> int:
    """How many rows are in one of the two alone.

    Numbers count to six digits: means of decimals are decimals, rounded as Spark does it, and DuckDB's are floats.
    """
    mine = Counter(map(_shown, zip(*view.to_pydict().values(), strict=True)))
    theirs = Counter(map(_shown, answer))
    return ((mine - theirs) | (theirs - mine)).total()


def _shown(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(f"{float(v):.6g}" if isinstance(v, int | float | Decimal) else v for v in row)


# The report


def _row(outcome: Outcome) -> list[object]:
    """The columns of a query; of one that did not come to its end, why."""
    if outcome.failure:
        return [*[""] * 7, outcome.failure]
    load, *epochs = outcome.values[: 1 + EPOCHS]
    duckdb, differ = outcome.values[1 + EPOCHS :]
    changed, visited, seconds = (statistics.median(column) for column in zip(*epochs, strict=True))
    goal = "yes" if seconds <= 2e-3 + 1e-6 * visited else "no"
    equal = "equal" if not differ else f"{differ} differ"
    ms = f"{1000 * seconds:.2f}", f"{1000 * duckdb:.1f}"
    return [round(changed), round(visited), *ms, f"{duckdb / seconds:.2f}", goal, f"{load:.1f}", equal]


def summary(rows: Sequence[Sequence[object]]) -> str:
    """What holds of all queries that were measured: medians, and the line of cost against rows visited."""
    if all(row[1] == "" for row in rows):
        return "no query was measured"
    figures = np.array([[float(str(cell)) for cell in row[1:6]] for row in rows if row[1] != ""])
    _, visited, update, duckdb, ratio = figures.T
    slope, floor = np.polyfit(visited, update, 1, w=1 / update)
    return (
        f"{len(figures)} of {len(rows)} queries were measured; an update is faster than DuckDB's recomputation for "
        f"{(ratio > 1).sum()}, and within the goal for {sum(row[6] == 'yes' for row in rows)}. Medians: update "
        f"{np.median(update):.1f} ms, {np.median(visited):,.0f} rows visited, DuckDB {np.median(duckdb):.1f} ms. The "
        f"line of cost against rows visited, fitted by relative errors: {floor:.1f} ms and {1000 * slope:.2f} µs a row."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="*")
    parser.add_argument("--scale", default=SCALE)
    parser.add_argument("--part", type=float, default=PART, help="of the rows of each fact table that change")
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache" / "deltic-tpcds")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a query is stopped")
    parser.add_argument("--profile", help="print where the time of this query goes")
    main(parser.parse_args())

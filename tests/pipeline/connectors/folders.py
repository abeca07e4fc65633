"""A folder of files that changes at random, and what a pipeline over it must show: DuckDB's answer over the files."""

from __future__ import annotations

import shutil

import duckdb
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq

VIEW = "CREATE VIEW income AS SELECT shop, day, sum(price) AS total, count(*) AS n FROM orders GROUP BY shop, day"
SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string()), ("price", pa.int64())])


def rows(rng):
    count = rng.choice((0, 1, 5, 40))
    ids = [rng.randrange(50) for _ in range(count)]
    shops = [rng.choice(["north", "south", "west", None]) for _ in range(count)]
    return pa.table({"id": ids, "shop": shops, "price": [rng.randrange(9) for _ in range(count)]}, schema=SCHEMA)


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pv.write_csv(table, path, pv.WriteOptions(include_header=False, quoting_style="none"))


def change(folder, rng, ending):
    """Add, remove or rewrite a file or a whole sub-folder."""
    files = sorted(folder.rglob(f"*{ending}"))
    what = rng.choice(["add", "add", "add", "remove", "rewrite", "drop"]) if files else "add"
    if what == "add":
        path = folder / f"day=2026-0{rng.randrange(1, 4)}-01" / f"part-{rng.randrange(10**6)}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(rows(rng), path)
    elif what == "remove":
        rng.choice(files).unlink()
    elif what == "rewrite":
        path = rng.choice(files)
        write(rows(rng), path.with_name("_written" + ending))
        path.with_name("_written" + ending).rename(path)
    else:
        shutil.rmtree(rng.choice(files).parent)


def expected(folder, ending):
    """The view, as DuckDB computes it from the files."""
    if not any(folder.rglob(f"*{ending}")):
        return []
    files = f"'{folder}/*/*{ending}', hive_partitioning=true, hive_types={{'day': date}}"
    names = "columns={'id': 'BIGINT', 'shop': 'VARCHAR', 'price': 'BIGINT'}, header=false, auto_detect=false, delim=','"
    source = f"read_parquet({files})" if ending == ".parquet" else f"read_csv({files}, {names})"
    found = duckdb.sql(f"SELECT shop, day, sum(price)::BIGINT, count(*) FROM {source} GROUP BY shop, day").fetchall()
    return sorted(found, key=str)


def shown(pipeline):
    return sorted(pipeline["income"], key=str)

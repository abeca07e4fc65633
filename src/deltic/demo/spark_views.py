"""The views of `program.dl` that are not recursive, in Spark SQL, for comparison.

Spark recomputes such a view in full, from the tables and the recursive views below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.demo.replay import Tables
from deltic.demo.verify import ViewDifference, difference
from deltic.pipeline.session import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = {
    "imports": """
        WITH direct AS (
            SELECT i.module, i.target, i.`when` FROM imports_module i LEFT SEMI JOIN module m ON m.module = i.target
            UNION
            SELECT i.module, s.module, i.`when` FROM imports_name i
            JOIN submodule s ON s.package = i.source AND s.name = i.name
            UNION
            SELECT i.module, i.source, i.`when` FROM imports_name i
            LEFT SEMI JOIN module m ON m.module = i.source
            LEFT ANTI JOIN submodule s ON s.package = i.source AND s.name = i.name)
        SELECT * FROM direct
        UNION
        SELECT d.module, p.package, d.`when` FROM direct d JOIN inside p ON p.module = d.target
        LEFT ANTI JOIN inside own ON own.module = d.module AND own.package = p.package
        WHERE d.module <> p.package
    """,
    "import_cycle": """
        SELECT a.module, a.loaded AS other FROM loads a
        LEFT SEMI JOIN loads b ON b.module = a.loaded AND b.loaded = a.module
        WHERE a.module < a.loaded
    """,
    "in_cycle": "SELECT module FROM loads WHERE module = loaded",
    "extends": """
        SELECT DISTINCT b.class, m.entity AS base FROM base b JOIN means m ON m.at = b.at AND m.path = b.path
        LEFT SEMI JOIN class c ON c.class = m.entity
    """,
    "calls": """
        SELECT c.caller, m.entity AS callee FROM calls_name c JOIN means m ON m.at = c.at AND m.path = c.path
        LEFT SEMI JOIN function f ON f.function = m.entity
        UNION
        SELECT c.caller, i.entity FROM calls_name c JOIN means m ON m.at = c.at AND m.path = c.path
        JOIN member i ON i.class = m.entity AND i.name = '__init__'
        UNION
        SELECT c.caller, o.entity FROM calls_self c JOIN member o ON o.class = c.class AND o.name = c.name
        UNION
        SELECT c.caller, o.entity FROM calls_self c JOIN subclass d ON d.ancestor = c.class
        JOIN member o ON o.class = d.class AND o.name = c.name
        UNION
        SELECT c.caller, o.entity FROM calls_super c JOIN extends e ON e.class = c.class
        JOIN member o ON o.class = e.base AND o.name = c.name
    """,
    "unresolved": """
        SELECT user, name FROM sends
        UNION
        SELECT u.user, d.last FROM uses u JOIN dotted d ON d.at = u.at AND d.path = u.path
        LEFT ANTI JOIN means m ON m.at = u.at AND m.path = u.path
    """,
    "dead": "SELECT f.function, f.module FROM function f LEFT ANTI JOIN alive a ON a.entity = f.function",
    "dead_at": """
        SELECT m.file, p.line, f.function FROM function f LEFT ANTI JOIN alive a ON a.entity = f.function
        JOIN module m ON m.module = f.module JOIN defined_at p ON p.entity = f.function
    """,
}
"""The views that Spark computes."""
GIVEN = ("inside", "loads", "means", "member", "subclass", "extends", "uses", "alive")
"""The views that the queries read."""


def recompute_in_spark(
    spark: SparkSession, tables: Tables, kept: Pipeline, every_row: bool
) -> tuple[float, list[ViewDifference]]:
    """Return the seconds that Spark takes to compute its views and to write them as Parquet, and how those kept differ.

    They are compared in size, or, with `every_row`, row by row. What Spark reads are Parquet files, which are written
    before.
    """
    with TemporaryDirectory(prefix="deltic-demo-") as folder, _sources(spark, tables, kept, Path(folder)):
        start = perf_counter()
        for view, query in QUERIES.items():
            spark.sql(query).write.parquet(f"{folder}/views/{view}")
        seconds = perf_counter() - start
        computed = {view: pq.read_table(f"{folder}/views/{view}") for view in QUERIES}
    suspects = [view for view, rows in computed.items() if every_row or len(kept[view]) != rows.num_rows]
    result = (difference(view, kept[view].to_arrow(), computed[view]) for view in suspects)
    return seconds, [d for d in result if d is not None]


@contextmanager
def _sources(spark: SparkSession, tables: Tables, kept: Pipeline, folder: Path) -> Iterator[None]:
    """Temporary views over Parquet files of the tables, and of the views that are given."""
    read: dict[str, pa.Table] = {**tables, **{view: kept[view].to_arrow() for view in GIVEN}}
    try:
        for name, rows in read.items():
            pq.write_table(rows, folder / f"{name}.parquet")
            spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
        yield
    finally:
        for name in read:
            spark.catalog.dropTempView(name)

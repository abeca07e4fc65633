"""The same recursions in DuckDB's recursive CTE, Spark's WITH RECURSIVE and, when it is on the PATH, compiled Soufflé.

`python benchmarks/peers.py` computes each in full, then after one deleted row: Deltic updates, the others compute anew.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyspark
from graphs import REACHABILITY, sparse, tree
from harness import report

import deltic
from deltic.pipeline.spark.session import spark_session

SAME_GENERATION = """
.decl edge(x: number, y: number)
.decl same(x: number, y: number)
.input edge
.output same
same(x, y) :- edge(x, p), edge(y, p).
same(x, y) :- edge(x, p), same(p, q), edge(y, q).
"""


@dataclass(frozen=True)
class Recursion:
    """A recursion over edge(x, y) in both languages: a rule program, and the two parts of a recursive CTE."""

    name: str
    view: str
    program: str
    base: str
    step: str
    graph: Callable[[int], pa.Table]

    def query(self, union: str) -> str:
        """A query for the pairs, as a set."""
        cte = f"WITH RECURSIVE v(x, y) AS ({self.base} {union} {self.step})"
        return f"{cte} SELECT DISTINCT x, y FROM v"


# Without cycles, since Spark's recursion has UNION ALL alone and would not end on one.
RECURSIONS = (
    Recursion(
        "reachability",
        "reaches",
        REACHABILITY,
        "SELECT x, y FROM edge",
        "SELECT v.x, e.y FROM v JOIN edge e ON v.y = e.x",
        lambda size: sparse(size, acyclic=True),
    ),
    Recursion(
        "same generation",
        "same",
        SAME_GENERATION,
        "SELECT a.x, b.x FROM edge a JOIN edge b ON a.y = b.y",
        "SELECT a.x, b.x FROM v JOIN edge a ON a.y = v.x JOIN edge b ON b.y = v.y",
        lambda size: forest(size),
    ),
)
# Full computation, the median after one change, and the pairs: seconds, seconds, sorted pairs.
Measured = tuple[float, float, np.ndarray]


def forest(edges: int) -> pa.Table:
    """Binary trees of 62 edges each."""
    one = tree(63, 2)
    copies = np.repeat(np.arange(max(1, edges // len(one))), len(one)) * 64
    return pa.table({name: np.tile(one[name].to_numpy(), len(copies) // len(one)) + copies for name in ("x", "y")})


def by_deltic(recursion: Recursion, graph: pa.Table, rows: list[int]) -> Measured:
    """A pipeline: bootstrap, then a deletion for each row, put back in between."""
    pipeline = deltic.Pipeline()
    pipeline.datalog(recursion.program)
    started = time.perf_counter()
    with pipeline.transaction() as change:
        change.insert("edge", graph)
    full = time.perf_counter() - started
    pairs = sorted_pairs(pipeline[recursion.view].to_arrow())
    seconds = []
    for row in rows:
        started = time.perf_counter()
        with pipeline.transaction() as change:
            change.delete("edge", graph.slice(row, 1))
        seconds.append(time.perf_counter() - started)
        with pipeline.transaction() as change:
            change.insert("edge", graph.slice(row, 1))
    return full, statistics.median(seconds), pairs


def by_duckdb(recursion: Recursion, graph: pa.Table, rows: list[int]) -> Measured:
    """A table made from the query, again for each of the changed graphs."""
    with duckdb.connect() as connection:

        def compute(edge: pa.Table) -> float:
            connection.register("arrow", edge)
            connection.execute("CREATE OR REPLACE TABLE edge AS FROM arrow")
            started = time.perf_counter()
            connection.execute(f"CREATE OR REPLACE TABLE result AS {recursion.query('UNION')}")
            return time.perf_counter() - started

        full = compute(graph)
        pairs = sorted_pairs(connection.sql("FROM result").to_arrow_table())
        return full, statistics.median(compute(without(graph, row)) for row in rows), pairs


def by_spark(recursion: Recursion, graph: pa.Table, rows: list[int]) -> Measured:
    """The query's rows counted, again for each of the changed graphs; the session is warm."""
    with spark_session("local[2]") as spark:
        spark.conf.set("spark.sql.cteRecursionLevelLimit", "-1")
        spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
        spark.conf.set("spark.sql.shuffle.partitions", "2")

        def compute(edge: pa.Table) -> float:
            spark.createDataFrame(edge.to_pandas()).cache().createOrReplaceTempView("edge")
            spark.table("edge").count()
            started = time.perf_counter()
            spark.sql(recursion.query("UNION ALL")).count()
            return time.perf_counter() - started

        compute(graph.slice(0, 100))
        full = compute(graph)
        changed = statistics.median(compute(without(graph, row)) for row in rows)
        compute(graph)
        return full, changed, sorted_pairs(pa.Table.from_pandas(spark.sql(recursion.query("UNION ALL")).toPandas()))


def by_souffle(recursion: Recursion, graph: pa.Table, rows: list[int]) -> Measured:
    """The compiled program from files to files, again for each of the changed graphs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.dl").write_text(recursion.program)
        subprocess.run(["souffle", "-o", folder / "program", folder / "program.dl"], check=True, capture_output=True)

        def compute(edge: pa.Table) -> float:
            csv.write_csv(edge, folder / "edge.facts", csv.WriteOptions(include_header=False, delimiter="\t"))
            started = time.perf_counter()
            subprocess.run([folder / "program", "-F", folder, "-D", folder], check=True, capture_output=True)
            return time.perf_counter() - started

        full = compute(graph)
        parsing = csv.ParseOptions(delimiter="\t")
        pairs = csv.read_csv(folder / f"{recursion.view}.csv", csv.ReadOptions(column_names=["x", "y"]), parsing)
        return full, statistics.median(compute(without(graph, row)) for row in rows), sorted_pairs(pairs)


def without(graph: pa.Table, row: int) -> pa.Table:
    """The graph less one edge."""
    return pa.concat_tables([graph.slice(0, row), graph.slice(row + 1)])


def sorted_pairs(table: pa.Table) -> np.ndarray:
    """The rows, in order."""
    x, y = (table.column(i).to_numpy().astype(np.int64) for i in range(2))
    return np.sort(x << 32 | y)


PEERS = {"Deltic": by_deltic, "DuckDB": by_duckdb, "Spark": by_spark, "Soufflé": by_souffle}
HEADER = ["recursion", "edges", "pairs", "by", "full s", ": Deltic", "one row changed s", ": Deltic "]
NOTES = """\
Seconds to compute all pairs, and, as a median, to have them after one edge was deleted: Deltic updates its view, the
others compute anew. Columns `: Deltic`: how many times as long as Deltic takes. All results are equal. Graphs have no
cycles: Spark's recursion has UNION ALL alone, and counts every path. Spark {spark}: local[2], a warm session, tables
cached, the rows counted. DuckDB {duckdb}: UNION, all processors, a table is made. Both without loading the edges."""
MISSING = "\nSoufflé is not on the PATH: no rows for it."


def main(sizes: list[int], changes: int) -> None:
    """Measure and report."""
    present = [name for name in PEERS if name != "Soufflé" or shutil.which("souffle")]
    for recursion in RECURSIONS:
        by_deltic(recursion, recursion.graph(1_000), [0])  # load the compiled kernels
    rows: list[list[object]] = []
    for recursion in RECURSIONS:
        for size in sizes:
            graph = recursion.graph(size)
            chosen = np.random.default_rng(1).integers(0, len(graph), changes).tolist()
            own: Measured | None = None
            for name in present:
                full, changed, pairs = PEERS[name](recursion, graph, chosen)
                own = own or (full, changed, pairs)
                assert np.array_equal(pairs, own[2]), f"{name} finds other pairs than Deltic"
                ratios = [f"{full / own[0]:.1f}", f"{changed / own[1]:,.0f}"]
                cells = [name, f"{full:.3f}", ratios[0], f"{changed:.4f}", ratios[1]]
                rows.append([recursion.name, f"{len(graph):,}", f"{len(pairs):,}", *cells])
    notes = NOTES.format(duckdb=duckdb.__version__, spark=pyspark.__version__) + (
        "" if "Soufflé" in present else MISSING
    )
    report("peers", "Recursion in Deltic and in others", HEADER, rows, notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--changes", type=int, default=3, help="changed graphs for each median")
    options = parser.parse_args()
    main(options.sizes, options.changes)

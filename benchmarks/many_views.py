"""What a transaction costs among many views: the first one, whose values all need room, and one that touches one view.

`python benchmarks/many_views.py [--before DIR] [--sizes 100,300]` counts the processor's milliseconds, of this checkout
and of another one, for programs of SQL, Datalog and DDlog. Nine views in ten read one table, by turns a filter, a
computed column, which has a domain of its own, a join, a recursion and a group; one view reads a table of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from definitions import spent
from harness import report, side_by_side

import deltic

HERE = Path(__file__).parents[1]
Rows = Sequence[tuple[int, ...]]
# Inserts rows into a table.
Put = Callable[[str, Rows], None]
REPEATED = 20

SQL = (
    "SELECT x, y FROM edge WHERE x > {n}",
    "SELECT x * {n} AS x, y - {n} AS y FROM edge",
    "SELECT a.x, b.y FROM edge a JOIN edge b ON a.y = b.x WHERE a.x <> {n}",
    "WITH RECURSIVE r (x, y) AS (SELECT x, y FROM edge WHERE x > {n} UNION "
    "SELECT r.x, e.y FROM r JOIN edge e ON r.y = e.x) SELECT x, y FROM r",
    "SELECT x, max(y * {n}) AS y FROM edge GROUP BY x",
)
DATALOG = (
    "V{n}(x, y) :- Edge(x, y), x > {n}.",
    "V{n}(x * {n}, y - {n}) :- Edge(x, y).",
    "V{n}(x, z) :- Edge(x, y), Edge(y, z), x != {n}.",
    "V{n}(x, y) :- Edge(x, y), x > {n}. V{n}(x, z) :- V{n}(x, y), Edge(y, z).",
)
GROUPS = {
    "Datalog": "V{n}(x, c) :- Edge(x, _), c = max y * {n} : {{ Edge(x, y) }}.",
    "DDlog": "V{n}(x, c) :- Edge(x, y), var c = (y * {n}).group_by(x).max().",
}


def of_sql(pipeline: deltic.Pipeline, views: int) -> Put:
    """So many views in SQL."""
    texts = ["CREATE TABLE edge (x BIGINT, y BIGINT)", "CREATE TABLE own (x BIGINT, y BIGINT)"]
    texts += ["CREATE VIEW mine AS SELECT x, y FROM own WHERE x > 3"]
    texts += [f"CREATE VIEW v{n} AS {SQL[n % len(SQL)].format(n=n)}" for n in range(1, views)]
    pipeline.sql(";\n".join(texts))
    return partial(_insert, pipeline)


def _insert(pipeline: deltic.Pipeline, table: str, rows: Rows) -> None:
    with pipeline.transaction() as change:
        change.insert(table, rows)


def _rules(views: int, front: str) -> Iterator[tuple[str, str]]:
    """The relations of a program, with the rules of each."""
    yield "Mine", "Mine(x, y) :- Own(x, y), x > 3."
    kinds = (*DATALOG, GROUPS[front])
    yield from ((f"V{n}", kinds[n % len(kinds)].format(n=n)) for n in range(1, views))


def of_datalog(pipeline: deltic.Pipeline, views: int) -> Put:
    """So many views in Datalog."""
    columns = "(x: number, y: number)"
    texts = [f".decl {table}{columns}\n.input {table}" for table in ("Edge", "Own")]
    texts += [f".decl {name}{columns}\n.output {name}\n{rules}" for name, rules in _rules(views, "Datalog")]
    pipeline.datalog("\n".join(texts))
    return lambda table, rows: _insert(pipeline, table.title(), rows)


def of_ddlog(pipeline: deltic.Pipeline, views: int) -> Put:
    """So many views in DDlog."""
    columns = "(x: signed<64>, y: signed<64>)"
    texts = [f"input relation {table}{columns}" for table in ("Edge", "Own")]
    texts += [f"output relation {name}{columns}\n{rules}" for name, rules in _rules(views, "DDlog")]
    session = pipeline.ddlog("\n".join(texts))

    def put(table: str, rows: Rows) -> None:
        updates = ", ".join(f"insert {table.title()}({x}, {y})" for x, y in rows)
        session.run(f"start; {updates}; commit;")

    return put


FRONTS = {"SQL": of_sql, "Datalog": of_datalog, "DDlog": of_ddlog}


def figures(sizes: Sequence[int]) -> Iterator[tuple[str, float]]:
    """What is measured, and its milliseconds."""
    for front, define in FRONTS.items():
        for views in sizes:
            put = define(deltic.Pipeline(), views)
            edges = [(n, (7 * n + 1) % 30) for n in range(30)]
            yield f"{front}, {views} views: the first transaction", 1000 * spent(partial(put, "edge", edges))
            far = [(10**6, 10**9)]
            yield f"{front}, {views} views: a row far away", 1000 * spent(partial(put, "edge", far))
            for n in range(2):
                put("own", [(n, n)])
            total = sum(spent(partial(put, "own", [(n, n)])) for n in range(2, 2 + REPEATED))
            yield f"{front}, {views} views: one that touches one", 1000 * total / REPEATED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--sizes", default="100,300")
    parser.add_argument("--print", action="store_true", help="print the figures of this process as JSON")
    options = parser.parse_args()
    if options.print:
        print(json.dumps(dict(figures([*map(int, options.sizes.split(","))]))))
        return
    arguments = ["--sizes", options.sizes]
    found: dict[str, dict[str, float]] = side_by_side(__file__, arguments, options.before)
    rows = [[case, *(f"{times[case]:.1f}" for times in found.values())] for case in found["now"]]
    notes = "Milliseconds of the processor, kernels from a warm cache; collections of garbage that happen are in them."
    report("many-views", "What a transaction costs among many views", ["transaction", *found], rows, notes)


if __name__ == "__main__":
    main()

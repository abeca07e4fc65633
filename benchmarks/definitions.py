"""What a change of definitions costs: the 10th, 60th and 200th view, a text of 300 views, a state that is opened.

`python benchmarks/definitions.py [--before DIR] [--sizes 10,60,200] [--file 300]` counts seconds of the processor, of
this checkout and of another one. The views are ordinary SQL by turns, each over the tables or over a view before it:
filters, joins, aggregates, windows, unions and recursions; and relations of Datalog.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import report, side_by_side

import deltic

HERE = Path(__file__).parents[1]

TABLES = {
    "sale": {"id": "int64", "shop": "int64", "item": "int64", "amount": "int64", "day": "int64"},
    "shop": {"shop": "int64", "city": "string"},
    "item": {"item": "int64", "part_of": "int64", "price": "int64"},
}

QUERIES = (
    "SELECT id, shop, item, amount, day FROM sale WHERE amount > {n}",
    "SELECT s.shop, c.city, sum(s.amount) AS total, count(*) AS n FROM sale s JOIN shop c ON s.shop = c.shop "
    "WHERE s.day > {n} GROUP BY s.shop, c.city",
    "SELECT id, shop, amount, row_number() OVER (PARTITION BY shop ORDER BY amount DESC, id) AS place FROM sale "
    "WHERE day % 100 <> {n}",
    "SELECT b.city, b.total + {n} AS total FROM {joined} b LEFT JOIN shop c ON b.shop = c.shop WHERE b.n > 1",
    "SELECT shop AS key, amount + {n} AS value FROM {filtered} UNION ALL "
    "SELECT item, price FROM item WHERE price > {n}",
    "WITH RECURSIVE up (item, whole) AS (SELECT item, part_of FROM item WHERE price > {n} UNION "
    "SELECT up.item, i.part_of FROM up JOIN item i ON up.whole = i.item) SELECT item, whole FROM up",
    "SELECT f.shop, max(f.amount) AS top, min(f.day) AS first FROM {filtered} f "
    "WHERE EXISTS (SELECT 1 FROM item i WHERE i.item = f.item AND i.price > {n}) GROUP BY f.shop",
    "SELECT DISTINCT s.shop, i.price * {n} AS price FROM sale s JOIN item i ON s.item = i.item WHERE i.price IN "
    "(SELECT max(price) FROM item GROUP BY part_of)",
    "SELECT id, amount - lag(amount) OVER (PARTITION BY item ORDER BY day, id) AS step FROM {filtered} WHERE id > {n}",
    "SELECT a.city, count(DISTINCT s.item) AS items FROM sale s JOIN shop a ON a.shop = s.shop "
    "WHERE a.city <> 'c{n}' GROUP BY a.city HAVING count(*) > {n}",
)


def sql_views() -> Iterator[tuple[str, str]]:
    """Views of SQL without end: name and definition, each of which may read those before."""
    filtered = joined = ""
    for n in count():
        name, kind = f"v{n}", n % len(QUERIES)
        yield name, QUERIES[kind].format(n=n, filtered=filtered, joined=joined)
        filtered, joined = (name if kind == 0 else filtered), (name if kind == 1 else joined)


def sql_texts() -> Iterator[str]:
    """The statements of SQL that define them."""
    return (f"CREATE VIEW {name} AS {query}" for name, query in sql_views())


RULES = (
    "r{n}(x, y) :- sale(_, x, y, a, _), a > {n}.",
    "r{n}(x, z) :- {last}(x, y), item(y, z, p), p > {n}.",
    "r{n}(x, y) :- item(x, y, p), p > {n}. r{n}(x, z) :- r{n}(x, y), item(y, z, _).",
    "r{n}(x, c) :- shop(x, _), c = count : {{ {last}(x, _) }}, c > {n}.",
    "r{n}(x, y) :- sale(_, x, y, _, d), !{last}(x, y), d != {n}.",
)


def datalog_texts() -> Iterator[str]:
    """Programs of Datalog without end: each has one relation, which may read the one before."""
    last = ""
    for n in count():
        name = f"r{n}"
        rule = RULES[n % len(RULES)].format(n=n, last=last)
        yield f".decl {name}(x: number, y: number)\n.output {name}\n{rule}\n"
        last = name


def with_tables(rows: int, **options: Any) -> deltic.Pipeline:
    """A pipeline with the tables, of which `sale` has so many rows."""
    pipeline = deltic.Pipeline(**options)
    for name, columns in TABLES.items():
        pipeline.table(name, columns)
    if rows:
        of = np.random.default_rng(1)
        items = np.arange(1, rows // 10 + 2)
        with pipeline.transaction() as change:
            change.insert("shop", [(n, f"c{n % 10}") for n in range(20)])
            change.insert("item", list(zip(items.tolist(), (items // 2).tolist(), (items % 97).tolist(), strict=True)))
            values = [np.arange(rows), *(of.integers(0, n, rows) for n in (20, rows // 10 + 1, 1000, 365))]
            change.insert("sale", pa.table(dict(zip(TABLES["sale"], values, strict=True))))
    return pipeline


def spent(action: Callable[[], object]) -> float:
    """The processor's seconds of an action."""
    before = time.process_time()
    action()
    return time.process_time() - before


def one_by_one(texts: Iterator[str], add: str, sizes: Sequence[int], rows: int) -> Iterator[float]:
    """What the view costs that makes a catalog as large as each of the sizes; in the end what all of them do."""
    pipeline, total = with_tables(rows), 0.0
    for number, text in enumerate(islice(texts, max(sizes)), 1):
        total += (seconds := spent(partial(getattr(pipeline, add), text)))
        if number in sizes:
            yield seconds
    yield total


def figures(sizes: Sequence[int], file: int) -> Iterator[tuple[str, float]]:
    """What is measured, and its seconds."""
    fronts = {"SQL": (sql_texts, "sql", ";\n"), "Datalog": (datalog_texts, "datalog", "\n")}
    for front, (texts, add, _) in fronts.items():
        for rows in (0, 20_000):
            held = f"{rows:,} rows" if rows else "no rows"
            parts = [*(f"{front}, view {size}, {held}" for size in sizes), f"{front}, all {max(sizes)}, {held}"]
            yield from zip(parts, one_by_one(texts(), add, sizes, rows), strict=True)
    for front, (texts, add, between) in fronts.items():
        text = between.join(islice(texts(), file))
        yield f"{front}, {file} views in one text", spent(partial(getattr(with_tables(0), add), text))
    with tempfile.TemporaryDirectory() as state:
        pipeline = with_tables(0, state=state)
        for text in islice(sql_texts(), max(sizes)):
            pipeline.sql(text)
        pipeline.close()
        yield f"SQL, a state of {max(sizes)} views is opened", spent(partial(deltic.Pipeline, state=state))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--sizes", default="10,60,200")
    parser.add_argument("--file", type=int, default=300)
    parser.add_argument("--print", action="store_true", help="print the figures of this process as JSON")
    options = parser.parse_args()
    if options.print:
        print(json.dumps(dict(figures([*map(int, options.sizes.split(","))], options.file))))
        return
    arguments = ["--sizes", options.sizes, "--file", str(options.file)]
    found: dict[str, dict[str, float]] = side_by_side(__file__, arguments, options.before)
    rows = [[case, *(f"{seconds[case]:.3f}" for seconds in found.values())] for case in found["now"]]
    notes = "Seconds of the processor, kernels from a warm cache; collections of garbage that happen are in them."
    report("definitions", "What a change of definitions costs", ["definitions", *found], rows, notes)


if __name__ == "__main__":
    main()

"""Top-k at sizes that the reference interpreter is too slow for: against DuckDB, and by what an epoch visits.

Catches a walk that loses a row between two runs, and one that reads a whole part.
"""

from __future__ import annotations

import math
import random

import duckdb
import pyarrow as pa
import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver

ROWS = Schema(
    (
        Column("k", Type.INT64, True),
        Column("x", Type.INT64, True),
        Column("f", Type.FLOAT64, True),
        Column("t", Type.STRING, True),
    )
)
TEXTS = ("", "a", "B", "b", "é", "zz", "z", "𝄞", "\uffff")


def top(keys, order, limit, offset=0, schema=ROWS):
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", schema, is_set=False))
    builder.add(ops.Sink("v"), builder.add(ops.Top(keys, order, limit, offset), rows))
    circuit = builder.build()
    return Driver(IncrementalEngine(circuit), circuit)


def random_row(rng, reach):
    values = (rng.randrange(3), rng.randrange(reach), rng.choice((math.nan, -math.inf, 0.5, 1.0)), rng.choice(TEXTS))
    return tuple(None if rng.random() < 0.1 else value for value in values)


def by_duckdb(rows, keys, order, limit, offset):
    """The rows that DuckDB takes, ties decided by all columns."""
    table = pa.table(dict(zip(ROWS.names, map(list, zip(*rows, strict=True)), strict=True)), ROWS.to_arrow())
    texts = [str(o) for o in (*order, *map(ops.Order, ROWS.names))]
    parts = f"PARTITION BY {', '.join(keys)}" if keys else ""
    last = "" if limit is None else f"AND n <= {offset + limit}"
    with duckdb.connect() as connection:
        connection.register("s", table)
        found = connection.execute(
            f"SELECT * EXCLUDE n FROM (SELECT *, row_number() OVER ({parts} ORDER BY {', '.join(texts)}) n FROM s) "
            f"WHERE n > {offset} {last}"
        ).fetchall()
    return sorted(map(repr, found))


@pytest.mark.parametrize("seed", range(12))
def test_against_duckdb(seed):
    rng = random.Random(seed)
    keys = tuple(rng.sample(("k", "t"), rng.randint(0, 2)))
    names = rng.sample(ROWS.names, rng.randint(1, 4))
    order = tuple(ops.Order(name, rng.random() < 0.5, rng.random() < 0.5) for name in names)
    limit, offset = rng.choice((None, 1, 5, 20)), rng.choice((0, 0, 3, 40))
    driver = top(keys, order, limit, offset)
    rows, reach = [], 4
    for _ in range(6):
        reach *= 8  # so that domains grow
        gone = rng.sample(rows, rng.randrange(len(rows) + 1)) if rng.random() < 0.7 else []
        new = [random_row(rng, reach) for _ in range(rng.choice((1, 10, 200)))]
        change = ZSet([(row, -1) for row in gone] + [(row, 1) for row in new])
        driver.apply({"s": change})
        for row in gone:
            rows.remove(row)
        rows += new
        view = driver.engine.read("v").to_pylist()
        assert sorted(repr(tuple(row.values())) for row in view) == by_duckdb(rows, keys, order, limit, offset)


def test_an_epoch_visits_rows_at_the_borders_alone():
    schema = Schema.of(k=Type.INT64, x=Type.INT64)
    driver = top(("k",), (ops.Order("x"),), 1000, 1000, schema)
    driver.insert(s=[(k, x) for k in range(3) for x in range(4000)])
    for change in ([((0, -1), 1)], [((0, 1500), -1)], [((1, 3500), -1)], [((2, 5), -1), ((2, -7), 2)]):
        assert driver.apply({"s": change}).rows_visited < 40


def test_texts_get_new_labels_while_they_are_in_order():
    """Texts that halve the same gap again and again: labels run out, and what is kept in their order is packed anew."""
    schema = Schema((Column("t", Type.STRING, True),))
    drivers = [top((), (ops.Order("t", descending),), 2, 1, schema) for descending in (False, True)]
    texts = [None, "a", *("a" + "b" * n for n in range(80, 0, -1))]
    for n, text in enumerate(texts):
        for driver, descending in zip(drivers, (False, True), strict=True):
            driver.insert(s=[(text,)])
            rows = sorted((t for t in texts[: n + 1] if t is not None), reverse=descending)
            assert driver.rows("v") == {(t,) for t in [None, *rows][1:3]}
    assert all(driver.engine.executor.store.interner.text.order.domain.numbering > 0 for driver in drivers)

"""Window functions at sizes too large for the reference interpreter: against DuckDB, and by what an epoch visits.

Catches a value that is computed from the wrong rows, however many there are, and an epoch that reads what it need not.
"""

from __future__ import annotations

import math
import random
from datetime import date

import duckdb
import pyarrow as pa
import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.operators.over import session
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import from_arrow
from deltic.errors import EvaluationError
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


def over(keys, order, calls, schema=ROWS):
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", schema, is_set=False))
    builder.add(ops.Sink("v"), builder.add(ops.Over(keys, order, calls), rows))
    circuit = builder.build()
    return Driver(IncrementalEngine(circuit), circuit)


def frame(unit, start, end):
    return ops.Frame(ops.Unit[unit], start, end)


# Calls that tell rows one from the other, and what DuckDB calls them; {} stands for the window.
ONE_BY_ONE = {
    "row_number() OVER ({})": ops.WindowCall("row_number", (), "r1"),
    "ntile(7) OVER ({})": ops.WindowCall("ntile", (), "r2", (7,)),
    "lag(t, 2 IGNORE NULLS) OVER ({})": ops.WindowCall("lag", ("t",), "r3", (2,), None, True),
}
SHIFTS = {
    "lag(t, 3) OVER ({})": ops.WindowCall("lag", ("t",), "r1", (3,)),
    "lead(x, 2, k) OVER ({})": ops.WindowCall("lead", ("x", "k"), "r2", (2,)),
}
RANKS = {
    f"{name}() OVER ({{}})": ops.WindowCall(name, (), name)
    for name in ("rank", "dense_rank", "percent_rank", "cume_dist")
}
FRAMES = {
    "whole": frame("ROWS", None, None),
    "rows": frame("ROWS", -5, 3),
    "rows ahead": frame("ROWS", 2, 4),
    "rows so far": frame("ROWS", None, -1),
    "so far": frame("RANGE", None, 0),
    "groups": frame("GROUPS", -2, 1),
    "range": frame("RANGE", -20, 10),
    "range ahead": frame("RANGE", 5, None),
}


def framed(seen):
    """Calls with a frame; those that pick a value read the column that all peers share."""
    over = f"OVER ({{}} {seen})"
    calls = {
        f"sum(x) {over}": ("sum", "x"),
        f"count(t) {over}": ("count", "t"),
        f"count(*) {over}": ("count",),
        f"min(t) {over}": ("min", "t"),
        f"max(f) {over}": ("max", "f"),
        f"avg(x) {over}": ("mean", "x"),
        f"first_value(x) {over}": ("first_value", "x"),
        f"last_value(x) {over}": ("last_value", "x"),
    }
    found = {
        duck: ops.WindowCall(function, tuple(columns), f"r{i}", (), seen)
        for i, (duck, (function, *columns)) in enumerate(calls.items())
    }
    found[f"nth_value(x, 3) {over}"] = ops.WindowCall("nth_value", ("x",), "r8", (3,), seen)
    found[f"last_value(x IGNORE NULLS) {over}"] = ops.WindowCall("last_value", ("x",), "r9", (), seen, True)
    return found


CASES = {"one by one": ONE_BY_ONE, "shifts": SHIFTS, "ranks": RANKS} | {n: framed(f) for n, f in FRAMES.items()}
OF_PEERS = ("ranks", "so far", "groups", "range", "range ahead")


def by_duckdb(rows, keys, order, expressions):
    """The rows with what DuckDB computes."""
    table = pa.table(dict(zip(ROWS.names, map(list, zip(*rows, strict=True)), strict=True)), ROWS.to_arrow())
    parts = f"PARTITION BY {', '.join(keys)} " if keys else ""
    window = f"{parts}ORDER BY {', '.join(map(str, order))}"
    with duckdb.connect() as connection:
        connection.register("s", table)
        found = connection.execute(f"SELECT *, {', '.join(e.format(window) for e in expressions)} FROM s").fetchall()
    return sorted(map(repr, found))


def random_row(rng):
    values = (rng.randrange(3), rng.randrange(300), rng.choice((-math.inf, 0.5, 1.0)), rng.choice(TEXTS))
    return tuple(None if rng.random() < 0.1 else value for value in values)


@pytest.mark.parametrize("keys", [(), ("k",)], ids=["all", "by k"])
@pytest.mark.parametrize("name", CASES)
def test_against_duckdb(name, keys):
    rng = random.Random(f"{name} {keys}")
    order = (ops.Order("x", rng.random() < 0.5, rng.random() < 0.5),)
    driver, rows = over(keys, order, tuple(CASES[name].values())), []
    # Where rows are told one from the other, all columns decide.
    told = order if name in OF_PEERS else (*order, *map(ops.Order, ROWS.names))
    for size in (300, 1, 3, 80, 1):
        gone = rng.sample(rows, rng.randrange(min(len(rows), size) + 1))
        new = [random_row(rng) for _ in range(size)]
        driver.apply({"s": ZSet([(row, -1) for row in gone] + [(row, 1) for row in new])})
        for row in gone:
            rows.remove(row)
        rows += new
        view = driver.engine.read("v").to_pylist()
        assert sorted(repr(tuple(row.values())) for row in view) == by_duckdb(rows, keys, told, list(CASES[name]))


def test_ranges_of_months_are_those_of_the_calendar():
    schema = Schema.of(d=Type.DATE)
    days = ("2024-01-31", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-30", "2024-03-31", "2024-04-30")
    driver = over((), (ops.Order("d"),), (ops.WindowCall("count", (), "n", (), frame("MONTHS", -1, 0)),), schema)
    driver.insert(s=[(date.fromisoformat(day),) for day in days])
    with duckdb.connect() as connection:
        values = ", ".join(f"(DATE '{day}')" for day in days)
        bounds = "RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW"
        found = connection.execute(f"SELECT d, count(*) OVER (ORDER BY d {bounds}) FROM (VALUES {values}) AS s(d)")
        assert driver.rows("v") == set(found.fetchall())


def test_an_epoch_visits_what_sees_the_change_where_frames_are_bounded():
    schema = Schema.of(k=Type.INT64, x=Type.INT64)
    calls = (
        ops.WindowCall("lag", ("x",), "l", (2,)),
        ops.WindowCall("sum", ("x",), "t", (), frame("ROWS", -3, 3)),
    )
    driver = over(("k",), (ops.Order("x"),), calls, schema)
    driver.insert(s=[(k, 2 * x) for k in range(3) for x in range(4000)])
    for change in ([((0, -1), 1)], [((0, 1500), -1)], [((1, 3501), 2)], [((2, 10), -1), ((2, 4001), 1)]):
        result = driver.apply({"s": change})
        assert result.rows_visited < 100
        assert 2 <= sum(map(abs, dict(from_arrow(result.changes["v"])).values())) <= 30
    whole = over(("k",), (ops.Order("x"),), (ops.WindowCall("row_number", (), "n"),), schema)
    whole.insert(s=[(k, 2 * x) for k in range(3) for x in range(400)])
    assert 400 < whole.apply({"s": [((0, 799), 1)]}).rows_visited < 800


def test_an_epoch_visits_the_sessions_of_its_changes_once_each_way():
    schema = Schema.of(k=Type.INT64, at=Type.DATE)
    driver = over(("k",), (ops.Order("at"),), (ops.WindowCall("count", (), "n", frame=session(10)),), schema)
    days = [1000 * i + 5 * j for i in range(10) for j in range(99) if j != 49]
    driver.insert(s=[(k, date.fromordinal(1000 + day)) for k in range(5) for day in days])
    for weight in (1, -1):
        result = driver.apply({"s": [((3, date.fromordinal(3245)), weight)]})
        assert len(from_arrow(result.changes["v"])) > 98
        assert result.rows_visited < 120


def test_large_changes_in_stretches_are_those_of_whole_partitions():
    """One epoch of many changes near each other: stretches that touch, and rows that are in two of them."""
    rng = random.Random(5)
    calls = (ops.WindowCall("lead", ("x",), "l", (1,)), ops.WindowCall("max", ("x",), "m", (), frame("ROWS", -2, 1)))
    counted = (*calls, ops.WindowCall("count", (), "n", (), frame("ROWS", None, None)))
    schema, order = Schema.of(x=Type.INT64), (ops.Order("x", True),)
    near, whole = over((), order, calls, schema), over((), order, counted, schema)
    rows = {(x,) for x in range(1000, 6000)}
    near.insert(s=rows)
    whole.insert(s=rows)
    for _ in range(30):
        new = {(rng.randrange(120),) for _ in range(rng.choice((1, 3, 10, 30)))}
        change = [(row, -1 if row in rows else 1) for row in sorted(new)]
        rows ^= new
        near.apply({"s": change})
        whole.apply({"s": change})
        assert near.rows("v") == {row[:-1] for row in whole.rows("v")}


def test_a_sum_beyond_its_type_rejects_the_epoch_and_a_part_of_a_frame_does_not():
    """Frames at the ends of what is read are cut short, and their sums are nobody's."""
    schema, great = Schema.of(i=Type.INT32, x=Type.INT64), 2**62
    call = ops.WindowCall("checked_sum", ("x",), "t", (), frame("ROWS", -1, 1))
    driver = over((), (ops.Order("i"),), (call,), schema)
    sign = (great, great, -great, -great)
    driver.insert(s=[(i, sign[i % 4]) for i in range(1, 4000)])
    for i in range(1000, 1004):
        before = driver.rows("v")
        driver.apply({"s": [((i, sign[i % 4]), -1), ((i, sign[i % 4] // 2), 1)]})
        assert len(driver.rows("v") - before) == 3
    before = driver.rows("v")
    with pytest.raises(
        EvaluationError, match=r"checked_sum\(x\) ROWS BETWEEN .* AS t: the sum of a group does not fit"
    ):
        driver.apply({"s": [((2002, -great), -1), ((2002, great), 1)]})
    assert driver.rows("v") == before


def test_explain_tells_what_is_read_and_why():
    calls = (
        ops.WindowCall("lag", ("t",), "l", (2,)),
        ops.WindowCall("rank", (), "r"),
        ops.WindowCall("min", ("t",), "m", (), frame("RANGE", None, 0)),
    )
    text = over(("k",), (ops.Order("x"),), calls).engine.explain("v")
    assert "lag(t; 2) AS l: reads 2 rows before and after a changed one, of which 0 and 2 can see it" in text
    assert "rank() AS r: reads the whole partition of a changed row, for it counts rows of the whole partition" in text
    assert "is not a number of rows" in text

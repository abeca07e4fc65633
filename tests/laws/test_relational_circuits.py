"""Every row of [DBSP Table 1] as a circuit, against the SQL that stands beside it, run by DuckDB on random sets.

And the rows' bags [DBSP §8.4]: the same circuits without distinct, against SQL that keeps duplicates.
"""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.values.types import Column, Type
from tests.circuit.examples import XY, rename

SMALL = exp.LT(this=column("x"), expression=column("y"))
TWICE = exp.Add(this=column("x"), expression=column("y"))


def project(b, n, name="x"):
    return rename(b, n, **{name: name})


def select(b, n):
    return b.add(ops.Map((Column("f", Type.INT64),), (TWICE,)), n)


def where(b, n):
    return b.add(ops.Filter(SMALL), n)


def distinct(b, n):
    return b.add(ops.Distinct(), n)


def minus(b, m, n):
    return b.add(ops.Plus(), m, b.add(ops.Negate(), n))


def second(b, n):
    """I2 with columns of its own."""
    return rename(b, n, u="x", v="y")


TABLE_1 = {
    "composition": (
        "SELECT DISTINCT x FROM (SELECT * FROM i1 WHERE x < y)",
        lambda b, i1, i2: distinct(b, project(b, where(b, i1))),
    ),
    "union": (
        "(SELECT * FROM i1) UNION (SELECT * FROM i2)",
        lambda b, i1, i2: distinct(b, b.add(ops.Plus(), i1, i2)),
    ),
    "projection": ("SELECT DISTINCT i1.x FROM i1", lambda b, i1, i2: distinct(b, project(b, i1))),
    "filtering": ("SELECT * FROM i1 WHERE x < y", lambda b, i1, i2: where(b, i1)),
    "selection": ("SELECT DISTINCT x + y FROM i1", lambda b, i1, i2: distinct(b, select(b, i1))),
    "product": ("SELECT i1.*, i2.* FROM i1, i2", lambda b, i1, i2: b.add(ops.Join(), i1, second(b, i2))),
    "join": (
        "SELECT i1.*, i2.y FROM i1 JOIN i2 ON i1.y = i2.x",
        lambda b, i1, i2: b.add(ops.Join(), i1, rename(b, i2, y="x", v="y")),
    ),
    "intersection": ("(SELECT * FROM i1) INTERSECT (SELECT * FROM i2)", lambda b, i1, i2: b.add(ops.Join(), i1, i2)),
    "difference": (
        "SELECT * FROM i1 EXCEPT SELECT * FROM i2",
        lambda b, i1, i2: distinct(b, minus(b, i1, i2)),
    ),
    "antijoin": (
        "SELECT * FROM i1 WHERE NOT EXISTS (SELECT * FROM i2 WHERE i2.y = i1.x)",
        lambda b, i1, i2: b.add(ops.Antijoin(), i1, distinct(b, rename(b, i2, x="y"))),
    ),
    "antijoin by difference": (
        "SELECT * FROM i1 WHERE NOT EXISTS (SELECT * FROM i2 WHERE i2.y = i1.x)",
        lambda b, i1, i2: minus(b, i1, b.add(ops.Join(), i1, distinct(b, rename(b, i2, x="y")))),
    ),
}
BAGS = {
    "union all": ("(SELECT * FROM i1) UNION ALL (SELECT * FROM i2)", lambda b, i1, i2: b.add(ops.Plus(), i1, i2)),
    "projection": ("SELECT i1.x FROM i1", lambda b, i1, i2: project(b, i1)),
    "selection": ("SELECT x + y FROM i1", lambda b, i1, i2: select(b, i1)),
    "flatmap": (
        "SELECT x, y, unnest(range(x, y + 1)) FROM i1",
        lambda b, i1, i2: b.add(ops.FlatMap("z", "range", (column("x"), plus_one("y"))), i1),
    ),
    **{name: TABLE_1[name] for name in ("filtering", "product", "join", "antijoin", "union", "composition")},
}


def plus_one(name):
    return exp.Add(this=column(name), expression=literal(1, Type.INT64))


def circuit(make, is_set):
    builder = CircuitBuilder()
    inputs = [builder.add(ops.Source(name, XY, is_set)) for name in ("i1", "i2")]
    builder.add(ops.Sink("o"), make(builder, *inputs))
    return builder.build()


def random_tables(rng, is_set):
    rows = [[(rng.randrange(4), rng.randrange(4)) for _ in range(rng.randrange(9))] for _ in range(2)]
    return {name: sorted(set(r)) if is_set else r for name, r in zip(("i1", "i2"), rows, strict=True)}


def by_duckdb(sql, tables):
    connection = duckdb.connect()
    for name, rows in tables.items():
        connection.execute(f"CREATE TABLE {name} (x BIGINT, y BIGINT)")
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
    return Counter(connection.execute(sql).fetchall())


def check(sql, make, is_set):
    """The circuit on tables as they are, and its incremental form on their changes."""
    of, rng = circuit(make, is_set), random.Random(sql)
    derived, view, before = Interpreter(incrementalize(of)), ZSet(), {"i1": ZSet(), "i2": ZSet()}
    for _ in range(6):
        rows = random_tables(rng, is_set)
        tables = {name: ZSet.of(r) for name, r in rows.items()}
        expected = ZSet(by_duckdb(sql, rows))
        assert run(of, tables)["o"] == expected
        view += derived.step({name: tables[name] - before[name] for name in tables})["o"]
        assert view == expected
        before = tables


@pytest.mark.law("DBSP Table 1")
@pytest.mark.parametrize("row", TABLE_1)
def test_relational_operators_as_circuits(row):
    check(*TABLE_1[row], is_set=True)


@pytest.mark.law("DBSP §8.4")
@pytest.mark.parametrize("row", BAGS)
def test_bags_need_no_operators_of_their_own(row):
    check(*BAGS[row], is_set=False)

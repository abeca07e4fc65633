"""Absences: adding what `why_not` names makes the row appear. Catches a wrong premise, key or nearest row."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest

from deltic import DelticError, Pipeline
from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.interpreter import run
from deltic.why import Absence

PROGRAM = """
.decl e(x: number, y: number)
.input e
.decl n(x: number)
.input n
.decl p(x: number, y: number)
p(x, y) :- e(x, y), n(x).
p(x, z) :- p(x, y), e(y, z), x < 9.
.decl top(x: number)
top(x) :- n(x), !p(_, x).
"""


@pytest.mark.parametrize("seed", range(20))
def test_adding_what_is_missing_makes_the_row_appear(seed):
    """Each first way is followed to a row of a table, until the row is there."""
    rng = random.Random(seed)
    pipeline = Pipeline()
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        change.insert("e", sorted({(rng.randrange(6), rng.randrange(6)) for _ in range(8)}))
        change.insert("n", [(i,) for i in range(6) if rng.random() < 0.4])
    there = {tuple(row) for row in pipeline["p"]}
    wanted = next((row for row in product(range(6), repeat=2) if row not in there), None)
    for _ in range(4):
        if wanted is None or wanted in {tuple(row) for row in pipeline["p"]}:
            break
        way = pipeline.why_not("p", wanted).ways[0]
        assert isinstance(way.fails, Absence)
        assert way.fails.relation in ("e", "n")
        with pipeline.transaction() as change:
            change.insert(way.fails.relation, [tuple(way.fails.pattern.values())])
    else:
        pytest.fail(f"{wanted} did not appear")


@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_additions_make_the_row(seed):
    """Each set makes the row, in a transaction; where one row of any table does, all such rows are told."""
    rng = random.Random(seed)
    pipeline = Pipeline()
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        change.insert("e", sorted({(rng.randrange(5), rng.randrange(5)) for _ in range(5)}))
        change.insert("n", [(i,) for i in range(5) if rng.random() < 0.4])
    there, told = {tuple(row) for row in pipeline["p"]}, 0
    every = [("e", row) for row in product(range(5), repeat=2)] + [("n", (i,)) for i in range(5)]
    for wanted in [row for row in product(range(5), repeat=2) if row not in there][:6]:
        sets = pipeline.missing("p", wanted, most=2)
        told += len(sets)
        assert all(is_made(pipeline, wanted, rows) for rows in sets)
        single = [[each] for each in every if is_made(pipeline, wanted, [each])]
        assert not single or sorted(sets) == single
    assert told


@pytest.mark.parametrize("seed", range(60))
def test_what_is_needed_is_what_its_row_goes_with(seed):
    """By recomputation: a row goes with each row that it needs, and stays without any other row of a table."""
    rng = random.Random(seed)
    pipeline = Pipeline()
    pipeline.datalog(PROGRAM)
    tables = {
        "e": sorted({(rng.randrange(5), rng.randrange(5)) for _ in range(6)}),
        "n": [(i,) for i in range(5) if rng.random() < 0.6],
    }
    with pipeline.transaction() as change:
        for table, rows in tables.items():
            change.insert(table, rows)
    row = next(iter(sorted(tuple(row) for row in pipeline["p"])[seed % 3 :]), None)
    rows = [] if row is None else pipeline.lineage("p", row, needed=True)
    needed = [(each.table, (*json.loads(each.row).values(),)) for each in rows]
    for table, each in [(table, each) for table, rows in tables.items() for each in rows] if row else []:
        others = {name: ZSet.of(r for r in rows if (name, r) != (table, each)) for name, rows in tables.items()}
        stays = run(pipeline.catalog.circuit_of("p"), others)["p"].weight(row) > 0
        assert stays == ((table, each) not in needed)


def is_made(pipeline: Pipeline, wanted: tuple, rows: list[tuple]) -> bool:
    if any(row in {tuple(r) for r in pipeline[table]} for table, row in rows):
        return False
    with pipeline.transaction() as change:
        for table, row in rows:
            change.insert(table, [row])
        preview = change.preview()
        change.discard()
    return wanted in {tuple(row) for row in preview["p"]}


def test_additions_in_sql():
    pipeline = Pipeline()
    pipeline.sql("""CREATE TABLE o (id INT NOT NULL, who STRING NOT NULL, PRIMARY KEY (id));
      CREATE TABLE c (who STRING NOT NULL, land STRING NOT NULL, PRIMARY KEY (who));
      CREATE VIEW v AS SELECT o.id, c.land FROM o JOIN c ON o.who = c.who WHERE c.land <> 'x'""")
    pipeline.execute("INSERT INTO o VALUES (1, 'ada'), (2, 'bob')")
    pipeline.execute("INSERT INTO c VALUES ('bob', 'fr'), ('cyd', 'de')")
    assert pipeline.missing("v", (1, "de")) == [[("c", ("ada", "de"))]]
    assert pipeline.missing("v", (3, "de")) == [[("o", (3, "cyd"))]]
    assert pipeline.missing("v", (2, "de")) == []  # there is a row of bob
    assert pipeline.missing("v", (1, "x")) == []
    with pytest.raises(DelticError, match="ask why"):
        pipeline.missing("v", {"id": 2})


def test_each_rule_says_how_far_it_gets():
    pipeline = Pipeline()
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        change.insert("e", [(1, 2), (2, 3), (9, 1)])
        change.insert("n", [(1,), (9,)])
    first, second = pipeline.why_not("p", (9, 2)).ways
    assert str(first.fails) == "no row of e with x = 9, y = 2"
    assert "x = 1, y = 2" in first.nearest
    assert (second.fails, second.holds) == ("where x < 9 (9 < 9)", ("y = 1, z = 2", "x = 9, y = 1"))
    (blocked,) = pipeline.why_not("top", (1,)).ways
    assert blocked.fails == "not p(9, 1)"
    assert [str(step) for step in blocked.because] == ["p(9, 1) @1"]
    assert "    p(9, 1) @1   [p(x, y) :- e(x, y), n(x).]\n      e(9, 1)" in str(blocked)
    (missing,) = pipeline.why_not("top", {"x": 5}).ways
    assert str(missing.fails) == "no row of n with x = 5"


def test_other_values_of_a_group_are_near():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE o (who STRING, n INT); CREATE VIEW s AS SELECT who, sum(n) AS t FROM o GROUP BY who")
    pipeline.execute("INSERT INTO o VALUES ('ada', 1), ('ada', 2)")
    (way,) = pipeline.why_not("s", {"who": "ada", "t": 4}).ways
    assert way.nearest == ('who = "ada", sum(n) = 3',)
    (way,) = pipeline.why_not("s", {"who": "bob"}).ways
    assert str(way.fails) == 'no row of o with who = "bob"'
    missing = pipeline.why_not("s", {"who": "bob"})
    assert json.loads(missing.to_json()) == missing.to_dict()
    assert "no row of o with who = &quot;bob&quot;" in missing._repr_html_()


def test_the_row_that_meets_the_most_conditions_is_told_with_both_sides():
    pipeline = Pipeline()
    pipeline.sql("""CREATE TABLE o (id INT, n INT, m INT);
      CREATE VIEW v AS SELECT id FROM o WHERE n > 5 AND m > n;
      CREATE VIEW w AS SELECT id, n * 2 AS d FROM o;
      CREATE VIEW r AS WITH RECURSIVE u (a) AS (SELECT 1 UNION SELECT u.a + 1 FROM u WHERE u.a < 3) SELECT a FROM u""")
    pipeline.execute("INSERT INTO o VALUES (1, 1, 1), (1, 7, 4)")
    (way,) = pipeline.why_not("v", {"id": 1}).ways
    assert (way.holds[0], way.fails) == ("id = 1, n = 7, m = 4", "where m > n (4 > 7)")
    (way,) = pipeline.why_not("w", {"id": 1, "d": 8}).ways
    assert str(way.fails).endswith("= 2, not 8")
    assert [str(way.fails)[-8:] for way in pipeline.why_not("r", (9,)).ways] == ["1, not 9", "2, not 9"]


def test_a_row_that_is_there_is_asked_for_otherwise():
    pipeline = Pipeline()
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        change.insert("n", [(1,)])
    with pytest.raises(DelticError, match="ask why"):
        pipeline.why_not("top", (1,))
    with pytest.raises(DelticError, match="why_not says what is missing"):
        pipeline.why("top", (2,))
    with pytest.raises(DelticError, match="there is no view or table"):
        pipeline.why("tpo", (2,))
    with pytest.raises(DelticError, match="top has 1 column: x"):
        pipeline.why("top", (1, 2))

"""Recursive SQL through NOT, EXCEPT, aggregates, windows and outer joins: what naive iteration in DuckDB gives.

Catches negations whose two halves are in different iterations, rows of bags that are counted once in a recursion,
groups that are not examined again when an iteration before them changes, and recursions without a meaning that are
accepted, or ones with a meaning that are refused.
"""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

import deltic
from deltic.errors import IterationLimitError, ProgramError

TABLES = "CREATE TABLE n (x INT); CREATE TABLE e (a INT, b INT)"
ITERATIONS = 60

Rows = Counter[tuple[object, ...]]


class Naive:
    """DuckDB with the same tables: what a query makes of a relation, until it makes the same again."""

    def __init__(self) -> None:
        self.database = duckdb.connect(config={"threads": 1})
        self.database.execute(f"{TABLES}; CREATE TABLE r (x INT, v INT); CREATE TABLE w (x INT, v INT)")

    def fixpoint(self, query: str, helper: str = "") -> tuple[Rows, Rows] | None:
        """The rows of r, and those of its helper w; None where there is no end."""
        self._set("r", set())
        for _ in range(ITERATIONS):
            if helper:
                self._set("w", set(self.database.execute(helper).fetchall()))
            new = set(self.database.execute(query).fetchall())
            if new == set(self.database.execute("SELECT * FROM r").fetchall()):
                return Counter(new), Counter(self.database.execute("SELECT * FROM w").fetchall())
            self._set("r", new)
        return None

    def _set(self, name: str, rows: set[tuple[object, ...]]) -> None:
        self.database.execute(f"DELETE FROM {name}")
        if rows:
            self.database.executemany(f"INSERT INTO {name} VALUES (?, ?)", sorted(rows, key=repr))


def absent(rng: random.Random, y: str, relation: str) -> str:
    """A condition that no row of a relation is there for a column."""
    bound = rng.choice(["", f" AND {relation}.v < {rng.randint(1, 4)}"])
    where = f"WHERE {relation}.x = {y}{bound}"
    return rng.choice(
        [
            f"NOT EXISTS (SELECT 1 FROM {relation} {where})",
            f"{y} NOT IN (SELECT {relation}.x FROM {relation} WHERE {relation}.x IS NOT NULL{bound})",
            f"(SELECT count(*) FROM {relation} {where}) = 0",
        ]
    )


def growing(rng: random.Random, relation: str) -> str:
    """A query over a relation that holds more often the more rows this has, or of which nobody knows."""
    inner = f"SELECT 1 FROM e WHERE e.a = n.x AND {absent(rng, 'e.b', relation)}"
    joined = f"FROM e JOIN {relation} ON e.b = {relation}.x"
    value = rng.choice(["min({}.v)", "max({}.v)", "sum({}.v)", "count(*)", "count(DISTINCT {}.v)"]).format(relation)
    having = rng.choice(["", "", f" HAVING count(*) > {rng.randint(1, 2)}", f" HAVING min({relation}.v) < 3"])
    rank = rng.choice(["row_number", "rank"])
    ranked = f"SELECT e.a AS x, {relation}.v AS v, {rank}() OVER (PARTITION BY e.a ORDER BY {relation}.v, e.b) AS k"
    return rng.choice(
        [
            f"SELECT n.x, 0 AS v FROM n WHERE NOT EXISTS ({inner})",
            f"SELECT n.x, 1 AS v FROM n WHERE n.x NOT IN (SELECT e.a FROM e WHERE {absent(rng, 'e.b', relation)})",
            f"SELECT e.a AS x, CAST(least({value} + {rng.randint(0, 1)}, 7) AS INT) AS v {joined} GROUP BY e.a{having}",
            f"SELECT x, v FROM ({ranked} {joined}) WHERE k = 1",
            f"SELECT e.a AS x, least({relation}.v + 1, 5) AS v {joined}",
            f"SELECT p.x, 2 AS v FROM {relation} p LEFT JOIN e ON e.a = p.x WHERE e.b IS NULL",
        ]
    )


def refused_or(
    pipeline: deltic.Pipeline, change: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]
) -> bool:
    """Whether a change was taken; False where its recursion has no end."""
    try:
        with pipeline.transaction() as transaction:
            for name, (gone, new) in change.items():
                transaction.delete(name, gone)
                transaction.insert(name, new)
    except IterationLimitError:
        return False
    return True


def follow(pipeline: deltic.Pipeline, rng: random.Random, query: str, helper: str, epochs: int) -> int:
    """Random changes: the views are what naive iteration gives, or stay as they were; how many changes had an end."""
    naive, taken = Naive(), 0
    rows: dict[str, list[tuple[int, ...]]] = {"n": [], "e": []}
    for _ in range(epochs):
        change, after = {}, {}
        for name, present in rows.items():
            left = present[:]
            gone = [left.pop(rng.randrange(len(left))) for _ in range(min(len(left), rng.randint(0, 3)))]
            new = [tuple(rng.randint(0, 5) for _ in range(1 if name == "n" else 2)) for _ in range(rng.randint(0, 4))]
            change[name], after[name] = (gone, new), left + new
            naive.database.execute(f"DELETE FROM {name}")
            for row in after[name]:
                naive.database.execute(f"INSERT INTO {name} VALUES ({', '.join(map(str, row))})")
        wanted = naive.fixpoint(query, helper)
        before = Counter(pipeline["v"])
        assert refused_or(pipeline, change) is (wanted is not None)
        if wanted is None:
            assert Counter(pipeline["v"]) == before
            continue
        rows, taken = after, taken + 1
        assert Counter(pipeline["v"]) == wanted[0]
        if helper:
            assert Counter(pipeline["w"]) == wanted[1]
    return taken


def check(seed: int, epochs: int = 5) -> int:
    rng = random.Random(seed)
    form = rng.choice(["with", "declared", "helper"])
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLES)
    start, helper = "SELECT x, 0 AS v FROM n WHERE x > 3", ""
    if form == "with":
        step = " UNION ".join(growing(rng, "r") for _ in range(rng.randint(1, 2)))
        query = f"{start} UNION {step}"
        pipeline.sql(f"CREATE VIEW v AS WITH RECURSIVE r (x, v) AS ({query}) SELECT * FROM r")
    else:
        helper = (
            "" if form == "declared" else f"SELECT n.x, {rng.randint(0, 2)} AS v FROM n WHERE {absent(rng, 'n.x', 'r')}"
        )
        outer = f"SELECT n.x, 0 AS v FROM n WHERE {absent(rng, 'n.x', 'w')}"
        query = f"{start} UNION {outer if helper else growing(rng, 'r')} UNION {growing(rng, 'r')}"
        made = f"CREATE VIEW w AS {helper}; " if helper else ""
        pipeline.sql(
            f"DECLARE RECURSIVE VIEW r (x INT, v INT); {made}CREATE VIEW r AS {query}; CREATE VIEW v AS SELECT * FROM r"
        )
    return follow(pipeline, rng, query, helper, epochs)


def test_random_recursions():
    assert sum(check(seed) for seed in range(8)) > 20


@pytest.mark.slow
def test_many_random_recursions():
    assert sum(check(seed) for seed in range(8, 130)) > 300


def test_rows_count_as_often_as_they_are_there():
    """A bag in a recursion that only adds is a set; in an aggregate two equal rows are two."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE need (x INT, y INT, work INT); INSERT INTO need VALUES (1, 2, 5), (1, 2, 5), (2, 3, 7)")
    pipeline.sql("""
        CREATE VIEW cost AS WITH RECURSIVE c (x, total) AS (
            SELECT 3, 1 UNION SELECT need.x, CAST(sum(total + work) AS INT) FROM need JOIN c ON c.x = y GROUP BY need.x)
        SELECT * FROM c
    """)
    assert sorted(pipeline["cost"]) == [(1, 26), (2, 8), (3, 1)]
    pipeline.sql("INSERT INTO need VALUES (2, 3, 7), (1, 3, 1)")
    assert sorted(pipeline["cost"]) == [(1, 44), (2, 16), (3, 1)]


SELF = "CREATE VIEW v AS WITH RECURSIVE r AS (SELECT x FROM n UNION {}) SELECT * FROM r"


@pytest.mark.parametrize(
    "step",
    [
        "SELECT a FROM e WHERE b NOT IN (SELECT x FROM r)",
        "(SELECT a FROM e EXCEPT SELECT x FROM r)",
        "SELECT e.a FROM e LEFT JOIN r ON e.b = r.x",
        "SELECT a FROM e WHERE NOT EXISTS (SELECT 1 FROM n WHERE n.x = a AND n.x NOT IN "
        "(SELECT b FROM e f WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.x = f.a)))",
    ],
)
def test_its_own_absence(step):
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLES)
    with pytest.raises(ProgramError, match="r depends on its own absence: it reads itself"):
        pipeline.sql(SELF.format(step))
    assert "v" not in pipeline.views


def test_each_others_absence():
    """An odd cycle through two views has no meaning; in an even one it is said which of them begins empty."""
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLES}; INSERT INTO n VALUES (1), (2)")
    declare = "DECLARE RECURSIVE VIEW r (x INT); {}CREATE VIEW w AS SELECT x FROM n WHERE x {} (SELECT x FROM r); "
    close = "CREATE VIEW r AS SELECT x FROM n WHERE x {} (SELECT x FROM w)"
    with pytest.raises(ProgramError, match="r depends on the absence of w, which depends on r: it reads itself"):
        pipeline.sql(declare.format("DECLARE RECURSIVE VIEW w (x INT); ", "IN") + close.format("NOT IN"))
    with pytest.raises(ProgramError, match="both are declared, so that it is open which of them begins without rows"):
        pipeline.sql(declare.format("DECLARE RECURSIVE VIEW w (x INT); ", "NOT IN") + close.format("NOT IN"))
    pipeline.sql(declare.format("", "NOT IN") + close.format("NOT IN"))
    assert (sorted(pipeline["r"]), sorted(pipeline["w"])) == ([], [(1,), (2,)])


@pytest.mark.parametrize(("union", "ways"), [("UNION", 1), ("UNION ALL", 2)])
def test_rows_that_are_made_in_a_recursion(union, ways):
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE m (x INT, parts ARRAY<INT>); INSERT INTO m VALUES (1, array(2, 2)), (2, array(3))")
    pipeline.sql(f"""
        CREATE VIEW made AS WITH RECURSIVE r AS (
            SELECT 1 AS x {union} SELECT p FROM r JOIN m ON m.x = r.x LATERAL VIEW explode(parts) u AS p)
        SELECT x, count(*) FROM r GROUP BY x
    """)
    assert sorted(pipeline["made"]) == [(1, 1), (2, ways), (3, ways)]
    pipeline.sql("UPDATE m SET parts = array(3, 4) WHERE x = 2")
    assert sorted(pipeline["made"]) == [(1, 1), (2, ways), (3, ways), (4, ways)]

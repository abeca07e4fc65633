"""WITH RECURSIVE … UNION ALL: a row is there once for each way to it, through changes of acyclic and of cyclic data.

Catches rows that only support each other, ways counted twice or lost where several changes of an epoch meet, and
iterations that are mixed up where a row is derived at several.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from itertools import product

import duckdb
import pytest

import deltic
from deltic.algebra.zset import ZSet
from deltic.calculus.recursion import chain
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.tables import from_arrow, to_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine
from deltic.errors import EvaluationError, IterationLimitError
from deltic.values.types import Schema, Type
from tests.conformance.engines import ENGINES, Driver

ROUTES = """
    WITH RECURSIVE route(a, b, stops) AS (
        SELECT a, b, 0 FROM leg UNION ALL SELECT r.a, l.b, r.stops + 1 FROM route r JOIN leg l ON r.b = l.a
    ) SELECT * FROM route
"""
WAYS = """
    WITH RECURSIVE way(a, b) AS (
        SELECT a, b FROM leg WHERE a NOT IN (SELECT a FROM closed)
        UNION ALL SELECT w.a, l.b FROM way w JOIN leg l ON w.b = l.a WHERE NOT l.b IN (SELECT a FROM closed)
    ) SELECT a, b, count(*) AS ways FROM way GROUP BY a, b
"""
BOTH = """
    WITH RECURSIVE way(x) AS (
        SELECT a FROM closed
        UNION ALL (SELECT l.b FROM way JOIN leg l ON x = l.a UNION ALL SELECT x + 1 FROM way WHERE x < 3)
    ) SELECT x FROM way
"""
TABLES = "CREATE TABLE leg (a INT, b INT); CREATE TABLE closed (a INT NOT NULL)"


def pipeline_of(engine: str) -> deltic.Pipeline:
    if engine == "rounds":
        return deltic.Pipeline(engine="spark", shards=deltic.Shards(3, rounds="always"))
    return deltic.Pipeline(engine=engine)


def answers(pipeline: deltic.Pipeline, view: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in pipeline[view].to_arrow().to_pylist())


@pytest.mark.parametrize(
    ("query", "engine"), [*product([ROUTES, WAYS, BOTH], ["local", "reference"]), (WAYS, "rounds")]
)
def test_the_ways_through_acyclic_data(query, engine):
    rng = random.Random(query)
    pipeline = pipeline_of(engine)
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS {query}")
    database = duckdb.connect(config={"threads": 1})
    database.execute(TABLES)
    rows: dict[str, list[tuple[int, ...]]] = {"leg": [], "closed": []}
    before = Counter[tuple[object, ...]]()
    for _ in range(12):
        with pipeline.transaction() as change:
            for name, present in rows.items():
                gone = [present.pop(rng.randrange(len(present))) for _ in range(min(len(present), rng.randint(0, 4)))]
                new = [_leg(rng) if name == "leg" else (rng.randint(0, 9),) for _ in range(rng.randint(0, 5))]
                present += new
                change.delete(name, gone)
                change.insert(name, new)
                database.execute(f"DELETE FROM {name}")
                if present:
                    database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(present[0]))})", present)
        wanted = Counter(database.execute(query).fetchall())
        assert answers(pipeline, "v") == wanted
        moved = Counter[tuple[object, ...]]()
        for *row, weight in (row.values() for row in change.of("v").to_arrow().to_pylist()):
            moved[tuple(row)] += weight
        difference = {row: wanted[row] - before[row] for row in {*wanted, *before} if wanted[row] != before[row]}
        assert {row: weight for row, weight in moved.items() if weight} == difference
        before = wanted


def _leg(rng: random.Random) -> tuple[int, int]:
    start = rng.randint(0, 9)
    return start, rng.randint(start + 1, 10)


def test_a_counter():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE last (n INT)")
    pipeline.sql(
        "CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n + 1 FROM r JOIN last l ON r.n < l.n) "
        "SELECT n FROM r"
    )
    for last in (100, 3, 300):
        with pipeline.transaction() as change:
            change.delete("last", pipeline["last"].to_arrow())
            change.insert("last", [(last,)])
        assert answers(pipeline, "v") == Counter((n,) for n in range(1, last + 1))


def test_what_only_carries_itself_goes_with_what_carried_it():
    """The circle of 5 is out of reach once 1 does not lead to it, though the change of one epoch is zero at first."""
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS {BOTH.replace('x < 3', 'x < 0')}")
    with pipeline.transaction() as change:
        change.insert("closed", [(1,)])
        change.insert("leg", [(1, 5), (5, 6), (5, 6)])
    assert answers(pipeline, "v") == {(1,): 1, (5,): 1, (6,): 2}
    with pipeline.transaction() as change:
        change.delete("leg", [(1, 5)])
        change.insert("leg", [(5, 5)])
    assert answers(pipeline, "v") == {(1,): 1}


@pytest.mark.parametrize("engine", ["local", "reference", "rounds"])
def test_a_circle_has_no_end(engine):
    pipeline = pipeline_of(engine)
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS {WAYS}")
    with pipeline.transaction() as change:
        change.insert("leg", [(0, 1), (1, 2), (2, 3)])
    before = answers(pipeline, "v")
    with pytest.raises(IterationLimitError, match="write UNION"), pipeline.transaction() as change:
        change.insert("leg", [(2, 0)])
    assert answers(pipeline, "v") == before
    with pytest.raises(IterationLimitError, match=r"no end; nothing was changed"), pipeline.transaction() as change:
        change.insert("leg", [(3, 3)] * 3)  # three times as often at each iteration
    with pipeline.transaction() as change:
        change.insert("leg", [(3, 4)])
    assert answers(pipeline, "v")[(0, 4, 1)] == 1


def test_the_error_names_the_view_and_the_way_out():
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS {WAYS}")
    with pytest.raises(IterationLimitError) as caught, pipeline.transaction() as change:
        change.insert("leg", [(0, 0)])
    assert str(caught.value).startswith("v: the recursion through way")


@pytest.mark.parametrize("engine", ["local", "rounds"])
def test_a_long_chain_is_no_circle(engine):
    pipeline = pipeline_of(engine)
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS {BOTH}")
    with pipeline.transaction() as change:
        change.insert("closed", [(4,)])
        change.insert("leg", [(n, n + 1) for n in range(4, 300)])
    for start, end in ((299, 450), (100, 300)):
        with pipeline.transaction() as change:
            change.insert("leg", [(n, n + 1) for n in range(300, end)] if start == 299 else [(start, end)])
    assert answers(pipeline, "v")[(450,)] == 2


def doubling(distinct: bool = False) -> CircuitBuilder:
    """way(x, z) :- leg(x, z). way(x, z) :- way(x, y), way(y, z): a row for each tree of legs."""
    schema = Schema.of(x=Type.INT64, y=Type.INT64)
    builder, body = CircuitBuilder(), CircuitBuilder(1)
    leg = body.add(ops.Import(0, ZSetType(schema, is_set=False)))
    way = body.add(ops.Feedback("way", schema, is_set=False))
    second = body.add(ops.Map(Schema.of(y=Type.INT64, z=Type.INT64).columns, (column("x"), column("y"))), way)
    joined = body.add(ops.Map(schema.columns, (column("x"), column("z"))), body.add(ops.Join(), way, second))
    joined = body.add(ops.Distinct(), joined) if distinct else joined
    body.add(ops.Sink("way"), body.add(ops.Plus(), leg, joined))
    fixpoint = builder.add(ops.Fixpoint(body.build()), builder.add(ops.Source("leg", schema, is_set=False)))
    builder.add(ops.Sink("way"), builder.add(ops.BundleRelation("way"), fixpoint))
    return builder


@pytest.mark.parametrize("kind", sorted(ENGINES.keys() - {"reference"}))
def test_a_recursion_of_bags_that_is_not_linear(kind):
    """Each derivation counts, whatever the strategy: all engines agree with the definition of the fixpoint."""
    circuit, rng = doubling().build(), random.Random(1)
    found, wanted = Driver.of_program(kind, circuit), Driver.of_program("reference", circuit)
    present: list[tuple[int, int]] = []
    for _ in range(15):
        gone = [present.pop(rng.randrange(len(present))) for _ in range(min(len(present), rng.randint(0, 3)))]
        new = [(start, rng.randint(start + 1, 5)) for start in (rng.randint(0, 4) for _ in range(rng.randint(0, 3)))]
        present += new
        change = {"leg": [*((row, 1) for row in new), *((row, -1) for row in gone)]}
        assert found.changes(change) == wanted.changes(change)
        assert found.everything() == wanted.everything()


def test_the_steps_of_a_recursion_of_bags():
    """From naive evaluation to what is kept fresh, each circuit says the same: of tables, and then of their changes."""
    rng, table, before = random.Random(3), ZSet(), ZSet()
    steps = {name: Interpreter(circuit) for name, circuit in chain(doubling().build()).items()}
    for _ in range(4):
        change = ZSet({(x, rng.randint(x + 1, 4)): rng.randint(1, 2) for x in (rng.randint(0, 3) for _ in range(2))})
        change = change - ZSet({row: weight for row, weight in table if rng.random() < 0.4})
        table = table + change
        found = {
            name: interpreter.step({"leg": table if name in ("naive", "semi_naive") else change})["way"]
            for name, interpreter in steps.items()
        }
        assert found["naive"] == found["semi_naive"]
        assert found["maintained"] == found["lowered"] == found["naive"] - before
        before = found["naive"]


def test_sets_inside_of_a_recursion_of_bags():
    """There a row takes part once at each iteration, however many ways lead to it."""
    circuit = doubling(distinct=True).build()
    engine, reference, rng, table = IncrementalEngine(circuit), ReferenceEngine(circuit), random.Random(2), ZSet()
    for _ in range(6):
        change = ZSet({(x, rng.randint(x + 1, 4)): rng.randint(1, 2) for x in (rng.randint(0, 3) for _ in range(2))})
        change = change - ZSet({row: weight for row, weight in table if rng.random() < 0.4})
        table = table + change
        batch = {"leg": to_arrow(change, circuit.nodes[0].operator.schema)}
        for each in (engine, reference):
            each.apply(batch)
        assert from_arrow(engine.read("way", counted=True)) == from_arrow(reference.read("way", counted=True))


DOUBLED = """
    CREATE TABLE leg (a BIGINT, b BIGINT);
    CREATE VIEW way AS WITH RECURSIVE w(x) AS (
        SELECT a FROM leg WHERE b = -1 UNION ALL SELECT b FROM w JOIN leg ON x = a WHERE b > 0
    ) SELECT x FROM w;
    CREATE VIEW wide AS SELECT x FROM way UNION ALL SELECT a FROM leg WHERE b = -2;
"""


def doubled(engine: str, steps: int, view: str) -> deltic.Pipeline:
    """A chain of so many steps, each there twice, so that 2^n ways lead to node n."""
    pipeline = pipeline_of(engine)
    pipeline.sql(DOUBLED + view)
    with pipeline.transaction() as change:
        change.insert("leg", [(0, -1), *((n, n + 1) for n in range(steps) for _ in (1, 2))])
    return pipeline


@pytest.mark.parametrize("engine", ["local", "rounds"])
def test_as_many_ways_as_64_bits_count(engine):
    pipeline = doubled(engine, 60, "CREATE VIEW v AS SELECT x, count(*) AS n FROM way GROUP BY x")
    for steps in (61, 62):
        with pipeline.transaction() as change:
            change.insert("leg", [(steps - 1, steps)] * 2)
        assert answers(pipeline, "v") == {(n, 2**n): 1 for n in range(steps + 1)}
    with pytest.raises(deltic.CountOverflowError, match=r"way.*overflows 64 bits"), pipeline.transaction() as change:
        change.insert("leg", [(62, 63)] * 2)
    assert answers(pipeline, "v") == {(n, 2**n): 1 for n in range(63)}
    with pipeline.transaction() as change:
        change.delete("leg", [(61, 62)])
    assert answers(pipeline, "v") == {**{(n, 2**n): 1 for n in range(62)}, (62, 2**61): 1}


@pytest.mark.parametrize("engine", ["local", "rounds"])
@pytest.mark.parametrize("told", ["count(*)", "sum(1L)", "count(x) FILTER (WHERE x < 99)"])
def test_more_rows_of_a_group_than_64_bits_count(engine, told):
    pipeline = doubled(engine, 62, f"CREATE VIEW v AS SELECT {told} AS n FROM wide")
    assert answers(pipeline, "v") == {(2**63 - 1,): 1}
    with pytest.raises(deltic.CountOverflowError, match=r"v: .*overflows"), pipeline.transaction() as change:
        change.insert("leg", [(-6, -2)])
    assert answers(pipeline, "v") == {(2**63 - 1,): 1}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(x) AS n FROM way",
        "SELECT x FROM way WHERE x > 61 UNION ALL SELECT x FROM way WHERE x > 61",
        "SELECT a.x FROM way a JOIN way b ON a.x = b.x WHERE a.x = 40",
    ],
)
def test_what_overflows_as_it_is_computed(query):
    with pytest.raises(deltic.CountOverflowError, match=r"v: .*overflows"):
        doubled("local", 62, f"CREATE VIEW v AS {query}")


@pytest.mark.parametrize("engine", ["local", "rounds"])
def test_a_circle_whose_ways_overflow_is_a_circle(engine):
    pipeline = doubled(engine, 2, "")
    with pytest.raises(IterationLimitError, match="lead back to themselves"), pipeline.transaction() as change:
        change.insert("leg", [(2, 1)] * 3)


COUNTING = "r(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM r)"
BY_LEVEL = {  # what Spark 4.3 answers
    f"{COUNTING} SELECT * FROM r LIMIT 10": range(10),
    f"{COUNTING} SELECT n * 2 AS m FROM r LIMIT 10": range(0, 20, 2),
    f"{COUNTING} SELECT * FROM r LIMIT 10 OFFSET 3": range(3, 13),
    f"{COUNTING} SELECT * FROM r LIMIT 0": [],
    f"{COUNTING} SELECT * FROM (SELECT n FROM r LIMIT 4) UNION ALL SELECT 100": [0, 1, 2, 3, 100],
    f"{COUNTING} SELECT sum(n) AS s FROM (SELECT n FROM r LIMIT 4)": [6],
    "r(n) AS (VALUES (0), (0) UNION ALL SELECT n + 1 FROM r) SELECT * FROM r LIMIT 5": [0, 0, 1, 1, 2],
    "r(n) AS (VALUES (0) UNION ALL (SELECT n + 1 FROM r LIMIT 5)) SELECT * FROM r LIMIT 10": range(10),
    "r(n) AS (VALUES (0) UNION ALL (SELECT n + 1 FROM r WHERE n < 9 EXCEPT SELECT 3)) SELECT * FROM r": [0, 1, 2],
    "r(n) AS (VALUES (0) UNION ALL (SELECT n + 1 FROM r WHERE n < 9 EXCEPT ALL SELECT 3)) SELECT * FROM r": [0, 1, 2],
    "r(n) AS (VALUES (0), (0) UNION ALL (SELECT n + 1 FROM r WHERE n < 4 EXCEPT SELECT 7)) SELECT * FROM r": (
        [0, 0, 1, 2, 3, 4]
    ),
    "r(n) AS (VALUES (0), (0) UNION ALL (SELECT n + 1 FROM r WHERE n < 4 INTERSECT VALUES (1), (2))) SELECT * FROM r": (
        [0, 0, 1, 2]
    ),
    "r(n) AS (VALUES (0), (0) UNION ALL SELECT DISTINCT n + 1 FROM r WHERE n < 4) SELECT * FROM r": [0, 0, 1, 2, 3, 4],
    "r(n) AS (VALUES (0), (0), (1) UNION ALL SELECT DISTINCT n + 1 FROM r WHERE n < 4) SELECT * FROM r": (
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    ),
    "r(n) AS (VALUES (1), (2) UNION ALL SELECT a.n + b.n FROM r a JOIN r b ON a.n < b.n AND a.n < 20) TABLE r": (
        [1, 2, 3]
    ),
    "r(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM r WHERE n NOT IN (SELECT n + 3 FROM r) AND n < 5) TABLE r": (
        range(6)
    ),
}


@pytest.mark.parametrize("query", BY_LEVEL)
def test_recursions_go_level_by_level_and_a_limit_stops_them(query):
    for engine in ("local", "reference"):
        pipeline = deltic.Pipeline(engine=engine)
        pipeline.sql(f"CREATE VIEW v AS WITH RECURSIVE {query}")
        assert sorted(answers(pipeline, "v").elements()) == [(n,) for n in BY_LEVEL[query]]
    assert sorted(deltic.Pipeline().sql(f"WITH RECURSIVE {query}")) == [(n,) for n in BY_LEVEL[query]]


STOPPED = """
    CREATE TABLE root (n INT);
    CREATE TABLE leg (a INT, b INT);
    CREATE VIEW v AS WITH RECURSIVE r(n) AS (
        SELECT n FROM root UNION {} SELECT b FROM r JOIN leg ON n = a) SELECT n FROM r LIMIT 6
"""


@pytest.mark.parametrize(("engine", "word"), [("local", "ALL"), ("local", ""), ("rounds", "ALL")])
def test_a_stopped_recursion_is_kept_through_changes(engine, word):
    """Its rows are those of the first levels that 6 rows reach into, whatever the data does beyond them."""
    rng, pipeline = random.Random(engine + word), pipeline_of(engine)
    pipeline.sql(STOPPED.format(word))
    rows: dict[str, list[tuple[int, ...]]] = {"root": [], "leg": [(0, 0)]}
    with pipeline.transaction() as change:
        change.insert("leg", rows["leg"])
    for _ in range(10):
        with pipeline.transaction() as change:
            for name, present in rows.items():
                gone = [present.pop(rng.randrange(len(present))) for _ in range(min(len(present), rng.randint(0, 2)))]
                new = [tuple(rng.randint(0, 5) for _ in range(1 + (name == "leg"))) for _ in range(rng.randint(0, 3))]
                present += new
                change.delete(name, gone)
                change.insert(name, new)
        level, seen, levels = Counter(n for (n,) in rows["root"]), Counter[int](), list[Counter[int]]()
        while level and seen.total() < 6:
            level = level if word else Counter(level.keys() - seen.keys())
            levels.append(level)
            seen += level
            level = Counter(b for n in level.elements() for a, b in rows["leg"] if a == n)
        found = Counter(n for (n,) in answers(pipeline, "v").elements())
        assert found.total() == min(6, seen.total())
        assert not found - seen
        whole = sum(levels[:-1], Counter())
        assert not whole - found


ENDLESS = {
    "a bag": "SELECT x FROM t UNION ALL SELECT n + 1 FROM r",
    "groups": "SELECT x FROM t UNION SELECT max(n) + 1 FROM r GROUP BY n",
    "a set": "SELECT CAST(x AS STRING) FROM t UNION SELECT concat(n, 'a') FROM r",
}


def endless(engine: str, step: str, **options: float) -> deltic.Pipeline:
    shards = {"engine": "spark", "shards": deltic.Shards(2, rounds="always")} if engine == "rounds" else {}
    pipeline = deltic.Pipeline(**shards, recursion=deltic.Recursion(**options))
    pipeline.sql(f"CREATE TABLE t (x BIGINT); CREATE VIEW v AS WITH RECURSIVE r(n) AS ({step}) SELECT n FROM r")
    return pipeline


@pytest.mark.parametrize(("engine", "kind"), [*product(["local"], ENDLESS), ("rounds", "a bag")])
def test_a_recursion_without_an_end_says_so_after_some_time(engine, kind):
    pipeline = endless(engine, ENDLESS[kind], recursion_timeout=0.05, iteration_limit=10_000_000)
    message = r"r has no end after [\d,]+ iterations in 0.05 s; nothing was changed.*more time .recursion_timeout"
    with pytest.raises(IterationLimitError, match=message), pipeline.transaction() as change:
        change.insert("t", [(1,)])
    assert len(pipeline["t"]) == len(pipeline["v"]) == 0


def test_what_spark_would_answer_is_not_cut_off_by_time():
    pipeline = endless("local", "SELECT x FROM t UNION ALL SELECT n + 1 FROM r WHERE n < 100", recursion_timeout=0)
    with pipeline.transaction() as change:
        change.insert("t", [(1,)])
    assert len(pipeline["v"]) == 100


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_interrupt_ends_a_recursion_without_an_end_at_once(kind):
    pipeline = endless("local", ENDLESS[kind], recursion_timeout=60, iteration_limit=10_000_000)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), pipeline.transaction() as change:
        change.insert("t", [(1,)])
    timer.join()
    assert len(pipeline["t"]) == 0


@pytest.mark.parametrize("union", ["UNION ALL", "UNION"])
def test_max_recursion_level_allows_as_many_steps(union):
    """A recursion whose last step is the level itself is an error, as Spark has it; before it, none."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE bound (n INT); INSERT INTO bound VALUES (3)")
    pipeline.sql(
        f"CREATE VIEW v AS WITH RECURSIVE r(n) MAX RECURSION LEVEL 4 AS "
        f"(SELECT 1 {union} SELECT r.n + 1 FROM r JOIN bound ON r.n < bound.n) SELECT n FROM r"
    )
    assert sorted(row["n"] for row in pipeline["v"].to_arrow().to_pylist()) == [1, 2, 3]
    with pytest.raises(EvaluationError, match="exceeds its MAX RECURSION LEVEL"):
        pipeline.sql("UPDATE bound SET n = 5")
    assert sorted(row["n"] for row in pipeline["v"].to_arrow().to_pylist()) == [1, 2, 3]
    pipeline.sql("UPDATE bound SET n = 4")
    assert sorted(row["n"] for row in pipeline["v"].to_arrow().to_pylist()) == [1, 2, 3, 4]


def test_limit_stops_a_recursion_before_its_max_recursion_level():
    text = (
        "WITH RECURSIVE r(n) MAX RECURSION LEVEL 3 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT "
    )
    pipeline = deltic.Pipeline()
    assert [row["n"] for row in pipeline.sql(text + "3").to_arrow().to_pylist()] == [1, 2, 3]
    with pytest.raises(EvaluationError, match="exceeds its MAX RECURSION LEVEL"):
        pipeline.sql(text + "4")


def test_rows_that_lead_back_are_no_further_levels_of_union():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE e (s INT, d INT); INSERT INTO e VALUES (1, 2), (2, 3), (3, 1)")
    query = "WITH RECURSIVE r(x) MAX RECURSION LEVEL 3 AS (SELECT 1 UNION SELECT e.d FROM r JOIN e ON r.x = e.s) "
    assert sorted(row["x"] for row in pipeline.sql(query + "SELECT x FROM r").to_arrow().to_pylist()) == [1, 2, 3]


def test_explain_names_the_limits_of_what_computes_values():
    with deltic.Pipeline(recursion=deltic.Recursion(iteration_limit=500)) as pipeline:
        pipeline.sql("CREATE TABLE t (a INT, b INT)")
        pipeline.sql("CREATE VIEW v AS WITH RECURSIVE r AS (SELECT a FROM t UNION SELECT a + 1 FROM r) SELECT * FROM r")
        steps = "SELECT a, b FROM t UNION SELECT r.a, t.b FROM r JOIN t ON r.b = t.a"
        pipeline.sql(f"CREATE VIEW w AS WITH RECURSIVE r AS ({steps}) SELECT * FROM r")
        limits = "r: 500 iterations (iteration_limit), and 10 s past the first 100 (recursion_timeout)"
        assert limits in pipeline.explain("v")
        assert "recursion_timeout" not in pipeline.explain("w")

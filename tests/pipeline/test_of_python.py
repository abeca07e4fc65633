"""Aggregates and operators of Python in SQL and Datalog, in every engine, and on shards.

Catches a state that goes on from a change that was taken back, a NULL that is counted, a group that is forgotten, and
rows that are not gathered. The oracles are the reference engine, which computes everything anew, and what SQL and
Datalog compute themselves.
"""

from __future__ import annotations

import random

import pytest
from pyspark import cloudpickle

import deltic
from deltic import ZSet
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.custom import CUSTOM
from deltic.circuit.operators.custom import Apply
from deltic.cli.main import app
from deltic.engine.executors.shards.lay_out import lay_out
from deltic.errors import CatalogError, DataError, EvaluationError, ProgramError, UnsupportedError
from deltic.functions import FUNCTIONS, PROVIDED
from deltic.program.compiling import program_of

REGISTRIES: list[dict] = [ACCUMULATORS, CUSTOM]
PLACE = {"id": "int64", "x": "float64"}


class Energy:
    def __init__(self):
        self.total = 0

    def update(self, value, weight):
        self.total += value * value * weight

    def result(self):
        return self.total


def squares(values):
    return sum(value * value for value in values)


def middle(values):
    return sorted(values)[len(values) // 2] if len(values) > 1 else None


def weighed(pairs):
    return sum(value * weight for value, weight in pairs), len(pairs)


def spread(pairs):
    return sum(high - low for low, high in pairs)


def near(places, others):
    return ZSet(((p[0], q[0]), v * w) for p, v in places for q, w in others if abs(p[1] - q[1]) <= 1)


def change_of_near(places, others):
    return near(places.delta, others.old) + near(places.new, others.delta)


def of_python():
    number = {"of": {"n": "int64"}, "gives": {"r": "int64"}}
    sides = {"takes": [PLACE, PLACE], "gives": {"a": "int64", "b": "int64"}}
    return [
        deltic.aggregate(squares, **number),
        deltic.aggregate(squares, name="energy", state=Energy, **number),
        deltic.aggregate(middle, of={"n": "int64"}, gives={"r": "int64?"}),
        deltic.aggregate(weighed, of={"n": "int64", "w": "int64"}, gives={"total": "int64", "rows": "int64"}),
        deltic.aggregate(spread, of={"low": "int64", "high": "int64"}, gives={"r": "int64"}),
        deltic.operator(near, **sides),
        deltic.operator(near, name="nearer", derivative=change_of_near, **sides),
    ]


SQL = """
CREATE TABLE sale (shop STRING, n BIGINT, w BIGINT);
CREATE VIEW by_shop AS
  SELECT shop, squares(n) AS s, energy(n) AS e, middle(n) AS m, weighed(n, w) AS w, sum(n * n) AS known, count(*) AS c
  FROM sale GROUP BY shop;
CREATE VIEW in_all AS
  SELECT energy(n) AS e, energy(DISTINCT n) FILTER (WHERE n > 1) AS d, sum(n * n) AS known FROM sale;
CREATE VIEW running AS SELECT shop, n, energy(n) OVER (PARTITION BY shop) AS e FROM sale;
CREATE VIEW many AS SELECT shop FROM sale GROUP BY shop HAVING energy(n) > 8;
CREATE VIEW pairs AS SELECT a, b FROM near(TABLE(person), TABLE(SELECT id, x FROM place WHERE x > 0)) AS p(a, b);
CREATE VIEW twice AS SELECT p.a, count(*) AS c FROM nearer(TABLE(place), TABLE(place)) AS p(a, b) GROUP BY p.a
"""

DATALOG = """
.decl person(id: number, x: float)
.decl place(id: number, x: float)
.decl meets(p: number, q: number)
.decl alone(p: number)
.decl strength(q: number, e: number, known: number)
.decl typical(m: number)
meets(p, q) :- @near[person, place](p, q).
alone(p) :- person(p, _), !@nearer[person, place](p, _).
strength(q, e, s) :- place(q, _), e = @@energy p : { meets(p, q) }, s = sum p * p : meets(p, q).
typical(m) :- m = @@middle p : { @nearer[person, place](p, _) }.
.decl balance(p: number, d: number, known: number)
balance(p, d, s) :- person(p, _), d = @@spread(n, q + 1) : { meets(p, q), n = q * 2 },
  s = sum (q + 1 - n) : { meets(p, q), n = q * 2 }.
"""
VIEWS = ("by_shop", "in_all", "running", "many", "pairs", "twice", "meets", "alone", "strength", "typical", "balance")


def pipeline_of(engine, **options):
    pipeline = deltic.Pipeline(
        engine=engine, functions=of_python(), transactions=deltic.Transactions(conflicts="normalize"), **options
    )
    pipeline.datalog(DATALOG)
    for statement in SQL.split(";"):
        pipeline.sql(statement)
    return pipeline


def random_row(rng, table):
    if table == "sale":
        return rng.choice("ab"), rng.choice((None, 0, 1, 2, -3)), rng.choice((None, 1, 2))
    return rng.randrange(4), rng.randrange(-4, 5) / 2


def changed(pipeline, insert, delete):
    with pipeline.transaction() as change:
        for table in insert:
            change.insert(table, insert[table])
            change.delete(table, delete[table])
    return {view: sorted(change.of(view), key=repr) for view in VIEWS}


def test_every_engine_computes_what_the_reference_does(tmp_path):
    rng = random.Random(7)
    engines = {
        "local": pipeline_of("local", state=tmp_path / "s"),
        "spark": pipeline_of("spark", shards=3),
        "reference": pipeline_of("reference"),
    }
    for pipeline in engines.values():
        changed(pipeline, {"sale": [("a", 1, 1)]}, {"sale": []})
    for epoch in range(4):
        insert = {t: [random_row(rng, t) for _ in range(rng.randrange(4))] for t in ("sale", "person", "place")}
        there = {t: sorted(engines["reference"][t], key=repr) for t in insert}
        delete = {t: rng.sample(there[t], min(len(there[t]), rng.randrange(3))) for t in insert}
        with engines["local"].transaction() as change:  # what a change would do leaves nothing behind
            change.insert("sale", [("a", 5, 1), ("c", 7, 1)])
            assert change.preview().of("many")
            change.discard()
        found = {name: changed(pipeline, insert, delete) for name, pipeline in engines.items()}
        assert found["local"] == found["reference"]
        assert found["spark"] == found["reference"]
        assert all(row[2] == row[5] for row in engines["local"]["by_shop"] if row[1] is not None)
        assert all(row[1] == row[2] for view in ("strength", "balance") for row in engines["local"][view])
        if epoch == 1:
            engines["local"].close()
            engines["local"] = deltic.Pipeline(
                engine="local",
                state=tmp_path / "s",
                functions=of_python(),
                transactions=deltic.Transactions(conflicts="normalize"),
            )


def test_the_code_travels_with_the_plan_of_shards(monkeypatch):
    pipeline = pipeline_of("spark", shards=2)
    plan = lay_out(program_of(pipeline.catalog.circuit))
    packed = cloudpickle.dumps(plan)
    for registry in REGISTRIES:  # as in another process
        for name in [name for name in registry if "__" in name]:
            monkeypatch.delitem(registry, name)
    there = cloudpickle.loads(packed)
    assert str(there) == str(plan)
    called = {call.function for r in there.program.relations.values() for call in getattr(r.definition, "calls", ())}
    assert {ACCUMULATORS[name].value({3: 2}, (), ()) for name in called if name.startswith("energy__")} == {18}
    operators = [getattr(r.definition, "operator", None) for r in there.program.relations.values()]
    assert {op.custom.name for op in operators if isinstance(op, Apply)} == {"near", "nearer"}


def test_functions_travel_with_it_too():
    pipeline = deltic.Pipeline(
        functions=[deltic.function(abs, arguments=[int], returns=int, name="measure", deterministic=True)]
    )
    pipeline.sql("CREATE TABLE t (n BIGINT)")
    pipeline.sql("CREATE VIEW v AS SELECT n FROM t WHERE measure(n) > 1")
    packed = cloudpickle.dumps(lay_out(program_of(pipeline.catalog.circuit)))
    names = [name for name in FUNCTIONS if name.startswith("measure__")]
    for registry in (FUNCTIONS, PROVIDED):
        for name in names:
            del registry[name]
    cloudpickle.loads(packed)
    assert [FUNCTIONS[name].python(-3) for name in names] == [3]


def test_a_state_costs_the_values_of_the_change():
    updates = []

    class Counting(Energy):
        def update(self, value, weight):
            updates.append(value)
            super().update(value, weight)

    own = deltic.aggregate(squares, name="counted", state=Counting, of={"n": "int64"}, gives={"r": "int64"})
    pipeline = deltic.Pipeline(functions=[own])
    pipeline.sql("CREATE TABLE t (k INT, n BIGINT)")
    pipeline.sql("CREATE VIEW v AS SELECT k, counted(n) AS e FROM t GROUP BY k")
    with pipeline.transaction() as change:
        change.insert("t", [*((1, n) for n in range(50)), (0, 0), (2, 1000)])  # all values have a place from now on
    updates.clear()
    with pipeline.transaction() as change:
        change.insert("t", [(1, 30)])
        change.delete("t", [(1, 7)])
    assert sorted(updates) == [7, 30]
    assert dict(pipeline["v"])[1] == squares([n for n in (*range(50), 30) if n != 7])


def test_what_the_code_raises_rejects_the_epoch():
    def fails(values):
        return 12 // min(values)

    class Failing(Energy):
        def update(self, value, weight):
            super().update(12 // value, weight)

    own = [
        deltic.aggregate(fails, of={"n": "int64"}, gives={"r": "int64"}),
        deltic.aggregate(fails, name="stateful", state=Failing, of={"n": "int64"}, gives={"r": "int64"}),
    ]
    for name, entry in (
        ("fails", "aggregate fails raised ZeroDivisionError"),
        ("stateful", "aggregate stateful raised"),
    ):
        pipeline = deltic.Pipeline(functions=own)
        pipeline.sql("CREATE TABLE t (k INT, n BIGINT)")
        pipeline.sql(f"CREATE VIEW v AS SELECT k, {name}(n) AS e FROM t GROUP BY k")
        with pipeline.transaction() as change:
            change.insert("t", [(1, 2)])
        before = list(pipeline["v"])
        with pytest.raises(EvaluationError, match=entry), pipeline.transaction() as change:
            change.insert("t", [(1, 3), (1, 0)])
        assert list(pipeline["v"]) == before
        with pipeline.transaction() as change:
            change.insert("t", [(1, 4)])
        assert list(pipeline["v"]) == [(1, 12 // 2 if name == "fails" else 36 + 9)]


def test_another_body_makes_the_views_anew():
    pipeline = deltic.Pipeline(functions=of_python())
    pipeline.sql("CREATE TABLE t (n BIGINT)")
    pipeline.sql("CREATE VIEW v AS SELECT squares(n) AS e FROM t")
    with pipeline.transaction() as change:
        change.insert("t", [(1,), (2,)])
    changed = pipeline.function(deltic.aggregate(sum, name="squares", of={"n": "int64"}, gives={"r": "int64"}))
    assert "v" in changed.replaced
    assert list(pipeline["v"]) == [(3,)]


def tables():
    pipeline = deltic.Pipeline(functions=of_python())
    pipeline.sql(SQL.split(";")[0])
    pipeline.datalog(DATALOG.split(".decl alone")[0] + "meets(1, 2).")
    return pipeline


WRONG = {
    "another number of relations": "* FROM near(TABLE(place))",
    "no relation": "* FROM near(place, TABLE(place))",
    "another type": "* FROM near(TABLE(sale), TABLE(place))",
    "NULL": "* FROM near(TABLE(SELECT n, 1.0D AS x FROM sale), TABLE(place))",
    "a value": "near(n) AS x FROM sale",
    "another number of values": "squares(n, n) AS x FROM sale",
    "no number": "squares(array(n)) AS x FROM sale",
}


def test_messages_in_sql(golden):
    pipeline = tables()
    parts = [f"{name}\n{refused(pipeline.sql, f'CREATE VIEW z AS SELECT {text}')}" for name, text in WRONG.items()]
    step = "SELECT a, 1.0D FROM near(TABLE(r), TABLE(place)) AS p(a, b)"
    recursive = f"CREATE VIEW z AS WITH RECURSIVE r(a, b) AS (SELECT id, x FROM place UNION ALL {step}) SELECT a FROM r"
    parts.append(f"a recursion of bags\n{refused(pipeline.sql, recursive)}")
    golden("sql/of-python.txt", "\n\n".join(parts) + "\n")


WRONG_RULES = {
    "another number of relations": "a(n) :- @near[person](n, _).",
    "no relation": "a(n) :- @near[person, nope](n, _).",
    "no operator": "a(n) :- @nearest[person, place](n, _).",
    "a relation of other types": "a(n) :- @near[meets, place](n, _).",
    "another number of values": "a(n) :- @near[person, place](n).",
    "no aggregate": "a(n) :- n = @@enrgy p : meets(p, _).",
    "an aggregate of another type": "a(n) :- n = @@energy x : place(_, x).",
    "an aggregate of two results": "a(n) :- n = @@weighed(p, q) : meets(p, q).",
    "an aggregate of another number of values": "a(n) :- n = @@energy(p, q) : meets(p, q).",
    "a circle of helpers": "a(n) :- a(m), meets(m, n), !b(n, _).\n.decl b(n: number, x: float)\n"
    "b(n, x) :- place(n, x), !a(n).\nb(n, x) :- place(n, x), @near[b, place](n, _).",
    "a functor": ".functor near(n: number): number\na(n) :- meets(m, _), n = @near(m).",
}


def test_messages_in_datalog(golden):
    pipeline = tables()
    parts = []
    for name, text in WRONG_RULES.items():
        program = f".decl a(n: number)\n{text}"
        parts.append(f"{name}\n{refused(pipeline.datalog, program)}")
    golden("datalog/of-python.txt", "\n\n".join(parts) + "\n")


def refused(define, text):
    with pytest.raises(ProgramError) as caught:
        define(text)
    return str(caught.value)


def test_strict_refuses_an_operator_without_a_derivative():
    pipeline = deltic.Pipeline(functions=of_python(), maintenance=deltic.Maintenance(refresh="incremental strict"))
    pipeline.datalog(DATALOG.split("meets(p, q) :-")[0])
    pipeline.datalog("alone(p) :- person(p, _), !@nearer[person, place](p, _).")
    with pytest.raises(UnsupportedError, match="near"):
        pipeline.datalog("meets(p, q) :- @near[person, place](p, q).")
    with pytest.raises(UnsupportedError, match="near"):
        pipeline.sql("CREATE VIEW z AS SELECT * FROM near(TABLE(person), TABLE(place))")


def test_an_aggregate_may_not_be_called_as_one_of_sql():
    with pytest.raises(CatalogError, match="there is a function median in SQL"):
        deltic.Pipeline(functions=[deltic.aggregate(middle, name="median", of={"n": int}, gives={"r": "int64?"})])


MODULE = """
import deltic

@deltic.aggregate(of={"n": "int64"}, gives={"r": "int64"})
def product(values):
    found = 1
    for value in values:
        found *= value
    return found

@deltic.operator(takes=[{"n": "int64"}], gives={"n": "int64"}, derivative=lambda rows: even(rows.delta))
def even(rows):
    return {row: weight for row, weight in rows if row[0] % 2 == 0}
"""


def test_the_command_line_has_them(tmp_path, capsys):
    (tmp_path / "own.py").write_text(MODULE)
    (tmp_path / "n.facts").write_text("2\n3\n4\n")
    (tmp_path / "p.dl").write_text(
        ".decl n(x: number)\n.input n\n.decl p(x: number)\n.output p\n"
        "p(x) :- x = @@product y : { @even[n](y) }.\n.decl m(x: number)\n.output m\nm(y) :- @even[n](y).\n"
    )
    given = ["--facts", str(tmp_path), "--out", str(tmp_path), "--functors", str(tmp_path / "own.py")]
    with pytest.raises(SystemExit) as ended:
        app(["run", str(tmp_path / "p.dl"), *given])
    assert not ended.value.code
    assert (tmp_path / "p.csv").read_text() == "8\n"
    assert (tmp_path / "m.csv").read_text() == "2\n4\n"
    with pytest.raises(SystemExit):
        app(["explain", str(tmp_path / "p.dl"), "m", "--functors", str(tmp_path / "own.py")])
    assert "even of n, by its derivative" in capsys.readouterr().out
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(DataError, match=r"made by deltic\.function, functor, aggregate or operator"):
        deltic.Pipeline(functions=tmp_path / "empty.py")

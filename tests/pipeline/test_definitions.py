"""Tables, views and programs that come, change and go in a pipeline, on both engines, through every door.

Catches a view that is stale or missing after a change of definitions; a change that is told wrongly; a refused change
that left something behind; a table of Python that rules see otherwise than the docs say.
"""

from __future__ import annotations

import datetime

import pytest

import deltic
from deltic import CatalogError, DelticError, ProgramError
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Column, Schema, Type

FOLLOWS = ".decl follows(who: symbol, whom: symbol)\n"
REACHES = """
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
"""
WHO = """%0 = source follows : set{who: string, whom: string}
%1 = map [who] (%0) : zset{who: string}
%2 = distinct (%1) : set{who: string}
%3 = sink people (%2) : set{who: string}"""


@pytest.fixture(params=["local", "reference"])
def pipeline(request):
    made = deltic.Pipeline(engine=request.param)
    made.datalog(FOLLOWS + REACHES)
    with made.transaction() as change:
        change.insert("follows", [("ada", "bob"), ("bob", "eve")])
    return made


def follow(pipeline, *rows, table="follows"):
    with pipeline.transaction() as change:
        change.insert(table, rows)
    return change


def test_a_program_added_in_the_middle(pipeline):
    evolution = pipeline.datalog(".decl fans(x: symbol) fans(x) :- reaches(_, x). .decl late(x: symbol)")
    assert (evolution.added, evolution.replaced, evolution.dropped) == (("late", "fans"), (), ())
    assert set(evolution.of("fans")) == {(("bob",), 1), (("eve",), 1)}
    assert len(evolution.of("reaches")) == 0
    assert evolution.report.changed.keys() == {"fans"}
    assert set(follow(pipeline, ("eve", "kim")).of("fans")) == {(("kim",), 1)}
    assert repr(evolution) == "added late, fans; kept follows, reaches"


def test_a_view_replaced_in_the_middle(pipeline):
    pipeline.datalog(".decl far(x: symbol) far(x) :- reaches(x, y), !follows(x, y).")
    assert set(pipeline["far"]) == {("ada",)}
    evolution = pipeline.replace("reaches(x, y) :- follows(x, y).")
    assert (evolution.replaced, evolution.dependent) == (("reaches",), ("far",))
    assert set(evolution.of("reaches")) == {(("ada", "eve"), -1)}
    assert set(evolution.of("far")) == {(("ada",), -1)}
    assert set(pipeline["reaches"]) == {("ada", "bob"), ("bob", "eve")}
    follow(pipeline, ("eve", "ada"))
    assert len(pipeline["reaches"]) == 3
    assert len(pipeline["far"]) == 0


def test_a_view_with_other_columns_comes_with_all_its_rows(pipeline):
    evolution = pipeline.replace(".decl reaches(n: number) reaches(n) :- n = count : { follows(_, _) }.")
    assert set(evolution.of("reaches")) == {((2,), 1)}
    assert list(pipeline["reaches"]) == [(2,)]


def test_a_view_of_a_circuit(pipeline):
    evolution = pipeline.view("people", WHO)
    assert set(evolution.of("people")) == {(("ada",), 1), (("bob",), 1)}
    pipeline.datalog('.decl other(x: symbol) other(x) :- people(x), x != "ada".')
    assert list(pipeline["other"]) == [("bob",)]
    with pytest.raises(CatalogError, match="people is already a view of Python"):
        pipeline.view("people", WHO)
    pipeline.view("people", WHO.replace("[who]", "[whom AS who]"), replace=True)
    assert set(pipeline["people"]) == set(pipeline["other"]) == {("bob",), ("eve",)}


def test_a_view_of_datalog_replaced_by_a_circuit_and_back(pipeline):
    circuit = WHO.replace("sink people", "sink reaches")
    assert pipeline.view("reaches", circuit, replace=True).replaced == ("reaches",)
    assert set(pipeline["reaches"]) == {("ada",), ("bob",)}
    assert pipeline.replace(REACHES).replaced == ("reaches",)
    assert len(pipeline["reaches"]) == 3


def test_a_recursive_circuit_that_the_builder_made(pipeline):
    schema = Schema.of(who=Type.STRING, whom=Type.STRING)
    body = CircuitBuilder(1)
    edge = body.add(ops.Import(0, Type_of(schema)))
    path = body.add(ops.Feedback("path", schema))
    mid, columns = Column("mid", Type.STRING), schema.columns
    left = body.add(ops.Map((columns[0], mid), (column("who"), column("whom"))), path)
    right = body.add(ops.Map((mid, columns[1]), (column("who"), column("whom"))), edge)
    joined = body.add(ops.Map(columns, (column("who"), column("whom"))), body.add(ops.Join(), left, right))
    body.add(ops.Sink("path"), body.add(ops.Distinct(), body.add(ops.Plus(), edge, joined)))
    outside = CircuitBuilder()
    fixpoint = outside.add(ops.Fixpoint(body.build()), outside.add(ops.Source("follows", schema)))
    outside.add(ops.Sink("anything"), outside.add(ops.BundleRelation("path"), fixpoint))
    pipeline.view("path", outside.build())
    assert set(pipeline["path"]) == set(pipeline["reaches"])
    assert pipeline.catalog.recursions == [("path",), ("reaches",)]
    follow(pipeline, ("eve", "ada"))
    assert set(pipeline["path"]) == set(pipeline["reaches"])
    assert len(pipeline["path"]) == 9


def Type_of(schema):
    from deltic.circuit.edges import ZSetType

    return ZSetType(schema, True, 1)


def test_hidden_views_are_not_read(pipeline):
    pipeline.view("people", WHO, hidden=True)
    pipeline.datalog(
        '.decl two(x: symbol) .decl one(x: symbol) .pragma "hidden" "one" one(x) :- people(x). two(x) :- one(x).'
    )
    assert set(pipeline["two"]) == {("ada",), ("bob",)}
    assert list(pipeline) == ["follows", "reaches", "two"]
    for name in ("people", "one"):
        with pytest.raises(DelticError, match=f"{name} is not a view or table: it is hidden, only other views read it"):
            pipeline[name]
    follow(pipeline, ("eve", "ada"))
    assert len(pipeline["two"]) == 3


def test_dropping(pipeline):
    pipeline.datalog(".decl fans(x: symbol) fans(x) :- reaches(_, x).")
    for names, words in (
        (("reaches",), "reaches cannot be dropped: fans reads it"),
        (("follows",), "reaches reads it"),
    ):
        with pytest.raises(CatalogError, match=words):
            pipeline.drop(*names)
    view = pipeline["fans"]
    evolution = pipeline.drop("fans", "reaches")
    assert (evolution.dropped, evolution.report.changed) == (("reaches", "fans"), {})
    assert list(pipeline) == ["follows"]
    with pytest.raises(DelticError, match="there is no view or table 'fans'"):
        len(view)
    pipeline.datalog(REACHES)
    assert len(pipeline["reaches"]) == 3
    pipeline.drop("reaches", "follows")
    assert len(pipeline) == 0
    pipeline.datalog(FOLLOWS)
    assert len(pipeline["follows"]) == 0


def test_names_of_a_pipeline(pipeline):
    assert "reaches" in pipeline
    assert "nothing" not in pipeline
    assert 5 not in pipeline
    assert list(pipeline) == ["follows", "reaches"]
    assert len(pipeline) == 2


def test_a_table_of_python(pipeline):
    assert (
        repr(pipeline.table("age", {"who": "string", "years": "int64"}, key="who"))
        == "added age; kept follows, reaches"
    )
    pipeline.datalog(".decl adult(x: symbol, y: symbol) adult(x, y) :- reaches(x, y), age(y, n), n >= 18.")
    follow(pipeline, ("bob", 17), ("eve", 20), table="age")
    assert set(pipeline["adult"]) == {("ada", "eve"), ("bob", "eve")}
    assert pipeline.catalog.tables["age"].key == ("who",)


def test_other_types_join_and_are_handed_on(pipeline):
    pipeline.table("born", {"who": str, "day": datetime.date})
    pipeline.datalog("""
        .decl twins(x: symbol, y: symbol, day: date)
        twins(x, y, d) :- born(x, d), born(y, d), x < y.
    """)
    day = datetime.date(2001, 2, 3)
    follow(pipeline, ("ada", day), ("bob", day), ("eve", datetime.date(2001, 2, 4)), table="born")
    assert list(pipeline["twins"]) == [("ada", "bob", day)]


def test_nulls_bags_and_narrow_numbers_in_rules(pipeline):
    """NULL matches `_` alone; a row of a bag counts once; narrow numbers are numbers."""
    pipeline.table("sale", {"id": "int64", "shop": "string?", "n": "int32?"}, bag=True)
    pipeline.datalog("""
        .decl shop(s: symbol)       shop(s) :- sale(_, s, _).
        .decl more(n: number)       more(n + 1) :- sale(_, _, n).
        .decl other(i: number)      other(i) :- sale(i, _, _), !sale(i, _, 5).
        .decl sales(n: number)      sales(n) :- n = count : { sale(_, _, _) }.
    """)
    follow(pipeline, (1, "a", 3), (1, "a", 3), (2, None, None), (3, "b", 5), table="sale")
    assert len(pipeline["sale"]) == 4
    assert set(pipeline["shop"]) == {("a",), ("b",)}
    assert set(pipeline["more"]) == {(4,), (6,)}
    assert set(pipeline["other"]) == {(1,), (2,)}
    assert list(pipeline["sales"]) == [(3,)]
    with pipeline.transaction() as change:
        change.delete("sale", [(1, "a", 3), (2, None, None)])
    assert dict(change.of("sales")) == {(3,): -1, (2,): 1}
    assert set(pipeline["other"]) == {(1,)}
    counted = "%0 = source sale : zset{id: int64, shop: string?, n: int32?}\n%1 = map [shop] (%0) : zset{shop: string?}"
    evolution = pipeline.view("shops", f"{counted}\n%2 = sink shops (%1) : zset{{shop: string?}}")
    assert dict(evolution.of("shops")) == {("a",): 1, ("b",): 1}
    follow(pipeline, (4, None, 1), (5, None, 1), table="sale")
    assert sorted(pipeline["shops"], key=str) == [("a",), ("b",), (None,), (None,)]


def test_a_strategy_of_a_hidden_recursion():
    pipeline = deltic.Pipeline(
        recursion=deltic.Recursion(strategy={"reaches": "elastic"}),
        maintenance=deltic.Maintenance(refresh="incremental"),
    )
    pipeline.datalog(
        FOLLOWS + REACHES + '.pragma "hidden" "reaches" .decl ends(x: symbol) ends(x) :- reaches("ada", x).'
    )
    report = follow(pipeline, ("ada", "bob"), ("bob", "eve")).report
    assert [(c.relations, c.strategy) for c in report.components] == [(("reaches",), "elastic")]
    evolution = pipeline.datalog(".decl other(x: symbol) other(x) :- ends(x).")
    assert "reaches" in evolution.report.extension.kept


def test_a_refused_change_leaves_the_pipeline_as_it_was(pipeline):
    for action in (
        lambda: pipeline.datalog(".decl a(x: symbol) a(x) :- reach(x, _)."),
        lambda: pipeline.datalog(".decl follows(x: symbol)"),
        lambda: pipeline.replace(".decl follows(x: number) .decl a(x: number) a(x) :- follows(x)."),
        lambda: pipeline.view("a", "%0 = source nothing : set{x: int64}\n%1 = sink a (%0) : set{x: int64}"),
        lambda: pipeline.view("follows", WHO, replace=True),
        lambda: pipeline.table("reaches", {"x": int}),
        lambda: pipeline.drop("follows"),
        lambda: pipeline.drop("reaches", "nothing"),
    ):
        with pytest.raises((CatalogError, ProgramError, DelticError)):
            action()
        assert list(pipeline) == ["follows", "reaches"]
    follow(pipeline, ("eve", "kim"))
    assert len(pipeline["reaches"]) == 6


MISTAKES = {
    "taken by a view": lambda p: p.table("reaches", {"x": int}),
    "taken by a table": lambda p: p.view("follows", WHO.replace("people", "follows")),
    "declared here and there": lambda p: (p.table("age", {"n": int}), p.datalog(".decl age(n: number)\nage(1).")),
    "rule for a table of Python": lambda p: (p.table("name", {"n": int}), p.datalog("name(1).")),
    "arity of a table of Python": lambda p: p.datalog(".decl b(x: number)\nb(x) :- age(x, _)."),
    "replace a table": lambda p: p.view("follows", WHO, replace=True),
    "replace nothing": lambda p: p.view("peple", WHO, replace=True),
    "no sink": lambda p: p.view("v", "%0 = source follows : set{who: string, whom: string}"),
    "text of a circuit": lambda p: p.view("v", "%0 = sorce follows : set{who: string}"),
    "drop what is read": lambda p: p.drop("follows"),
    "other columns of a table with rows": lambda p: p.replace(
        ".decl follows(who: symbol, whom: symbol, n: number)\nreaches(x, y) :- follows(x, y, _)."
    ),
    "hidden table": lambda p: p.datalog('.pragma "hidden" "follows"'),
    "hidden output": lambda p: p.datalog('.pragma "hidden" "reaches"\n.output reaches'),
    "hidden what": lambda p: p.datalog('.pragma "hidden"'),
    "hidden misspelt": lambda p: p.datalog('.pragma "hiden" "reaches"'),
    "table of a type without text": lambda p: p.datalog(".decl born(d: date)"),
    "types that do not fit": lambda p: p.datalog(".decl c(d: date)\nc(x) :- follows(x, _)."),
}


def test_mistakes_with_definitions(golden):
    pipeline = deltic.Pipeline(engine="reference")
    pipeline.datalog(FOLLOWS + REACHES, "program.dl")
    follow(pipeline, ("ada", "bob"))
    parts = []
    for name, action in MISTAKES.items():
        with pytest.raises(DelticError) as caught:
            action(pipeline)
        parts.append(f"{name}:\n{caught.value}\n")
    golden("catalog/mistakes.txt", "\n".join(parts))

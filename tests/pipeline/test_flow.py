"""Views built in Python: each operator has a way in, gives what the reference engine gives, and says what does not fit.

Catches a method that builds another operator than it says, and one that the local engine refuses.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic.circuit import custom
from deltic.errors import CatalogError, CircuitError, DelticError


def twice(rows):
    return rows + rows


TWICE = {"takes": [{"at": int, "user": int}], "gives": {"a": int, "b": int}}

MADE = {
    "select": lambda event, name: event.select("user", hour="(at + 1) // 3"),
    "where": lambda event, name: event.where("at>3 and user < 3"),
    "join": lambda event, name: event.join(name),
    "without": lambda event, name: event.without(name.select("user")),
    "distinct": lambda event, name: event.select("user").distinct(),
    "plus": lambda event, name: event.plus(event, event.where("at > 3")),
    "minus": lambda event, name: event.minus(event.where("at > 3")),
    "flat_map": lambda event, name: event.flat_map("n", "range", "user", "at"),
    "window": lambda event, name: event.window("at", 4),
    "window by a clock": lambda event, name: event.window("at", 2, name.select(now="user + 4")),
    "delayed": lambda event, name: event.delayed(2),
    "last": lambda event, name: event.last(2),
    "changes": lambda event, name: event.changes(),
    "total": lambda event, name: event.where("at > 2").total(),
    "total of a window": lambda event, name: event.window("at", 4).total(),
    "matches": lambda event, name: event.matches(name),
    "apply": lambda event, name: event.apply(deltic.operator(twice, **TWICE)),
    "apply with a derivative": lambda event, name: event.apply(
        deltic.operator(twice, derivative=lambda rows: twice(rows.delta), **TWICE)
    ),
    "all of it": lambda event, name: event.window("at", 4).join(name).delayed().select("name").distinct(),
}


def pipeline_of(engine):
    pipeline = deltic.Pipeline(engine=engine, shards=3 if engine == "spark" else None)
    pipeline.table("event", {"at": "int64", "user": "int64"}, bag=True)
    pipeline.table("name", {"user": "int64", "name": "string"})
    return pipeline


@pytest.mark.parametrize("made", MADE)
def test_every_method_is_what_the_reference_computes(made):
    rng, pipelines = random.Random(3), [pipeline_of(engine) for engine in ("local", "spark", "reference")]
    for pipeline in pipelines:
        pipeline.view("v", MADE[made](pipeline.flow("event"), pipeline.flow("name")))
    events, names = [], set()
    for epoch in range(7):
        come = [(epoch + rng.randrange(4), rng.randrange(4)) for _ in range(rng.randrange(3))]
        gone = [events.pop(rng.randrange(len(events))) for _ in range(min(len(events), epoch % 2))]
        renamed = {(rng.randrange(4), rng.choice("ab"))}
        events += come
        found = []
        for pipeline in pipelines:
            with pipeline.transaction() as change:
                change.insert("event", come)
                change.delete("event", gone)
                change.insert("name", renamed - names)
                change.delete("name", renamed & names)
            found.append((sorted(change.of("v"), key=repr), sorted(pipeline["v"], key=repr)))
        assert found[0] == found[1] == found[2]
        names ^= renamed


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_weights_below_zero_are_read_with_the_others(engine, capsys):
    pipeline = pipeline_of(engine)
    event = pipeline.flow("event")
    pipeline.view("v", event.select("user").minus(event.select(user="at")))
    with pipeline.transaction() as change:
        change.insert("event", [(2, 1), (3, 3), (2, 4)])
    assert sorted(pipeline["v"]) == sorted(pipeline["v"].rows(counted=True)) == [(1, 1), (2, -2), (4, 1)]
    assert sorted(pipeline["v"].to_arrow()["__weight__"].to_pylist()) == [-2, 1, 1]
    assert list(pipeline["v"].lookup(user=2)) == [(2, -2)]
    assert list(pipeline["v"].lookup(user=4)) == [(4,)]
    assert len(pipeline["v"]) == 3
    pipeline["v"].show()
    assert "2 -2" in " ".join(capsys.readouterr().out.split())
    for ask in (pipeline.query, pipeline.duckdb):
        with pytest.raises(DelticError, match="has rows of negative weight"):
            ask("SELECT * FROM v")
    assert list(pipeline.query("SELECT user, count(*) FROM v GROUP BY user HAVING user < 3")) == [(1, 1)]


def test_sums_go_on_with_other_definitions_on_shards():
    pipelines = [pipeline_of(engine) for engine in ("local", "spark")]
    found = []
    for pipeline in pipelines:
        pipeline.view("sum", pipeline.flow("event").total())
        found.append([])
        for epoch in range(4):
            with pipeline.transaction() as change:
                change.insert("event", [(epoch, 1), (epoch + 1, 2)])
            if epoch == 1:
                found[-1].append(
                    sorted(pipeline.view("more", pipeline.flow("event").where("at > 1").total()).of("sum"))
                )
            found[-1].append(sorted(change.of("sum")))
        found[-1] += [sorted(pipeline[view].rows(counted=True)) for view in pipeline.views]
    assert found[0] == found[1]
    assert ((0, 1), 1) in found[0][-3]


def test_a_view_of_earlier_epochs_says_that_it_knows_none():
    pipeline = pipeline_of("local")
    assert pipeline.view("a", pipeline.flow("event").delayed()).pastless == ()
    with pipeline.transaction() as change:
        change.insert("name", [(1, "x")])
    later = pipeline.view("b", pipeline.flow("name").delayed())
    assert repr(later) == "added b; kept event, name, a; b knows no epoch before 2"
    assert list(pipeline["b"]) == []
    assert pipeline.view("c", pipeline.flow("name").distinct()).pastless == ()
    assert list(pipeline["b"]) == [(1, "x")]


REFUSED = {
    "a column": (lambda flow: flow.where("att > 1"), "column att is not in the input; the columns are at, user"),
    "no expression": (lambda flow: flow.where("at >"), "is not an expression"),
    "no condition": (lambda flow: flow.where("at + 1"), "the predicate must be Boolean"),
    "other columns": (lambda flow: flow.plus(flow.select("at")), "adds Z-sets of one schema"),
    "no time": (lambda flow: flow.select(t="'a'", at="at").window("t", 1), "its first input needs a column t"),
    "no generator": (lambda flow: flow.flat_map("n", "rang", "at"), "there is no generator rang"),
    "a relation in a loop": (
        lambda flow: flow.select("at").while_changing(lambda x: x.join(flow).select("at")),
        "reads another relation: give it as a parameter",
    ),
    "other columns in a loop": (
        lambda flow: flow.while_changing(lambda x: x.select("at")),
        "but one step makes",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit(case):
    make, message = REFUSED[case]
    flow = pipeline_of("local").flow("event")
    with pytest.raises(CircuitError, match=message):
        make(flow)


def test_names_and_operators_that_are_none():
    pipeline = pipeline_of("local")
    with pytest.raises(DelticError, match="there is no view or table 'evnt'; did you mean `event`"):
        pipeline.flow("evnt")
    with pytest.raises(CatalogError, match="make it one by deltic"):
        pipeline.flow("event").apply(len)
    assert repr(pipeline.flow("event")) == "<flow of zset{at: int64, user: int64}>"


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_while(engine):
    pipeline = deltic.Pipeline(engine=engine)
    pipeline.table("start", {"x": "int64"})
    pipeline.table("edge", {"x": "int64", "y": "int64"})
    ends = pipeline.flow("start").while_changing(lambda x, edge: x.join(edge).select(x="y"), pipeline.flow("edge"))
    pipeline.view("ends", ends)
    with pipeline.transaction() as change:
        change.insert("start", [(1,)])
        change.insert("edge", [(1, 2), (2, 3), (3, 3)])
    assert sorted(pipeline["ends"]) == [(3,)]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_while_in_the_step_of_another(engine):
    """As far as one comes with as many slow moves as one likes between quick ones."""
    pipeline = deltic.Pipeline(engine=engine)
    pipeline.table("start", {"x": "int64"})
    for name in ("slow", "quick"):
        pipeline.table(name, {"x": "int64", "y": "int64"})

    def move(x, moves):
        return x.plus(x.join(moves).select(x="y")).distinct()

    def step(x, slow, quick):
        return move(x.while_changing(move, slow), quick)

    reached = pipeline.flow("start").while_changing(step, pipeline.flow("slow"), pipeline.flow("quick"))
    pipeline.view("reached", reached)
    with pipeline.transaction() as change:
        change.insert("start", [(0,)])
        change.insert("slow", [(0, 1), (1, 2), (5, 6), (6, 5)])
        change.insert("quick", [(2, 5), (6, 8), (9, 10)])
    assert sorted(pipeline["reached"]) == [(0,), (1,), (2,), (5,), (6,), (8,)]
    with pipeline.transaction() as change:
        change.delete("slow", [(5, 6)])
        change.insert("slow", [(1, 9)])
    assert sorted(pipeline["reached"]) == [(0,), (1,), (2,), (5,), (9,), (10,)]


def halves(rows):
    return {(x // 2,): 1 for (x,), weight in rows if x > 0 and weight > 0}


class Halves:
    def __init__(self):
        self.rows, self.found = deltic.ZSet(), deltic.ZSet()

    def update(self, change):
        self.rows += change
        before, self.found = self.found, deltic.ZSet(halves(self.rows))
        return self.found - before


HALVES = {
    "anew": {},
    "by its derivative": {"derivative": lambda x: deltic.ZSet(halves(x.new)) - deltic.ZSet(halves(x.old))},
    "by its state": {"state": Halves},
}


@pytest.mark.parametrize("kind", HALVES)
def test_an_operator_of_ones_own_in_a_loop(kind):
    halve = deltic.operator(halves, name="halves", takes=[{"x": int}], gives={"x": int}, **HALVES[kind])
    rng, lenient = random.Random(6), deltic.Transactions(conflicts="normalize")
    pipelines = [deltic.Pipeline(engine=e, transactions=lenient) for e in ("local", "reference")]
    for pipeline in pipelines:
        pipeline.table("start", {"x": "int64"})
        start = pipeline.flow("start")
        pipeline.view("v", start.while_changing(lambda x, s: x.apply(halve).plus(s).distinct(), start))
    for _ in range(6):
        come, gone = [[(rng.randrange(60),)] for _ in range(2)]
        for pipeline in pipelines:
            with pipeline.transaction() as change:
                change.insert("start", come)
                change.delete("start", gone)
        assert sorted(pipelines[0]["v"]) == sorted(pipelines[1]["v"])


MODULE = """
import deltic

@deltic.operator(takes=[{"at": int, "user": int}], gives={"a": int, "b": int})
def twice(rows):
    return rows
"""


def test_a_flow_outlives_the_process(tmp_path, monkeypatch):
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.table("event", {"at": "int64", "user": "int64"}, bag=True)
        pipeline.view("recent", pipeline.flow("event").window("at", 4).apply(deltic.operator(twice, **TWICE)))
        with pipeline.transaction() as change:
            change.insert("event", [(1, 1), (7, 2)])
    with deltic.Pipeline(state=tmp_path) as pipeline:
        with pipeline.transaction() as change:
            change.insert("event", [(8, 3)])
        assert sorted(pipeline["recent"]) == [(7, 2), (7, 2), (8, 3), (8, 3)]
    monkeypatch.setattr(custom, "CUSTOM", {})  # as in another process
    monkeypatch.setattr(custom, "_LATEST", {})
    with pytest.raises(DelticError, match="there is no operator twice: make it by deltic"):
        deltic.Pipeline(state=tmp_path)
    (tmp_path / "own.py").write_text(MODULE)
    with deltic.Pipeline(state=tmp_path, functions=tmp_path / "own.py") as pipeline:
        assert sorted(pipeline["recent"]) == [(7, 2), (8, 3)]

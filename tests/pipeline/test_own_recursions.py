"""Operators and aggregates of Python in recursions of Datalog, SQL and flows, over random graphs, in every engine.

Catches an operator that is left with the rows of another iteration, a helper that comes an iteration late, a group
that is forgotten, and an epoch without an end that is let through. The oracles are the reference engine, which
iterates from nothing, and the same recursions written without Python.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic import ZSet
from deltic.errors import IterationLimitError, UnsupportedError

PAIR = {"x": "int64", "y": "int64"}


def composed(a, b):
    return ZSet(((x, z), v * w) for (x, y), v in a for (u, z), w in b if y == u)


def change_of_composed(a, b):
    return composed(a.delta, b.old) + composed(a.new, b.delta)


def stuck(moves, won):
    """The positions all of whose moves lead to won ones: of another relation, so that it falls with `moves`."""
    there = {x for (x,), _ in won}
    return [(x,) for x in {x for (x, _), _ in moves} if all(y in there for (u, y), _ in moves if u == x)]


def least_first(rows):
    """For each y the least x: not monotone."""
    found = {}
    for (x, y), _ in rows:
        found[y] = min(x, found.get(y, x))
    return [(x, y) for y, x in found.items()]


def weighted(pairs):
    """A mean in whole numbers; none without weights."""
    weight = sum(w for _, w in pairs)
    return sum(x * w for x, w in pairs) // weight if weight else None


class Total:
    def __init__(self):
        self.total = 0

    def update(self, value, weight):
        self.total += value * weight

    def result(self):
        return self.total


def of_python():
    number = {"of": {"n": "int64"}, "gives": {"r": "int64"}}
    two = {"takes": [PAIR, PAIR], "gives": PAIR}
    return [
        deltic.operator(composed, derivative=change_of_composed, **two),
        deltic.operator(composed, name="anew", **two),
        deltic.operator(stuck, takes=[PAIR, {"x": "int64"}], gives={"x": "int64"}),
        deltic.operator(least_first, takes=[PAIR], gives=PAIR),
        deltic.aggregate(max, name="most", **number),
        deltic.aggregate(sum, name="total", state=Total, **number),
        deltic.aggregate(weighted, of={"value": "int64", "weight": "int64"}, gives={"r": "int64?"}),
    ]


DATALOG = """
.decl e(x: number, y: number)
.input e
.decl up(x: number, y: number)
up(x, y) :- e(x, y), x < y.

.decl reaches(x: number, y: number)
reaches(x, y) :- e(x, y).
reaches(x, y) :- @composed[reaches, e](x, y).
.decl known_reaches(x: number, y: number)
known_reaches(x, y) :- e(x, y).
known_reaches(x, z) :- known_reaches(x, y), e(y, z).

.decl won(x: number)
won(x) :- e(x, _), @stuck[e, won](x), x != 0.
won(x) :- e(y, x), !e(x, _).
.decl known_won(x: number)
known_won(x) :- e(x, _), !lost(x), x != 0.
.decl lost(x: number) inline
lost(x) :- e(x, y), !known_won(y).
known_won(x) :- e(y, x), !e(x, _).

.decl label(x: number, y: number)
label(x, x) :- e(x, _) ; e(_, x).
label(x, z) :- @least_first[label](x, y), e(y, z).

.decl both(x: number, y: number)
both(x, y) :- @anew[up, other](x, y).
both(x, y) :- up(x, y), x = 0.
.decl other(x: number, y: number)
other(x, y) :- @composed[both, up](x, y), !@least_first[both](x, y).
other(x, y) :- up(x, y).

.decl high(x: number, n: number)
high(x, x) :- e(x, _).
high(y, n) :- e(_, y), n = @@most m : { e(x, y), high(x, m) }.
.decl known_high(x: number, n: number)
known_high(x, x) :- e(x, _).
known_high(y, n) :- e(_, y), n = max m : { e(x, y), known_high(x, m) }.
.decl cost(x: number, n: number)
cost(x, 1) :- up(x, _), !up(_, x).
cost(y, n % 97) :- up(_, y), n = @@total m : { up(x, y), cost(x, m) }.
.decl known_cost(x: number, n: number)
known_cost(x, 1) :- up(x, _), !up(_, x).
known_cost(y, n % 97) :- up(_, y), n = sum m : { up(x, y), known_cost(x, m) }.
.decl mixed(x: number, n: number)
mixed(x, x) :- up(x, _), !up(_, x).
mixed(y, n) :- up(_, y), n = @@weighted(m + 1, x) : { up(x, y), mixed(x, m) }.
.decl known_mixed(x: number, n: number)
known_mixed(x, x) :- up(x, _), !up(_, x).
known_mixed(y, s / w) :-
  up(_, y), s = sum (m + 1) * x : { up(x, y), known_mixed(x, m) }, w = sum x : { up(x, y), known_mixed(x, _) }, w > 0.
"""
SQL = """CREATE VIEW ways AS WITH RECURSIVE r(x, y) AS (
  SELECT x, y FROM e UNION SELECT x, y FROM anew(TABLE(r), TABLE(SELECT x, y FROM e WHERE x <> y)) AS c
  UNION SELECT c.x, e.y FROM least_first(TABLE(SELECT y, x FROM r)) AS c JOIN e ON c.y = e.x
) SELECT * FROM r"""
VIEWS = ("reaches", "won", "label", "both", "other", "high", "cost", "mixed", "ways", "looped")


def pipeline_of(engine, **options):
    pipeline = deltic.Pipeline(
        engine=engine, functions=of_python(), transactions=deltic.Transactions(conflicts="normalize"), **options
    )
    pipeline.datalog(DATALOG)
    pipeline.sql(SQL)
    start, edges = pipeline.flow("up"), pipeline.flow("e")
    own = {custom.name: custom for custom in of_python()}
    pipeline.view("looped", start.while_changing(lambda r, e: r.plus(r.apply(own["anew"], e)).distinct(), edges))
    return pipeline


def change(pipeline, insert, delete):
    with pipeline.transaction() as made:
        made.insert("e", insert)
        made.delete("e", delete)
    return {view: sorted(made.of(view)) for view in VIEWS}


def test_every_engine_computes_what_the_reference_does():
    rng = random.Random(1)
    engines = [
        pipeline_of("local", maintenance=deltic.Maintenance(refresh="incremental")),
        pipeline_of("spark", shards=2),
        pipeline_of("reference"),
    ]
    for _ in range(4):
        there = sorted(engines[-1]["e"])
        insert = [(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(5))]
        delete = rng.sample(there, min(len(there), rng.randrange(4)))
        *found, expected = [change(pipeline, insert, delete) for pipeline in engines]
        assert all(each == expected for each in found)
        for view in ("reaches", "won", "high", "cost", "mixed"):
            assert sorted(engines[0][view]) == sorted(engines[0][f"known_{view}"])


def test_what_goes_round_in_circles_is_an_error_and_strict_refuses_what_has_no_derivative():
    pipeline = deltic.Pipeline(functions=of_python(), maintenance=deltic.Maintenance(refresh="incremental strict"))
    pipeline.datalog(".decl e(x: number, y: number)\n.decl p(x: number)\np(x) :- e(x, _), @@total y : { e(x, y) } > 0.")
    with pytest.raises(UnsupportedError, match="operator stuck has no derivative"):
        pipeline.datalog("p(x) :- e(x, _), @stuck[e, p](x).")
    loose = deltic.Pipeline(functions=of_python())
    loose.datalog(".decl e(x: number, y: number)\n.decl q(x: number)\nq(x) :- e(x, _), !@stuck[e, q](x).")
    with pytest.raises(IterationLimitError, match=r"come and go q\(1\)"), loose.transaction() as made:
        made.insert("e", [(1, 1)])
    assert list(loose["e"]) == []

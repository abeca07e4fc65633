"""Choice domains, subsumption and ranges against Python, over epochs. Catches: rows that stay where better ones came,
or do not come back when those go, and choices that depend on the order of changes.
"""

import random

import pytest

import deltic
from tests.datalog.naive import changed, rows_of, seeds

PROGRAM = """
.decl t(x: number, y: number, z: symbol)
.input t
.decl one(x: number, y: number, z: symbol) choice-domain x
.decl pairs(x: number, y: number, z: symbol) choice-domain (x, z), y
.decl best(x: number, y: number)
.decl free(y: number, s: number)
.decl steps(x: number, n: number)
one(x, y, z) :- t(x, y, z).
one(x + 1, y, z) :- t(x, y, z), y > 1.
pairs(x, y, z) :- t(x, y, z) ; t(y, x, z).
best(x, y) :- t(x, y, _).
best(x, y) <= best(x, w) :- y < w.
free(y, s) :- one(_, y, _), best(_, s).
free(a, b) <= free(c, d) :- a <= c, b <= d.
steps(x, n) :- best(x, y), n = range(x, y).
"""


def least(rows, *key):
    found = {}
    for row in sorted(rows, reverse=True):
        found[tuple(row[i] for i in key)] = row
    return set(found.values())


def wanted(t):
    one = least(t | {(x + 1, y, z) for x, y, z in t if y > 1}, 0)
    best = {(x, max(w for v, w, _ in t if v == x)) for x, _, _ in t}
    free = {(y, s) for _, y, _ in one for _, s in best}
    return {
        "one": one,
        "pairs": least(least(t | {(y, x, z) for x, y, z in t}, 0, 2), 1),
        "best": best,
        "free": {p for p in free if not any(p != q and p[0] <= q[0] and p[1] <= q[1] for q in free)},
        "steps": {(x, n) for x, y in best for n in (range(x, y) if x <= y else range(x, y, -1))},
    }


@pytest.mark.parametrize("seed", seeds(30, 200))
def test_random_epochs(seed):
    rng, rows = random.Random(seed), set()
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM)
    for _ in range(4):
        come = {(rng.randint(0, 3), rng.randint(0, 3), rng.choice("ab")) for _ in range(rng.randint(0, 5))} - rows
        gone = {row for row in sorted(rows) if rng.random() < 0.4}
        with pipeline.transaction() as change:
            change.delete("t", sorted(gone))
            change.insert("t", sorted(come))
        rows = rows - gone | come
        for name, expected in wanted(rows).items():
            assert rows_of(pipeline[name]) == expected, (name, rows)


def test_the_order_of_changes_does_not_matter():
    rows = [(1, y, z) for y in range(3) for z in "ab"]
    found = []
    for order in (rows, rows[::-1]):
        pipeline = deltic.Pipeline()
        pipeline.datalog(PROGRAM)
        for row in order:
            changed(pipeline, "t", [row])
        found.append({name: rows_of(pipeline[name]) for name in wanted(set())})
    assert found[0] == found[1]


def test_a_later_text_adds_rows_to_choose_from():
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM)
    changed(pipeline, "t", [(1, 5, "a")])
    pipeline.datalog('best(1, 9). one(1, 0, "a").')
    assert rows_of(pipeline["best"]) == {(1, 9)}
    assert rows_of(pipeline["one"]) == {(1, 0, "a"), (2, 5, "a")}

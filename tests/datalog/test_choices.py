"""Choice domains, subsumption, ranges and limits of sizes against Python, over epochs. Catches: rows that stay where
better ones came, or do not come back when those go, choices that depend on the order of changes, and recursions that
a limit stops too early or too late.
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


RECURSIVE = """
.decl e(x: number, y: number, w: number)
.input e
.decl tree(x: number, y: number) choice-domain y
.decl chain(x: number, y: number) choice-domain x, y
.decl odd, even(x: number, y: number) choice-domain y
.decl nearest(x: number, d: number)
.decl far, near(x: number, d: number)
tree(0, 0).
tree(x, y) :- tree(_, x), e(x, y, _).
chain(0, 0).
chain(x, y) :- chain(_, x), e(x, y, _) ; chain(y, _), e(_, x, y).
even(0, 0).
odd(x, y) :- even(_, x), e(x, y, _).
even(x, y) :- odd(_, x), e(x, y, _).
nearest(0, 0).
nearest(y, d + w) :- nearest(x, d), e(x, y, w).
nearest(x, d) <= nearest(x, c) :- c <= d.
far(0, 0).
near(y, d + w) :- far(x, d), e(x, y, w).
far(y, d + w) :- near(x, d), e(x, y, w).
near(x, d) <= near(x, c) :- c <= d.
far(x, d) <= far(x, c) :- c <= d, !e(_, x, 3).
far(x, d) <= far(y, c) :- c < d, d > 8.
.decl numbers(n: number)
.decl left, right(x: number, y: number)
.decl some(x: number, y: number) choice-domain y
.limitsize numbers(n=7)
.limitsize left(n=9)
.limitsize right(n=3)
.limitsize some(n=3)
numbers(w) :- e(0, _, w).
numbers(n + w) :- numbers(n), e(_, _, w).
left(x, y) :- e(x, y, 1).
right(x, z) :- left(x, y), e(y, z, _).
left(x, z) :- right(x, y), e(y, z, _) ; right(y, x), e(x, z, _).
some(0, 0).
some(x, y) :- some(_, x), e(x, y, _).
"""


def fixpoint(step, *names):
    found = {name: set() for name in names}
    while (following := step(**found)) != found:
        found = following
    return found


def limited(step, limits, *names):
    """The fixpoint of iterations that stop at one after which some relation has as many rows as it may."""

    def unless_full(**found):
        if any(len(found[name]) >= limit for name, limit in limits.items()):
            return found
        return {name: found[name] | rows for name, rows in step(**found).items()}

    return fixpoint(unless_full, *names)


def chosen(before, derived, *keys):
    """The rows of the iteration before, and new ones, of which there is one for each value of each key."""
    for key in keys:
        derived = {row for row in derived if not any(all(row[i] == old[i] for i in key) for old in before)}
    for key in keys:
        derived = least(derived, *key)
    return before | derived


def undominated(rows, dominates):
    return {row for row in rows if not any(row != other and dominates(row, other) for other in rows)}


def along(e, rows):
    return {(x, y) for _, x in rows for a, y, _ in e if a == x}


def joined(e, rows):
    return {(x, z) for x, y in rows for a, z, _ in e if a == y}


def further(e, rows):
    return {(y, d + w) for x, d in rows for a, y, w in e if a == x}


def wanted_of_recursions(e):
    zero, threes = {(0, 0)}, {y for _, y, w in e if w == 3}

    def farther(row, other):
        by_node = row[0] == other[0] and other[1] <= row[1] and row[0] not in threes
        return by_node or (other[1] < row[1] and row[1] > 8)

    def backwards(chain):
        return {(x, y) for y, _ in chain for _, x, w in e if w == y}

    def steps(far, near):
        return {
            "far": undominated(far | zero | further(e, near), farther),
            "near": undominated(near | further(e, far), lambda row, other: row[0] == other[0] and other[1] <= row[1]),
        }

    return {
        **fixpoint(lambda tree: {"tree": chosen(tree, zero | along(e, tree), [1])}, "tree"),
        **fixpoint(
            lambda chain: {"chain": chosen(chain, zero | along(e, chain) | backwards(chain), [0], [1])}, "chain"
        ),
        **fixpoint(
            lambda odd, even: {
                "odd": chosen(odd, along(e, even), [1]),
                "even": chosen(even, zero | along(e, odd), [1]),
            },
            "odd",
            "even",
        ),
        **fixpoint(
            lambda nearest: {
                "nearest": undominated(
                    nearest | zero | further(e, nearest), lambda row, other: row[0] == other[0] and other[1] <= row[1]
                )
            },
            "nearest",
        ),
        **fixpoint(steps, "far", "near"),
        **limited(
            lambda numbers: {
                "numbers": {(w,) for x, _, w in e if x == 0} | {(n + w,) for (n,) in numbers for _, _, w in e}
            },
            {"numbers": 7},
            "numbers",
        ),
        **limited(
            lambda left, right: {
                "left": {(x, y) for x, y, w in e if w == 1} | joined(e, right) | along(e, right),
                "right": joined(e, left),
            },
            {"left": 9, "right": 3},
            "left",
            "right",
        ),
        **limited(lambda some: {"some": chosen(some, zero | along(e, some), [1])}, {"some": 3}, "some"),
    }


@pytest.mark.parametrize("seed", seeds(10, 80))
def test_random_epochs_of_recursions(seed):
    rng, rows = random.Random(seed), set()
    pipeline = deltic.Pipeline()
    pipeline.datalog(RECURSIVE)
    for _ in range(4):
        come = {(rng.randint(0, 4), rng.randint(0, 4), rng.randint(1, 3)) for _ in range(rng.randint(0, 6))} - rows
        gone = {row for row in sorted(rows) if rng.random() < 0.4}
        with pipeline.transaction() as change:
            change.delete("e", sorted(gone))
            change.insert("e", sorted(come))
        rows = rows - gone | come
        for name, expected in wanted_of_recursions(rows).items():
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

"""Programs that recur through quantifiers and aggregates, after every epoch of random changes, against plain Python.

Catches: a recursion that keeps what only supported itself, or ends elsewhere than a start from nothing.
"""

import random

import pytest

import deltic

NODES = range(6)
GRAPH = ".decl node(x: number)\n.decl edge(x: number, y: number)\n.input node, edge\n.decl out(x: number, y: number)\n"
TREE = GRAPH + "out(x, 0) :- node(x), forall y: (edge(x, y) -> out(y, 0))."
HEIGHT = GRAPH + (
    "out(x, 0) :- node(x), !edge(x, _).\n"
    "out(x, n + 1) :- node(x), n = max m : { edge(x, y), out(y, m) }, forall y: (edge(x, y) -> out(y, _))."
)
GAME = GRAPH + (
    ".decl lost(x: number)\n"
    "lost(x) :- node(x), forall y: (edge(x, y) -> exists z: (edge(y, z), lost(z))).\n"
    "out(x, y) :- lost(x), y = 0 ; edge(x, z), lost(z), y = 1."
)
DISTANCE = GRAPH + (
    "out(0, 0) :- node(0).\n"
    "out(y, d) :- edge(_, y), d = min c : { y = 0, node(0), c = 0 ; edge(x, y), out(x, n), c = n + 1 + (x + y) % 3 }."
)
LABEL = GRAPH + "out(x, l) :- node(x), l = min m : { m = x ; edge(x, y), out(y, m) ; edge(y, x), out(y, m) }."
DOMINATES = GRAPH + (
    ".decl reached(x: number)\n.decl missed(d: number, y: number)\n"
    "reached(0) :- node(0).\nreached(y) :- reached(x), edge(x, y).\n"
    "missed(d, 0) :- reached(d), d != 0.\nmissed(d, y) :- missed(d, x), edge(x, y), y != d.\n"
    "out(d, y) :- reached(d), reached(y), !missed(d, y)."
)
CONTROL = GRAPH + (
    ".decl share(x: number, y: number, n: number)\nshare(x, y, 20 + 15 * ((x + 2 * y) % 3)) :- edge(x, y).\n"
    "out(x, y) :- node(x), share(_, y, _), 50 < sum n : { share(z, y, n), (z = x ; out(x, z)) }."
)


def tree(nodes, edges):
    found = set()
    while more := {x for x in nodes - found if all(y in found for a, y in edges if a == x)}:
        found |= more
    return {(x, 0) for x in found}


def heights(nodes, edges):
    found = {}
    while more := {x for x in nodes - found.keys() if all(y in found for a, y in edges if a == x)}:
        found |= {x: 1 + max((found[y] for a, y in edges if a == x), default=-1) for x in more}
    return set(found.items())


def game(nodes, edges):
    lost = set()
    while more := {x for x in nodes - lost if all(any((y, z) in edges for z in lost) for a, y in edges if a == x)}:
        lost |= more
    return {(x, 0) for x in lost} | {(x, 1) for x, z in edges if z in lost}


def distances(nodes, edges):
    found = {0: 0} if 0 in nodes else {}
    for _ in NODES:
        for x, y in edges:
            if x in found:
                found[y] = min(found.get(y, 10**9), found[x] + 1 + (x + y) % 3)
    return set(found.items())


def labels(nodes, edges):
    found = {x: x for x in nodes}
    for _ in NODES:
        for a, b in [*edges, *((b, a) for a, b in edges)]:
            if a in found and b in found:
                found[a] = min(found[a], found[b])
    return set(found.items())


def reach(nodes, edges, without=None):
    found = {0} & nodes - {without}
    while more := {y for x, y in edges if x in found and y != without} - found:
        found |= more
    return found


def dominators(nodes, edges):
    reached = reach(nodes, edges)
    return {(d, y) for d in reached for y in reached if y not in reach(nodes, edges, d)}


def control(nodes, edges):
    shares = {(x, y): 20 + 15 * ((x + 2 * y) % 3) for x, y in edges}
    found = set()
    for x in nodes:
        held = set()
        while (
            more := {y for y in NODES if sum(n for (z, w), n in shares.items() if w == y and z in held | {x}) > 50}
            - held
        ):
            held |= more
        found |= {(x, y) for y in held}
    return found


LIBRARY = {
    "every path ends": (TREE, tree),
    "heights": (HEIGHT, heights),
    "positions that are lost, and won by one move": (GAME, game),
    "shortest paths": (DISTANCE, distances),
    "least labels": (LABEL, labels),
    "dominators": (DOMINATES, dominators),
    "company control": (CONTROL, control),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_after_every_epoch(name):
    text, expected = LIBRARY[name]
    rng = random.Random(name)
    pipeline = deltic.Pipeline(engine="local")
    pipeline.datalog(text)
    nodes, edges = set(), set()
    for epoch in range(8):
        size = 9 if not epoch else 2
        toggled = {(rng.choice(NODES), rng.choice(NODES)) for _ in range(size)}
        moved = {x for x in NODES if not epoch or rng.random() < 0.15}
        with pipeline.transaction() as change:
            change.delete("edge", edges & toggled)
            change.insert("edge", toggled - edges)
            change.delete("node", [(x,) for x in nodes & moved])
            change.insert("node", [(x,) for x in moved - nodes])
        nodes, edges = nodes ^ moved, edges ^ toggled
        assert set(pipeline["out"]) == expected(nodes, edges), (epoch, nodes, edges)

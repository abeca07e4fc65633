"""The programs that docs/recursions.md names, after every epoch of random changes, against plain Python.

Catches: a recursion that keeps what only supported itself, or ends elsewhere than a start from nothing; a program of
the page that does not run.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

import deltic

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recursions.md").read_text(encoding="utf-8")


def in_language(suffix):
    """The programs of the page's sections that have a file of this language."""
    paths = {
        name: (ROOT / "examples" / "recursions" / name.lower().replace(" ", "_")).with_suffix(suffix)
        for name in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    }
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.exists()}


PROGRAMS = in_language(".dl")
IN_SQL = in_language(".sql")
NODES = range(6)
NODE = [(x,) for x in NODES]
EDGE = list(product(NODES, NODES))
LEAST, MOST = -1000000, 1000000


def weighted(weigh):
    return [(x, y, weigh(x, y)) for x, y in EDGE]


def keyed(rows, width):
    """The last of the rows with the same first columns."""
    return {row[:width]: row[width:] for row in rows}


def tree(node, child):
    found = set()
    while more := {(x,) for (x,) in node - found if all((y,) in found for a, y in child if a == x)}:
        found |= more
    return {"tree": found}


def heights(node, child):
    found = {}
    below = {x: {y for a, y in child if a == x} for (x,) in node}
    while more := {x for x in below.keys() - found.keys() if below[x] <= found.keys()}:
        found |= {x: 1 + max((found[y] for y in below[x]), default=-1) for x in more}
    return {"height": set(found.items())}


def game(node, move):
    lost = set()
    while more := {
        (x,) for (x,) in node - lost if all(any((y, z) in move for (z,) in lost) for a, y in move if a == x)
    }:
        lost |= more
    return {"lost": lost, "won": {(x,) for x, y in move if (y,) in lost}}


def distances(edge):
    found = {0: 0} if any(x == 0 or y == 0 for x, y, _ in edge) else {}
    for _ in NODES:
        for x, y, length in edge:
            if x in found:
                found[y] = min(found.get(y, MOST), found[x] + length)
    return {"distance": set(found.items())}


def labels(node, edge):
    found = {x: x for (x,) in node}
    for _ in NODES:
        for a, b in [*edge, *((b, a) for a, b in edge)]:
            if a in found and b in found:
                found[a] = min(found[a], found[b])
    return {"label": set(found.items())}


def reach(edge, without=None):
    found = {0} - {without} if any(x == 0 for x, _ in edge) else set()
    while more := {y for x, y in edge if x in found and y != without} - found:
        found |= more
    return found


def dominators(edge):
    reached = reach(edge)
    return {"dominates": {(d, y) for d in reached for y in reached if y not in reach(edge, d)}}


def control(owns):
    found = set()
    for x in {x for x, _, _ in owns}:
        held = set()
        while more := {y for y in NODES if sum(n for z, w, n in owns if w == y and z in held | {x}) > 50} - held:
            held |= more
        found |= {(x, y) for y in held}
    return {"controls": found}


def costs(part, needs):
    found = {}
    below = {x: [(y, n) for a, y, n in needs if a == x] for x, _ in part}
    while more := {x for x in below.keys() - found.keys() if all(y in found for y, _ in below[x])}:
        found |= {x: work + sum(n * found[y] for y, n in below[x]) for x, work in part if x in more}
    return {"cost": set(found.items())}


def constants(entry, follows, variable, sets, add):
    """The greatest solution below all of the lattice, by going along the edges until nothing changes."""
    everything = (LEAST, MOST)
    adds = keyed(add, 2)
    before = {(p, v): everything for (p,), (v,) in product(entry, variable)}

    def after(p):
        for (v,) in variable:
            if (p, v) not in before:
                continue
            if known := [(c, c) for q, w, c in sets if (q, w) == (p, v)]:
                yield v, known[0]
            elif (p, v) in adds:
                one, other = (before.get((p, w)) for w in adds[p, v])
                if one and other:
                    exact = one[0] == one[1] and other[0] == other[1]
                    yield v, (one[0] + other[0],) * 2 if exact else everything
            else:
                yield v, before[p, v]

    changed = True
    while changed:
        changed = False
        for p, q in follows:
            for v, value in list(after(p)) if (q,) not in entry else []:
                met = value if before.get((q, v), value) == value else everything
                changed |= before.get((q, v)) != met
                before[q, v] = met
    return {"known": {(p, v, low) for (p, v), (low, high) in before.items() if low == high}}


def intervals(follows, variable, head, assigned, step, atmost):
    """The iterations as the page defines them, all relations from those of the one before."""
    steps, limits, sets = keyed(step, 2), keyed(atmost, 3), keyed(assigned, 2)
    before, after, flows, last = {}, {}, {}, None

    def clip(value):
        return max(LEAST, min(MOST, value))

    def along(p, q, v, low, high):
        (limit,) = limits.get((p, q, v), (MOST,))
        return {(p, q, v): (low, min(high, limit))} if low <= limit else {}

    def met(q, v):
        values = [value for (_, to, w), value in flows.items() if (to, w) == (q, v)]
        if not values:
            return {}
        low, high = min(low for low, _ in values), max(high for _, high in values)
        if (q,) in head and (q, v) in before:
            was = before[q, v]
            low, high = (was[0] if low >= was[0] else LEAST), (was[1] if high <= was[1] else MOST)
        return {(q, v): (low, high)}

    while last != (before, after, flows):
        last = before, after, flows
        known = {(p, v): (c, c) for (p, v), (c,) in sets.items()}
        passed = {k: tuple(clip(b + steps.get(k, (0,))[0]) for b in value) for k, value in before.items()}
        moved = [along(p, q, v, *value) for p, q in follows for (a, v), value in after.items() if a == p]
        joined = [met(q, v) for q in {q for _, q in follows} for (v,) in variable]
        before = {k: value for found in joined for k, value in found.items()}
        after = {**passed, **known}
        flows = {k: value for found in moved for k, value in found.items()}
    return {"before": {(p, v, *value) for (p, v), value in before.items()}}


@dataclass(frozen=True)
class Program:
    """The rows that tables may have, what views have then, how many rows there are, and which tables stay."""

    tables: dict[str, list]
    views: Callable[..., dict[str, set]]  # of the tables in this order
    dense: float = 0.25
    fixed: tuple[str, ...] = ()


POINTS = [(x, y) for x, y in EDGE if y <= x + 1]
# Each loop has a head.
HEADS = [(x,) for x in NODES if x % 2 == 0]
LOOPS = [(x, y) for x, y in POINTS if y > x or (y,) in HEADS]
VALUES = list(product(NODES, range(2)))
LIBRARY = {
    "Every path ends": Program({"node": NODE, "child": EDGE}, tree),
    "Heights": Program({"node": NODE, "child": EDGE}, heights),
    "Games": Program({"node": NODE, "move": EDGE}, game),
    "Shortest paths": Program({"edge": weighted(lambda x, y: 1 + (x + y) % 3)}, distances),
    "Connected components": Program({"node": NODE, "edge": EDGE}, labels),
    "Dominators": Program({"edge": EDGE}, dominators),
    "Company control": Program({"owns": weighted(lambda x, y: 20 + 15 * ((x + 2 * y) % 3))}, control),
    "Cost of a bill of materials": Program(
        {
            "part": [(x, 1 + x % 3) for x in NODES],
            "needs": [(x, y, 1 + (x * y) % 4) for x, y in EDGE if x < y or x == 4],
        },
        costs,
    ),
    "Constant propagation": Program(
        {
            "entry": [(0,)],
            "next": POINTS,
            "variable": [(0,), (1,), (2,)],
            "set": [(p, v, (p + v) % 3) for p, v in VALUES],
            "add": [(p, (p + 1) % 3, p % 3, v) for p, v in VALUES if v == p % 2],
        },
        constants,
        0.4,
    ),
    "Intervals": Program(
        {
            "next": LOOPS,
            "variable": [(0,), (1,)],
            "head": HEADS,
            "set": [(p, v, p) for p, v in VALUES],
            "step": [(p, v, 1 - 3 * (p % 2)) for p, v in VALUES],
            "atmost": [(p, q, 0, 3 + p) for p, q in LOOPS],
        },
        intervals,
        0.4,
        ("head",),
    ),
}


def test_all_programs_of_the_page_are_here():
    assert list(PROGRAMS) == list(LIBRARY)


def check_library(name, seed, epochs, in_sql=False):
    library, rng = LIBRARY[name], random.Random(f"{name}{seed}")
    pipeline = deltic.Pipeline(engine="local")
    if in_sql:
        pipeline.sql(IN_SQL[name])
    else:
        pipeline.datalog(PROGRAMS[name])
    there = {table: set() for table in library.tables}
    for epoch in range(epochs):
        with pipeline.transaction() as change:
            for table, rows in library.tables.items():
                chance = (0.95 if len(rows) <= len(NODES) else library.dense) if not epoch else 0.06
                if table in library.fixed:
                    chance = 0 if epoch else 1
                toggled = {row for row in rows if rng.random() < chance}
                change.delete(table, there[table] & toggled)
                change.insert(table, toggled - there[table])
                there[table] ^= toggled
        for view, expected in library.views(*there.values()).items():
            assert set(pipeline[view]) == expected, (seed, epoch, view, there)


@pytest.mark.parametrize("name", LIBRARY)
def test_after_every_epoch(name):
    check_library(name, 0, 8)


@pytest.mark.parametrize("name", IN_SQL)
def test_in_sql(name):
    check_library(name, 2, 8, in_sql=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_after_many_epochs(name):
    check_library(name, 1, 60)

"""Recursion through negation and aggregates on every engine: rows come and go from iteration to iteration.

Catches an engine that takes such a recursion for one in which rows only come, leaves its relations out of what it
writes or takes back, or spreads over shards what has to be together.
"""

from __future__ import annotations

import random

import pytest

from tests.conformance.engines import ENGINES, Driver

PROGRAM = """
    .decl node(x: number)
    .input node
    .decl child(x: number, y: number)
    .input child
    .decl tree(x: number)
    tree(x) :- node(x), forall y: (child(x, y) -> tree(y)).
    .decl far(x: number, d: number)
    far(0, 0).
    far(y, d) :- child(_, y), d = min v + 1 : { far(x, v), child(x, y) }, d < 9.
    .decl trees(n: number)
    trees(n) :- n = count : { tree(_) }.
"""


@pytest.mark.parametrize("kind", sorted(ENGINES.keys() - {"reference"}))
def test_recursion_through_negation_and_aggregates(kind: str) -> None:
    rng = random.Random(4)
    found, wanted = Driver.of_program(kind, PROGRAM), Driver.of_program("reference", PROGRAM)
    rows = {"node": [(x,) for x in range(6)], "child": [(x, y) for x in range(6) for y in range(6) if x != y]}
    there: dict[str, set[tuple[int, ...]]] = {name: set() for name in rows}
    for _ in range(6):
        change = {}
        for name, possible in rows.items():
            moved = [row for row in possible if rng.random() < (0.3 if row in there[name] else 0.12)]
            change[name] = [(row, -1 if row in there[name] else 1) for row in moved]
            there[name] ^= set(moved)
        assert found.changes(change) == wanted.changes(change)
        assert found.everything() == wanted.everything()

"""Recursions that derive what is asked of them: the views of a program are the same, and less is derived.

The pairs show what becomes of a circuit; both sides run. Random programs catch a row that is wanted and not derived: a
demand that goes another way than the rows do, that is passed on through what is no copy, that a sum, a negation or an
aggregate loses, or that one reader has and another has not; and guards that are left out though a rule needs them.
"""

from __future__ import annotations

import gc
import random
import weakref

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus.passes import optimize
from deltic.calculus.planning.magic import DemandHints, push_demand
from deltic.catalog import Catalog
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, define, parse
from deltic.engine.engine import IncrementalEngine
from deltic.errors import ProgramError
from tests.calculus.planning.programs import VALUES, Asking, asking
from tests.differential.compare import batches_of, first_disagreement

EDGES = ".decl e(x: number, y: number)\n.decl a(x: number)\n.decl b(x: number)\n.input e\n.input a\n.input b\n"
PATH = EDGES + '.decl path(x: number, y: number)\n.pragma "hidden" "path"\npath(x, y) :- e(x, y).\n'
LEFT = PATH + "path(x, z) :- path(x, y), e(y, z).\n"
RIGHT = PATH + "path(x, z) :- e(x, y), path(y, z).\n"
TWICE = PATH + "path(x, z) :- path(x, y), path(y, z).\n"
Q = ".decl q(x: number)\n"
ALWAYS = DemandHints(always=("path", "same", "odd", "even"))

CASES = {
    "a column that is handed on": (LEFT + Q + "q(y) :- path(1, y).", DemandHints()),
    "a guard that grows": (RIGHT + Q + "q(y) :- path(1, y).", ALWAYS),
    "two ways at once": (
        EDGES + '.decl same(x: number, y: number)\n.pragma "hidden" "same"\nsame(x, y) :- e(x, p), e(y, p).\n'
        "same(x, y) :- e(x, u), same(u, v), e(y, v).\n.decl q()\nq() :- same(1, 2).",
        DemandHints(),
    ),
    "a guard that grows, asked by all columns": (RIGHT + ".decl q()\nq() :- path(1, 2).", DemandHints()),
    "two atoms of the relation": (TWICE + Q + "q(y) :- path(1, y).", ALWAYS),
    "one asks another": (RIGHT + Q + "q(z) :- path(1, y), path(y, z).", ALWAYS),
    "asked by relations": (RIGHT + Q + "q(y) :- a(x), path(x, y), b(y).", DemandHints()),
    "asked by relations and declared": (RIGHT + Q + "q(y) :- a(x), path(x, y), b(y).", ALWAYS),
    "asked in two forms": (RIGHT + Q + "q(y) :- path(1, y).\n.decl r(x: number)\nr(x) :- path(x, 2).", ALWAYS),
    "asked by several constants": (RIGHT + Q + "q(y) :- path(1, y).\n.decl r(x: number)\nr(x) :- path(2, x).", ALWAYS),
    "turned around": (
        PATH + "path(x, y) :- path(y, x). path(x, z) :- e(x, y), path(y, z).\n" + Q + "q(y) :- path(1, y).",
        ALWAYS,
    ),
    "behind an absence": (
        PATH + "path(x, z) :- e(x, y), !a(y), path(y, z).\n" + Q + "q(x) :- b(x), !path(x, x).",
        ALWAYS,
    ),
    "in an aggregate": (RIGHT + Q + "q(n) :- a(x), n = count : { path(x, _) }.", ALWAYS),
    "of one another": (
        EDGES + '.decl odd(x: number, y: number)\n.decl even(x: number, y: number)\n.pragma "hidden" "odd,even"\n'
        "odd(x, y) :- e(x, y).\nodd(x, z) :- even(x, y), e(y, z).\neven(x, z) :- odd(x, y), e(y, z).\n"
        + Q
        + "q(y) :- even(1, y).",
        DemandHints(),
    ),
}
STAY = {
    "somebody reads it": (RIGHT.replace('.pragma "hidden" "path"', "") + Q + "q(y) :- path(1, y).", ALWAYS),
    "somebody wants all of it": (RIGHT + Q + "q(y) :- path(1, y).\n.decl r(x: number)\nr(x) :- path(x, _).", ALWAYS),
    "a growing guard that begins with a relation": (RIGHT + Q + "q(y) :- a(x), path(x, y).", DemandHints()),
    "a growing guard of one column": (RIGHT + Q + "q(y) :- path(1, y).", DemandHints()),
    "declared to be whole": (LEFT + Q + "q(y) :- path(1, y).", DemandHints(never=("path",))),
    "a value that is computed": (
        EDGES + '.decl path(x: number)\n.pragma "hidden" "path"\npath(x) :- a(x).\npath(x * x) :- path(x), x < 9.\n'
        ".decl q()\nq() :- path(3).",
        DemandHints(),
    ),
}


def circuit_of(text):
    return Catalog((define(check([parse(text)])),)).circuit


def drawn(rng, tables):
    return {
        name: {tuple(rng.choice(VALUES) for _ in range(width)) for _ in range(rng.randint(0, 7))}
        for name, width in tables.items()
    }


def contents(rng, tables):
    return {name: ZSet.of(rows) for name, rows in drawn(rng, tables).items()}


@pytest.mark.parametrize("name", CASES)
def test_pairs(name, golden):
    text, hints = CASES[name]
    before = optimize(circuit_of(text))
    after, pushed = push_demand(before, hints)
    assert pushed
    message = "\n".join(map(str, pushed))
    golden(f"calculus/magic/{name.replace(' ', '-')}.txt", f"before:\n{before}\n\nafter:\n{after}\n\n{message}")
    for seed in range(8):
        tables = contents(random.Random(seed), {"e": 2, "a": 1, "b": 1})
        assert run(after, tables) == run(before, tables)


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name):
    text, hints = STAY[name]
    circuit = circuit_of(text)
    assert push_demand(circuit, hints) == (circuit, ())


def test_a_circuit_without_recursion_is_not_kept():
    """A catalog has a new circuit after each definition; a cache of them would grow with their squares."""
    circuit = circuit_of(".decl a(x: number)\n.input a\n.decl b(x: number)\n.output b\nb(x) :- a(x), x > 41.")
    push_demand(circuit)
    kept = weakref.ref(circuit)
    del circuit
    gc.collect()
    assert kept() is None


def test_fewer_rows_are_visited():
    tree = [(i, (i - 1) // 2) for i in range(1, 255)]
    text, _ = CASES["two ways at once"]
    visited = []
    for hints in (DemandHints(never=("same",)), DemandHints()):
        engine = IncrementalEngine(push_demand(circuit_of(text), hints)[0])
        batches = batches_of(engine.circuit, {"e": ZSet.of(set(tree))})
        visited.append(engine.apply(batches).rows_visited)
    assert visited[1] < visited[0] / 10


@pytest.mark.parametrize("batch", range(8))
def test_random_programs(batch):
    pushed = 0
    for seed in range(batch * 10, batch * 10 + 10):
        rng = random.Random(seed)
        case = asking(rng)
        before = accepted(case)
        if before is None:
            continue
        for hints in (DemandHints(), DemandHints(always=case.hidden)):
            after, found = push_demand(before, hints)
            pushed += len(found)
            assert list(after.sinks) == list(before.sinks)
            for _ in range(2 if found else 0):
                tables = contents(rng, case.tables)
                assert run(after, tables) == run(before, tables), f"seed {seed}, {hints}\n{case.text}"
    assert pushed


@pytest.mark.parametrize("batch", range(6))
def test_random_epochs(batch):
    """The local engine with demand pushed and the reference without put out the same changes in every epoch."""
    for seed in range(1000 + batch * 4, 1000 + batch * 4 + 4):
        rng = random.Random(seed)
        case = asking(rng)
        circuit = accepted(case)
        if circuit is not None:
            tables = [{name: frozenset(rows) for name, rows in drawn(rng, case.tables).items()} for _ in range(4)]
            hints = DemandHints(always=case.hidden)
            found = first_disagreement(
                circuit, tables, lambda c, hints=hints: IncrementalEngine(push_demand(c, hints)[0])
            )
            assert found is None, f"seed {seed}: {found}\n{case.text}"


def accepted(case: Asking):
    try:
        return circuit_of(case.text)
    except ProgramError:
        return None

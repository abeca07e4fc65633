"""Column orders are built when a query probes them for the first time, and kept from then on.

Catches: an order that is there too early, which costs memory and merges; one that is built in an epoch that is taken
back and is believed to be there; one that lacks the change under way, or has it in its old version.
"""

from __future__ import annotations

from collections.abc import Collection

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.protocol import Engine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import ReferenceEngine
from deltic.engine.refresh import Policy, Refresh
from tests.conformance.engines import Driver
from tests.differential.compare import batches_of, changes_between

TRIANGLES = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl g(x: number, y: number)
.input e, f, g
.decl t(x: number, y: number, z: number)
t(x, y, z) :- e(x, y), f(y, z), g(z, x).
.output t
"""
LABELLED = """
.decl e(x: number, y: number)
.input e
.decl r(x: number, y: number)
.decl s(x: number, y: number)
.input r, s
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
t(x, z) :- r(y, x), t(w, y), s(w, z).
.output t
"""


def orders(engine: IncrementalEngine) -> dict[str, set[tuple[int, ...]]]:
    return {name: set(state.built) for name, state in engine.executor.running.states.items() if state.built}


def changed(found: dict[str, set[tuple[int, ...]]], changes: Collection[str]) -> dict[str, set[tuple[int, ...]]]:
    """The orders of tables that an epoch changes: what is built of the others is right after it was taken back, too."""
    return {name: orders for name, orders in found.items() if name in changes}


def rows(engine: Engine, name: str) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in engine.read(name).to_pylist())


def test_a_load_builds_what_it_probes_and_the_first_change_the_rest():
    circuit = lower(check([parse(TRIANGLES)]))
    engine, reference = IncrementalEngine(circuit), ReferenceEngine(circuit)
    edges = frozenset((i, (i + k) % 12) for i in range(12) for k in (3, 4, 5))
    steps = [{"e": edges, "f": edges, "g": edges}, {"e": edges - {(0, 4), (1, 4)}, "f": edges, "g": edges}]
    old = {}
    for new in steps:
        changes = batches_of(circuit, changes_between(old, new))
        before = orders(engine)
        assert before["g"] == {(0, 1)}
        engine.prepare(changes).abort()
        assert changed(orders(engine), changes) == changed(before, changes)
        engine.apply(changes)
        reference.apply(changes)
        assert rows(engine, "t") == rows(reference, "t")
        old = new
    assert orders(engine)["g"] == {(0, 1), (1, 0)}


@pytest.mark.parametrize("strategy", [Strategy.NESTED, Strategy.ELASTIC])
@pytest.mark.parametrize("policy", [Policy.INCREMENTAL, Policy.FULL])
def test_a_bootstrap_leaves_orders_that_only_changes_of_tables_probe(strategy, policy):
    circuit = lower(check([parse(LABELLED)]))
    engine, reference = IncrementalEngine(circuit, strategy, Refresh(policy)), ReferenceEngine(circuit)
    steps = [
        {"e": frozenset((i, (7 * i) % 30) for i in range(30)), "r": frozenset({(3, 4)}), "s": frozenset({(1, 5)})},
        {"e": frozenset((i, (7 * i) % 30) for i in range(29)), "r": frozenset({(3, 4)}), "s": frozenset({(1, 5)})},
        {"e": frozenset((i, (7 * i) % 30) for i in range(29)), "r": frozenset({(3, 4), (2, 9)}), "s": frozenset()},
    ]
    old = {}
    for number, new in enumerate(steps):
        changes = batches_of(circuit, changes_between(old, new))
        before = orders(engine)
        engine.prepare(changes).abort()
        assert changed(orders(engine), changes) == changed(before, changes)
        engine.apply(changes)
        reference.apply(changes)
        assert rows(engine, "t") == rows(reference, "t"), number
        old = new
        if number == 0:
            lacking = {
                name: set(state.by_order) - set(state.built) for name, state in engine.executor.running.states.items()
            }
            assert any(lacking.values())


UNMET = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.input a, b
.decl p(x: number, y: number)
p(x, y) :- a(x, y), b(y, _).
"""
# Reads p in an order that nobody has read before.
LATER = ".decl v(x: number, y: number) v(x, y) :- a(x, y), !p(x, y)."
PAIR = """
.decl t(x: number)
.input t
.decl p(x: number, y: number)
p(x, y) :- t(x), t(z), y = x + 1 + z - z.
.decl q(y: number)
q(y) :- t(x), p(x, y).
"""


def test_a_set_that_loses_its_only_rows_was_not_empty():
    driver = Driver.of_program("local", PAIR)
    driver.insert(t=[(3,)])
    assert rows(driver.engine, "q") == [(4,)]
    driver.apply({"t": [((3,), -1)]})
    assert rows(driver.engine, "q") == []


def test_an_order_that_is_first_read_when_values_have_grown_has_the_layout_of_what_is_appended_to_it():
    driver = Driver.of_program("local", UNMET)
    driver.insert(a=[(0, 0)], b=[(0, 0)])
    driver.insert(a=[(0, 5)])
    driver.engine.extend(lower(check([parse(UNMET + LATER)])))
    driver.insert(b=[(5, 0)])
    driver.insert(a=[(0, 6), (3, 5)])
    assert rows(driver.engine, "v") == [(0, 6)]

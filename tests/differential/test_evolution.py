"""Engines that go on with another circuit, against the reference that does the same, and against a fresh one.

Catches state that is kept although what it is computed from changed, or thrown away although it did not; views whose
change is not the difference; columns that share a domain only after an extension; orders that are made of old rows.
Circuits are drawn from one pool of nodes, so that they share parts, under other names or the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from deltic.calculus.planning import planned
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, Node
from deltic.engine.engine import IncrementalEngine
from deltic.engine.protocol import Engine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import ReferenceEngine, from_arrow
from deltic.engine.refresh import Policy, Refresh
from deltic.program.compiling import program_of
from deltic.program.operators.streams import Delayed, Windowed
from tests.calculus.planning.test_plan import EAGER, Beliefs
from tests.conformance.engines import Driver, few_rows, in_tasks, on_shards
from tests.differential.circuits import Shape, random_circuit, random_row
from tests.differential.test_windows import delay, difference, flat_map, window, with_windows

SHAPE = Shape(operators=10, bags=False, fixpoints=1, plain_bodies=True)
CLOCKED = ops.Window | ops.Delay | ops.Differentiate
ENGINES = {
    **{strategy.value: (strategy, Refresh()) for strategy in Strategy},
    "always anew": (Strategy.NESTED, Refresh(Policy.FULL)),
}


def variant(rng: random.Random, pool: Circuit) -> Circuit:
    """A circuit of some nodes of the pool: some of its sinks, and others, under a few names."""
    ends = [n for n, node in enumerate(pool.nodes) if isinstance(node.type, ZSetType) and not _is_sink(node)]
    old = pool.sinks
    wanted = {f"v{i}": old.get(f"v{i}", ends[-1]) if rng.random() < 0.6 else rng.choice(ends) for i in range(4)}
    sinks = {name: n for name, n in wanted.items() if rng.random() < 0.7}
    sources = [n for n, node in enumerate(pool.nodes) if isinstance(node.operator, ops.Source) and rng.random() < 0.8]
    kept = sorted(pool.ancestors([*sinks.values(), *sources]))
    numbers = {number: i for i, number in enumerate(kept)}
    nodes = [replace(pool.nodes[n], inputs=tuple(numbers[i] for i in pool.nodes[n].inputs)) for n in kept]
    ended = [Node(ops.Sink(name), (numbers[n],), pool.nodes[n].type) for name, n in sinks.items()]
    return Circuit((*nodes, *ended))


def _is_sink(node: Node) -> bool:
    return isinstance(node.operator, ops.Sink)


def changes(rng: random.Random, driver: Driver) -> dict[str, list[tuple[tuple, int]]]:
    """Rows of some tables that come, where they are absent, or go."""
    found = {}
    for name, schema in driver.schemas.items():
        present = driver.rows(name, table=True)
        drawn = {random_row(rng, schema) for _ in range(rng.choice((0, 1, 3)))}
        found[name] = [(row, -1 if row in present else 1) for row in sorted(drawn)]
    return found


def shown(result) -> dict[str, dict]:
    return {name: dict(from_arrow(table)) for name, table in result.changes.items()}


def check(
    rng: random.Random,
    draw: Callable[[], Circuit],
    strategy: Strategy,
    refresh: Refresh,
    make: Callable[[Circuit, Strategy, Refresh], Engine] = IncrementalEngine,
) -> None:
    """A run of six epochs, some of which are changes of the circuit."""
    pool = draw()
    circuit = variant(rng, pool)
    local = Driver(make(circuit, strategy, refresh), circuit)
    reference = Driver(ReferenceEngine(circuit), circuit)
    for _ in range(6):
        if rng.random() < 0.4:
            pool = pool if rng.random() < 0.8 else draw()
            circuit = variant(rng, pool)
            note(str(circuit))
            results = [driver.engine.extend(circuit) for driver in (local, reference)]
            local, reference = Driver(local.engine, circuit), Driver(reference.engine, circuit)
        else:
            drawn = changes(rng, reference)
            note(repr(drawn))
            results = [driver.apply(drawn) for driver in (local, reference)]
        assert shown(results[0]) == shown(results[1])
        assert local.everything() == reference.everything()


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_extending_is_as_in_the_reference(name, seed):
    rng = random.Random(seed)
    check(rng, lambda: random_circuit(rng, SHAPE), *ENGINES[name])


@given(seed=st.integers(0, 2**32))
def test_windows_delays_and_flatmaps_keep_what_they_remember(seed):
    rng = random.Random(seed)
    shape = replace(SHAPE, operators=6)
    choices = (window, window, flat_map, delay, difference)
    check(rng, lambda: with_windows(rng, random_circuit(rng, shape), choices), Strategy.NESTED, Refresh())


@given(seed=st.integers(0, 2**32))
@settings(max_examples=12)
def test_shards_keep_what_they_remember(seed):
    rng = random.Random(seed)
    shape = replace(SHAPE, operators=7)
    choices = (window, flat_map, delay, difference)

    def draw() -> Circuit:
        circuit = random_circuit(rng, shape)
        return with_windows(rng, circuit, choices) if seed % 2 else circuit

    make = partial(on_shards, shards=rng.randint(1, 4), rounds=seed % 3 != 0)
    check(rng, draw, Strategy.NESTED, Refresh(), make)


@pytest.mark.slow
@example(seed=143226156)
@given(seed=st.integers(0, 2**32))
def test_tasks_keep_what_they_remember(seed):
    rng = random.Random(seed)
    shape, few, small = replace(SHAPE, operators=6), rng.choice((0, 1 << 16)), few_rows(rng.choice((-1, 2, 1 << 16)))

    def make(circuit: Circuit, strategy: Strategy, refresh: Refresh) -> Engine:
        options = {"strategy": strategy, "refresh": refresh, "shards": rng.randint(1, 4), "few": few}
        return in_tasks(circuit, rng.choice(("job", "process")), is_small=small, **options)

    choices = (window, flat_map, delay, difference)
    check(rng, lambda: with_windows(rng, random_circuit(rng, shape), choices), Strategy.NESTED, Refresh(), make)


def every(pool: Circuit) -> Circuit:
    """A circuit that has each Z-set of the pool as a view."""
    nodes = [node for node in pool.nodes if not _is_sink(node)]
    assert [*pool.nodes[: len(nodes)]] == nodes, "sinks come last"
    ends = [n for n, node in enumerate(nodes) if isinstance(node.type, ZSetType)]
    return Circuit((*nodes, *(Node(ops.Sink(f"v{n}"), (n,), nodes[n].type) for n in ends)))


def remembering(circuit: Circuit) -> set[str]:
    """The fingerprints of all that remembers the past in the program of a circuit."""
    relations = program_of(circuit).relations.values()
    return {r.fingerprint for r in relations if isinstance(r.definition, Windowed | Delayed)}


def test_what_remembers_is_the_same_whatever_else_there_is():
    """Neither the views that a circuit has nor a plan make another window, without its past, of a window.

    And it is there whether a rule reads it or not.
    """
    found = 0
    for seed in (*range(70), 174, 322, 701, 792, 1405, 1451):
        rng = random.Random(seed)
        choices = (window, flat_map, delay, difference)
        pool = with_windows(rng, random_circuit(rng, replace(SHAPE, operators=6)), choices)
        whole = remembering(every(pool))
        for _ in range(2):
            circuit = variant(rng, pool)
            plan, _ = planned(circuit, Beliefs(rng), costs=EAGER)
            assert remembering(circuit) | remembering(plan) <= whole, f"seed {seed}\n{circuit}"
            found += len(remembering(circuit))
            clocked = [n for n, node in enumerate(circuit.nodes) if isinstance(node.operator, CLOCKED)]
            read = Circuit((*circuit.nodes, *(Node(ops.Sink(f"c{n}"), (n,), circuit.nodes[n].type) for n in clocked)))
            assert remembering(read) == remembering(circuit), f"seed {seed}\n{circuit}"
    assert found > 50


@given(seed=st.integers(0, 2**32))
def test_the_reference_goes_on_as_a_fresh_one(seed):
    """Without windows and delays, what an engine has depends on the present rows of the tables alone."""
    rng = random.Random(seed)
    pool = random_circuit(rng, SHAPE)
    circuit = variant(rng, pool)
    driver = Driver(ReferenceEngine(circuit), circuit)
    for _ in range(3):
        driver.apply(changes(rng, driver))
        circuit = variant(rng, pool)
        driver.engine.extend(circuit)
        driver = Driver(driver.engine, circuit)
        fresh = Driver(ReferenceEngine(circuit), circuit)
        fresh.insert(**{table: driver.rows(table, table=True) for table in driver.schemas})
        assert fresh.everything() == driver.everything()

"""What a change of definitions costs, and what it leaves behind: nothing for what stays, nothing when it fails.

Catches a relation that is computed anew although nothing that it reads changed, column orders that are kept for nobody,
and an engine that is neither the old one nor the new one after a failure.
"""

from __future__ import annotations

import random

import pytest

from deltic.catalog import Catalog
from deltic.circuit.reading import parse_circuit
from deltic.datalog import check, define, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.inline import boundary, strata
from deltic.engine.kernels.thresholds import DEFAULTS
from deltic.engine.operators import query as evaluate
from deltic.engine.recursion import refresh, settle
from deltic.engine.recursion.refresh import Recursive
from deltic.engine.reference import ReferenceEngine, from_arrow
from deltic.engine.storage import state as relation
from deltic.errors import IterationLimitError, UnsupportedError
from tests.conformance.engines import Driver
from tests.differential.cases import Case
from tests.differential.compare import batches_of, changes_between
from tests.differential.test_evolution import shown, variant
from tests.engine.test_atomicity import Failing, Injected

CLOSURE = """
    .decl edge(x: number, y: number)
    .decl path(x: number, y: number)
    .decl color(x: number, c: symbol)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
"""
ADDED = {
    "beside": ('.decl red(x: number) red(x) :- color(x, "red").', 10),
    "joined by the first column": (".decl far(c: symbol, y: number) far(c, y) :- color(x, c), path(x, y).", 1_000),
    "an aggregate of a small table": (
        ".decl n(c: symbol, n: number) n(c, n) :- color(_, c), n = count : { color(_, c) }.",
        100,
    ),
    "a table": (".decl late(x: number)", 0),
    "a name for what is there": (".decl same(x: number, y: number) same(x, y) :- path(x, y).", 125_000),
}


def circuit_of(*texts: str):
    return lower(check([parse(text) for text in texts]))


def large_closure() -> Driver:
    """350 × 350 / 2 paths, and ten colors."""
    circuit = circuit_of(CLOSURE)
    driver = Driver(IncrementalEngine(circuit), circuit)
    driver.insert(
        edge=[(i, i + 1) for i in range(350)], color=[(i, "red" if i % 2 else "blue") for i in range(340, 350)]
    )
    assert driver.engine.count("path") == 350 * 351 // 2
    return driver


@pytest.mark.parametrize("name", ADDED)
def test_a_view_that_is_added_costs_what_it_reads(name):
    text, most = ADDED[name]
    engine = large_closure().engine
    runs = engine.executor.running.states["path"].contents.runs
    result = engine.extend(circuit_of(CLOSURE, text))
    assert result.rows_visited <= most, result.rows_visited
    assert {"edge", "path", "color"} <= set(result.extension.kept)
    assert engine.executor.running.states["path"].contents.runs is runs
    assert result.components == ()


def test_a_view_that_is_dropped_costs_nothing_and_takes_its_orders_with_it():
    driver = large_closure()
    engine = driver.engine
    before = {name: arrangement.nbytes for name, arrangement in engine.executor.store.arrangements().items()}
    engine.extend(
        circuit_of(CLOSURE, ".decl back(y: number, c: symbol) back(y, c) :- path(x, y), color(x, c), edge(y, _).")
    )
    assert len(engine.executor.store.arrangements()) > len(before)
    result = engine.extend(circuit_of(CLOSURE))
    assert result.rows_visited == 0
    assert len(result.changes) == 0
    assert {name: arrangement.nbytes for name, arrangement in engine.executor.store.arrangements().items()} == before
    assert "back" in result.extension.dropped


def test_what_reads_a_replaced_view_is_computed_and_nothing_else():
    below = ".decl a(x: number) a(x) :- color(x, _)."
    above = ".decl b(x: number) b(x) :- a(x), edge(x, _). .decl c(x: number) c(x) :- path(0, x), !b(x)."
    beside = ".decl d(x: symbol) d(x) :- color(_, x)."
    circuit = circuit_of(CLOSURE, below, above, beside)
    engine = IncrementalEngine(circuit)
    driver = Driver(engine, circuit)
    driver.insert(edge=[(i, i + 1) for i in range(50)], color=[(i, "red") for i in range(0, 50, 2)])
    result = engine.extend(circuit_of(CLOSURE, below.replace("(x, _)", '(x, "red"), x > 10'), above, beside))
    assert {"a", "b", "c"} <= set(result.extension.built)
    assert {"edge", "path", "color", "d"} <= set(result.extension.kept)
    assert {name: sum(w for _, w in from_arrow(table)) for name, table in result.changes.items()} == {
        "a": -6,
        "b": -6,
        "c": 5,
    }


def test_a_recursion_that_stays_remembers_what_updates_cost():
    driver = large_closure()
    driver.apply({"edge": [((10, 11), -1)]})
    (learned,) = [step.history for step in driver.engine.executor.running.strata._steps if isinstance(step, Recursive)]
    driver.engine.extend(circuit_of(CLOSURE, ADDED["beside"][0]))
    assert [s.history for s in driver.engine.executor.running.strata._steps if isinstance(s, Recursive)] == [learned]


PLACES = {
    "a search": (evaluate, "search"),
    "settling an iteration": (settle, "settle"),
    "adding rows to a relation": (relation.State, "append"),
    "adding counts": (relation.State, "count"),
    "a fixpoint": (refresh, "bootstrap"),
    "a plan": (strata, "plans_of"),
    "taking over a relation": (relation.State, "evolved"),
    "the change of a view": (boundary, "difference"),
    "the changes of views": (boundary, "view_change"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_failure_leaves_the_engine_as_it_was(place, monkeypatch):
    owner, name = PLACES[place]
    original = getattr(owner, name)
    failures = 0
    for seed in range(8):
        rng = random.Random(seed)
        case = Case.random(seed)
        other = case.circuit()
        circuit = variant(rng, other)
        # Half of them iterate in vectors alone.
        thresholds = DEFAULTS._replace(most_waiting=-1) if seed % 2 else DEFAULTS
        driver, reference = Driver(IncrementalEngine(circuit, thresholds=thresholds), circuit), ReferenceEngine(circuit)
        run = [{name: rows for name, rows in contents.items() if name in driver.schemas} for contents in case.run]
        for old, new in zip([{}, *run], run, strict=False):
            batches = batches_of(circuit, changes_between(old, new))
            driver.engine.apply(batches)
            reference.apply(batches)
        before, program = driver.everything(), driver.engine.program
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, Failing(original, rng.randint(1, 2)))
            try:
                driver.engine.extend(other)
            except Injected:
                failures += 1
            else:
                continue
        assert driver.everything() == before
        assert driver.engine.program is program
        for engine in (driver.engine, reference):
            engine.apply(batches_of(circuit, changes_between(run[-1], run[0])))
        assert driver.everything() == Driver(reference, circuit).everything()
        assert shown(driver.engine.extend(other)) == shown(reference.extend(other))
        assert Driver(driver.engine, other).everything() == Driver(reference, other).everything()
    assert failures


def test_a_recursion_without_an_end_is_refused_and_leaves_the_engine_as_it_was():
    circuit = circuit_of(CLOSURE)
    for engine in (IncrementalEngine(circuit, iteration_limit=50), ReferenceEngine(circuit, iteration_limit=50)):
        driver = Driver(engine, circuit)
        driver.insert(edge=[(1, 2)])
        with pytest.raises(IterationLimitError):
            engine.extend(circuit_of(CLOSURE, ".decl n(x: number) n(x) :- edge(x, _). n(x + 1) :- n(x)."))
        driver.insert(edge=[(2, 3)])
        assert driver.rows("path") == {(1, 2), (2, 3), (1, 3)}


def test_a_circuit_that_the_engine_cannot_run_is_refused():
    from deltic.circuit.reading import parse_circuit

    circuit = circuit_of(CLOSURE)
    engine = IncrementalEngine(circuit)
    both_change = parse_circuit(
        """
        %0 = source a : set{x: int64}
        %1 = differentiate (%0) : zset{x: int64}
        %2 = join (%1, %1) : zset{x: int64}
        %3 = integrate (%2) : zset{x: int64}
        %4 = sink v (%3) : zset{x: int64}
        """
    )
    with pytest.raises(UnsupportedError):
        engine.extend(both_change)
    assert engine.circuit is circuit


def test_an_engine_without_rows_goes_on_too():
    first = circuit_of(".decl k(x: number) k(1). k(2).")
    second = circuit_of(".decl k(x: number) k(1). k(2).", ".decl l(x: number) l(x + 1) :- k(x). l(7).")
    for engine in (IncrementalEngine(first), ReferenceEngine(first)):
        changes = engine.extend(second).changes
        assert {name: dict(from_arrow(changes[name])) for name in changes} == {
            "k": {(1,): 1, (2,): 1},
            "l": {(2,): 1, (3,): 1, (7,): 1},
        }
        assert len(engine.extend(first).changes) == 0


def test_the_catalog_of_a_program_makes_the_circuit_that_was_lowered():
    checked = check([parse(CLOSURE)])
    assert Catalog((define(checked),)).circuit == lower(checked)


def test_what_is_kept_sees_no_change_in_a_relation_that_begins_with_the_rows_it_was_computed_from():
    """Both programs have v3 and read one join by two names; in the second the join is kept for one of them alone."""
    join = "%0 = source s : set{a: int64}\n%1 = join (%0, %0) : set{a: int64}\n%2 = distinct (%1) : set{a: int64}\n"
    v3 = "%3 = antijoin (%2, %1) : set{a: int64}\n%4 = sink v3 (%3) : set{a: int64}\n"
    first = parse_circuit(f"{join}{v3}%5 = sink v0 (%2) : set{{a: int64}}")
    second = parse_circuit(f"{join}{v3}%5 = join (%1) : set{{a: int64}}\n%6 = sink v2 (%5) : set{{a: int64}}")
    driver = Driver(IncrementalEngine(first), first)
    driver.insert(s=[(2,), (3,)])
    result = driver.engine.extend(second)
    assert "v3" not in result.changes
    assert driver.engine.count("v3") == 0

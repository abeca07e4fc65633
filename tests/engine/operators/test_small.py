"""Searches of small changes: one call for all queries of a step, in any steps, with the rows and visits of one search.

This catches derivations that are lost or doubled where the output is full in the middle of a query or between two, a
query that goes on with the position of another, visits that depend on chunks, and a long search that no interrupt ends.
"""

from __future__ import annotations

import signal
import threading
import time
from functools import partial

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.operators import small
from deltic.engine.reference import from_arrow
from deltic.engine.refresh import Policy, Refresh
from tests.conformance.engines import Driver
from tests.differential.test_datalog import check_seeds

PROGRAM = """
    .decl e(x: number, y: number)
    .decl f(x: number, y: number)
    .input e, f
    .decl v(x: number, z: number)
    .output v
    v(x, z) :- e(x, y), f(y, z).
    v(x, z) :- e(x, y), e(y, z).
    v(x, x) :- f(x, _), !e(x, x).
"""
STEPS = {
    "one derivation at a time": Thresholds(first_chunk=1, last_chunk=1),
    "few derivations at a time": Thresholds(first_chunk=2, last_chunk=3),
    "pauses at every row": Thresholds(patience=1),
    "both": Thresholds(first_chunk=1, last_chunk=2, patience=1),
}


def epochs(thresholds: Thresholds) -> list[tuple[dict[tuple[int, ...], int], int]]:
    """The changes of the view, and the rows visited, of some epochs."""
    circuit = lower(check([parse(PROGRAM)]))
    engine = IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL), thresholds=thresholds)
    driver = Driver(engine, circuit)
    driver.insert(e=[(n, n * 7 % 40) for n in range(40)], f=[(n % 8, n) for n in range(40)])
    edits = [{"e": [((n, n * 7 % 40), -1), ((n, n + 1), 1)], "f": [((n % 8, n), -1)]} for n in range(2, 12)]
    results = [driver.apply(edit) for edit in edits]
    return [(dict(from_arrow(r.changes["v"])) if "v" in r.changes else {}, r.rows_visited) for r in results]


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_steps_change_neither_rows_nor_visits(steps: Thresholds) -> None:
    expected = epochs(DEFAULTS)
    assert any(change for change, _ in expected)
    assert epochs(steps) == expected


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_random_programs(steps: Thresholds) -> None:
    check_seeds(range(31_000, 31_006), partial(IncrementalEngine, thresholds=steps))


def test_queries_of_a_step_are_searched_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = small.search_all, list[int]()

    def counted(queries, *args):
        calls.append(len(queries))
        return original(queries, *args)

    monkeypatch.setattr(small, "search_all", counted)
    driver = Driver.of_program("local", PROGRAM)
    driver.insert(e=[(n, n + 1) for n in range(50)], f=[(n, n + 1) for n in range(50)])
    calls.clear()
    driver.apply({"e": [((7, 8), -1)], "f": [((9, 10), -1)]})
    assert calls == [1, 5]  # one for the hidden relation of the negation


CYCLE = """
    .decl seed(x: number)
    .decl e(x: number, y: number)
    .input seed, e
    .decl t(x: number)
    .output t
    t(x) :- seed(x), e(a, b), e(b, c), e(c, d), e(d, a).
"""


def test_a_long_search_of_one_row_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """For cycles of four in a graph of five layers in a circle, which has none."""
    circuit = lower(check([parse(CYCLE)]))
    engine = IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL), thresholds=Thresholds(patience=1 << 14))
    driver = Driver(engine, circuit)
    layers = [range(100 * n, 100 * n + 100) for n in range(5)]
    driver.insert(e=[(x, y) for n in range(5) for x in layers[n] for y in layers[(n + 1) % 5]])
    rang = list[float]()

    def ring() -> None:
        rang.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    def search(*args):
        if not timer.is_alive():
            timer.start()
        return original(*args)

    timer, original = threading.Timer(0.2, ring), small.search_all
    monkeypatch.setattr(small, "search_all", search)
    with pytest.raises(KeyboardInterrupt):
        driver.insert(seed=[(1,)])
    assert time.process_time() - rang[0] < 2
    assert engine.count("seed") == 0

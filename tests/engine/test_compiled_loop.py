"""Compiled iterations against vectorised ones: the same state, whatever the way and wherever it changes.

Random programs, left at random iterations; and programs made so that levels fill up, rows have several words, and lost
rows have more later derivations than compiled code searches.
"""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import numpy as np
import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.operators.search import Derivations
from deltic.engine.recursion.compiled_loop import CompiledLoop
from deltic.engine.recursion.lost import LostRows
from deltic.engine.recursion.pending import PendingQueue
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.storage.run import NO_TIMES
from tests.conformance.programs import CLOSURE
from tests.differential.cases import Case
from tests.differential.compare import batches_of, changes_between, first_disagreement
from tests.engine.plan.test_lets import PROGRAM, RUNS
from tests.engine.test_bootstrap import large_case, state_of

pytestmark = pytest.mark.usefixtures("programs_made_once")

INCREMENTAL = Refresh(Policy.INCREMENTAL)
VECTORISED = Thresholds(most_waiting=-1)


def states_of(case: Case, strategy: Strategy, thresholds: Thresholds = DEFAULTS) -> list[Any]:
    """The state after each epoch."""
    circuit = case.circuit()
    engine = IncrementalEngine(circuit, strategy, INCREMENTAL, thresholds=thresholds)
    states = []
    old: Any = {}
    for contents in case.run:
        engine.apply(batches_of(circuit, changes_between(old, contents)))
        states.append(state_of(engine))
        old = contents
    return states


@functools.cache
def case_of(seed: int) -> Case:
    """Large ones and small ones by turns."""
    return large_case(seed) if seed % 2 else Case.random(seed)


@functools.cache
def usual_states(seed: int, strategy: Strategy) -> list[Any]:
    """The states of a case without thresholds of its own, which many are compared with."""
    return states_of(case_of(seed), strategy)


@pytest.fixture
def entered(monkeypatch):
    """Counts how often the compiled loop is entered, and how many iterations it does."""
    counts = {"times": 0, "iterations": 0}
    original = CompiledLoop.run

    def run(self, *args):
        done = original(self, *args)
        counts["times"] += 1
        counts["iterations"] += done
        return done

    monkeypatch.setattr(CompiledLoop, "run", run)
    return counts


@pytest.mark.parametrize("strategy", Strategy)
def test_the_state_is_that_of_vectorised_iterations(strategy, entered):
    for seed in range(16):
        case = case_of(seed)
        compiled = states_of(case, strategy)
        before = entered["times"]
        assert states_of(case, strategy, VECTORISED) == compiled, f"seed {seed}\n{case.program}"
        assert entered["times"] == before
    assert entered["iterations"] > 10


SMALL = {
    "it may be left at any iteration": Thresholds(allowance=1, most_rows=12, rest=0),
    "searches pause at every step": Thresholds(patience=1, rest=0),
    "levels and log fill up": Thresholds(near=4, far=8, most_rows=16, logged=32, handed=3),
    "batches that cancel are added up at once": Thresholds(large=1, rest=0),
    "large changes": Thresholds(piece=2, first_chunk=1, last_chunk=3, large=2, grouped=2, most_waiting=20, rest=1),
}


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("thresholds", SMALL.values(), ids=SMALL)
def test_thresholds_change_no_result(strategy, thresholds, entered):
    for seed in range(8):
        case = case_of(seed)
        assert states_of(case, strategy, thresholds) == usual_states(seed, strategy), f"seed {seed}\n{case.program}"
    assert entered["times"] > 10


def test_a_batch_that_cancels_wholly_leaves_nothing_to_wait_for():
    """Two derivations of one row at one iteration, added up while they are gathered, with opposite signs."""
    queue = PendingQueue([["r"]], large=1)
    for sign in (1, -1):
        queue.of("r").derive(Derivations(np.array([[7]], np.uint64), NO_TIMES, np.array([sign])), 3)
    heap = queue.to_heap(1)
    assert heap.size[0] == 0
    queue.from_heap(heap, [1])
    assert queue.first() is None


WIDE = """
.decl e(a: number, b: float, c: number, d: float)
.input e
.decl p(a: number, b: float, c: number, d: float)
p(a, b, c, d) :- e(a, b, c, d).
p(a, b, x, y) :- p(a, b, c, d), e(c, d, x, y).
"""


@pytest.mark.parametrize("strategy", Strategy)
def test_rows_of_several_words(strategy, entered):
    """Paths between nodes that are pairs of wide numbers: four words a row, in two column orders."""
    circuit = lower(check([parse(WIDE)]))
    rng = random.Random(2)
    nodes = [(rng.randrange(-(2**60), 2**60), rng.uniform(-1e300, 1e300)) for _ in range(16)]
    edges = [(*a, *b) for a, b in itertools.pairwise(nodes)] + [(*rng.choice(nodes), *rng.choice(nodes)) for _ in "12"]
    runs = [{"e": frozenset(e for e in edges if rng.random() < 0.85)} for _ in range(8)]
    make = functools.partial(IncrementalEngine, strategy=strategy, refresh=INCREMENTAL)
    assert first_disagreement(circuit, runs, make) is None
    assert entered["iterations"] > 10


@pytest.mark.law("ELA §4.2 re-discovery")
@pytest.mark.parametrize(("many", "searches"), [(10, 0), (60, 1)])
def test_lost_rows_with_many_later_derivations(many, searches, monkeypatch):
    """`many` nodes lose their edge to the sink, and each has 50 other ways; 2,048 are searched in compiled code."""
    circuit = lower(check([parse(CLOSURE)]))
    starts, middles, sink = range(60), range(100, 150), 1000
    edges = {(s, sink) for s in starts} | {(s, m) for s in starts for m in middles} | {(m, sink) for m in middles}
    left = edges - {(s, sink) for s in starts[:many]}
    calls = []
    original = LostRows.search
    monkeypatch.setattr(LostRows, "search", lambda *args: calls.append(1) or original(*args))
    engine, anew = (IncrementalEngine(circuit, Strategy.ELASTIC, INCREMENTAL) for _ in "12")
    for old, new in itertools.pairwise([set(), edges, left]):
        engine.apply(batches_of(circuit, changes_between({"e": frozenset(old)}, {"e": frozenset(new)})))
    assert len(calls) == searches
    anew.apply(batches_of(circuit, changes_between({}, {"e": frozenset(left)})))
    assert state_of(engine) == state_of(anew)


def test_levels_fill_up_and_become_runs(entered):
    """A chain that is long enough for all levels of the overlay: 400 nodes, 79,800 paths."""
    circuit = lower(check([parse(CLOSURE)]))
    engine = IncrementalEngine(circuit, Strategy.NESTED, INCREMENTAL)
    edges = frozenset((i, i + 1) for i in range(400))
    engine.apply(batches_of(circuit, changes_between({}, {"e": edges})))
    assert engine.count("p") == 400 * 401 // 2
    assert entered["iterations"] > 100
    engine.apply(batches_of(circuit, changes_between({"e": edges}, {"e": edges - {(200, 201)}})))
    assert engine.count("p") == 200 * 201 // 2 + 199 * 200 // 2
    engine.apply(batches_of(circuit, changes_between({"e": edges - {(200, 201)}}, {"e": edges})))
    assert engine.count("p") == 400 * 401 // 2


@pytest.mark.parametrize("strategy", Strategy)
def test_recursions_that_compute(strategy, entered):
    """Values that are computed in compiled iterations, domains that grow there, and one that is left at any time."""
    circuit = lower(check([parse(PROGRAM)]))

    def states(thresholds):
        engine = IncrementalEngine(circuit, strategy, INCREMENTAL, thresholds=thresholds)
        old = {}
        for contents in RUNS * 2:
            engine.apply(batches_of(circuit, changes_between(old, contents)))
            yield state_of(engine)
            old = contents

    compiled = list(states(DEFAULTS))
    assert entered["iterations"] > 10
    assert list(states(Thresholds(allowance=1, rest=0))) == compiled
    assert list(states(Thresholds(patience=1))) == compiled
    before = entered["times"]
    assert list(states(VECTORISED)) == compiled
    assert entered["times"] == before

"""Comparisons of text inside searches. Catches labels that are stale or missing in a search or a compiled iteration."""

from __future__ import annotations

import itertools
import random

import pytest

from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.recursion.strategy import Strategy
from tests.conformance.engines import Driver
from tests.differential.compare import first_disagreement
from tests.engine.storage.test_value_order import closing_in

RISING = """
    .decl edge(x: symbol, y: symbol)
    .input edge
    .decl rises(x: symbol, y: symbol)
    rises(x, y) :- edge(x, y), x < y.
    rises(x, z) :- rises(x, y), edge(y, z), y < z, z != "b", x <= "x".
    .decl turns(x: symbol)
    turns(y) :- edge(x, y), edge(y, z), x < y, y >= z.
"""
WORDS = ["", "a", "aa", "ab", "b", "x", "xx", "é", "𝄞", "\ue000"]


def random_run(rng, words, epochs=5):
    return [{"edge": frozenset((rng.choice(words), rng.choice(words)) for _ in range(12))} for _ in range(epochs)]


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_random_graphs_of_words(strategy, compiled, seeds):
    thresholds = Thresholds() if compiled else Thresholds(most_waiting=0)
    circuit = Driver.of_program("local", RISING).circuit

    def make(circuit):
        return IncrementalEngine(circuit, strategy, thresholds=thresholds)

    for seed in seeds:
        run = random_run(random.Random(seed), WORDS)
        assert first_disagreement(circuit, run, make) is None, f"seed {seed}: {run}"


def test_words_for_which_labels_are_given_anew():
    driver = Driver.of_program("local", RISING)
    words = closing_in(120)
    run = [{"edge": frozenset(itertools.pairwise(words[:n]))} for n in range(2, 120, 7)]
    assert first_disagreement(driver.circuit, run) is None


def test_the_search_itself_decides_them():
    """So that recursions that compare text run in compiled iterations."""
    plans = Driver.of_program("local", RISING).engine.executor.running.evaluations
    assert all(segment.compute is None for evaluation in plans for segment in evaluation.plan.segments)

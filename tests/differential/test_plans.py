"""Engines that plan eagerly, and anew in the middle of runs, equal the reference in every epoch.

Every part that could be a hidden relation is one, whatever it costs, and growth by one row is reason for another plan.
Sizes decide which parts come first, so that plans change from epoch to epoch while views have rows: relations are built
anew and the others keep their state, in the epoch that changes them; and epochs begin once more in the middle of
recursions, where these have rows that make another plan. Each epoch is aborted once before it is applied.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltic.calculus.planning import Rewrites
from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.plan.plans import Plans
from deltic.engine.recursion.strategy import Strategy
from tests.calculus.planning.test_plan import EAGER
from tests.differential import test_circuits, test_datalog
from tests.differential.circuits import Shape
from tests.differential.compare import first_disagreement

EAGERLY = Plans(costs=EAGER, growth=1.1, small=1, gain=float("inf"), review=1, regret=float("-inf"))


def eager(circuit: Circuit) -> IncrementalEngine:
    return IncrementalEngine(circuit, plans=EAGERLY)


@pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))])
def test_random_programs(batch):
    test_datalog.check_seeds(range(batch * 20, (batch + 1) * 20), eager)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", Strategy)
def test_random_programs_by_strategy(strategy):
    test_datalog.check_seeds(range(1000, 1020), lambda c: IncrementalEngine(c, strategy, plans=EAGERLY))


@pytest.mark.parametrize("rewrites", [Rewrites(eliminate=False), Rewrites(share=False)], ids=str)
@pytest.mark.slow
def test_random_programs_with_each_rewrite_off(rewrites):
    test_datalog.check_seeds(
        range(2000, 2020), lambda c: IncrementalEngine(c, plans=replace(EAGERLY, rewrites=rewrites))
    )


@pytest.mark.parametrize("batch", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 6))])
def test_random_circuits(batch):
    shape = Shape(10, bags=False, fixpoints=1, plain_bodies=True, rich=batch % 2 == 0)
    for seed in range(batch * 30, (batch + 1) * 30):
        case = test_circuits.random_case(seed, shape)
        assert first_disagreement(case.circuit, case.run, eager) is None, f"seed {seed}"

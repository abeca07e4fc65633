"""Engines that plan eagerly, and anew in the middle of runs, equal the reference in every epoch.

Every part that could be a hidden relation is one, whatever it costs, and growth by one row is reason for another plan.
Sizes decide which parts come first, so that plans change from epoch to epoch while views have rows: relations are built
anew and the others keep their state, in the epoch that changes them; and epochs begin once more in the middle of
recursions, where these have rows that make another plan. Each epoch is aborted once before it is applied.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import deltic
from deltic.calculus.passes import is_composed
from deltic.calculus.planning import Rewrites
from deltic.circuit.graph import Circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.plan.plans import Plans
from deltic.engine.recursion.strategy import Strategy
from tests.calculus.planning.test_plan import EAGER
from tests.conformance.engines import Driver
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


QUERIES = (
    "SELECT a.x, count(*) AS y FROM {a} a JOIN {b} b ON a.y = b.x WHERE a.x > {c} GROUP BY a.x",
    "SELECT DISTINCT a.x, d.y FROM {a} a JOIN {b} b ON a.y = b.x JOIN {d} d ON b.y = d.x",
    "SELECT DISTINCT a.x, a.y FROM {a} a, {b} b WHERE b.x > {c}",
    "SELECT a.x, b.y FROM {a} a JOIN {b} b ON a.y = b.x",
    "SELECT x, y FROM {a} WHERE x > {c}",
)


def test_definitions_one_after_the_other_have_the_rows_of_all_at_once():
    """Catches a view that keeps the plan of another definition, or reads what a plan has replaced."""
    decided = planned_apart = 0
    for seed in range(6):
        rng, pipeline = random.Random(seed), deltic.Pipeline(engine="local")
        pipeline.sql("; ".join(f"CREATE TABLE t{i} (x BIGINT, y BIGINT)" for i in range(3)))
        circuit = pipeline.catalog.composed
        drivers = [Driver(eager(circuit), circuit), Driver(IncrementalEngine(circuit), circuit)]
        for driver in drivers:
            driver.insert(**{f"t{i}": {((5 * n + i) % 7, n % (4 + i)) for n in range(12)} for i in range(3)})
        for step in range(7):
            unread = [name for name in pipeline.catalog.views if not pipeline.catalog.readers([name])]
            if unread and rng.random() < 0.3:
                pipeline.drop(rng.choice(unread))
            relations = rng.choices([*pipeline.catalog.relations], k=3)
            text = rng.choice(QUERIES).format(**dict(zip("abd", relations, strict=True)), c=rng.randint(0, 3))
            pipeline.sql(f"CREATE VIEW v{step} AS {text}")
            one, other = (driver.extend(pipeline.catalog.composed) for driver in drivers)
            assert one == other, (seed, step)
            plans = drivers[0].engine.executor.running.plans
            decided, planned_apart = decided + len(plans.decisions), planned_apart + is_composed(plans.circuit)
            row = (rng.randint(0, 7), rng.randint(0, 4))
            one, other = (driver.changes({"t0": [(row, 1)]}) for driver in drivers)
            assert one == other, (seed, step)
            assert drivers[0].everything() == drivers[1].everything(), (seed, step)
    assert decided > 40
    assert planned_apart == 42

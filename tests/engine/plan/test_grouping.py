"""Plans for large changes: the results of small ones, fewer visits, and only orders that are kept anyway."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deltic.circuit.graph import Circuit
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import Thresholds
from tests.conformance.engines import Driver
from tests.differential.test_datalog import check_seeds
from tests.engine.plan.test_plans import PROGRAMS


def grouping_always(circuit: Circuit) -> IncrementalEngine:
    """An engine for which every change is a large one."""
    return IncrementalEngine(circuit, thresholds=Thresholds(grouped=0))


@pytest.mark.parametrize("name", ["closure", "galen", "negation"])
def test_plan(name: str, golden: Callable[[str, str], None]) -> None:
    engine = IncrementalEngine(lower(check([parse(PROGRAMS[name])])))
    plans = [
        grouped.plan.describe() for e in engine.executor.running.evaluations if (grouped := e.by_groups()) is not None
    ]
    golden(f"plans/{name}-grouped.txt", "\n".join(plans))


def test_plans_use_the_orders_that_are_kept() -> None:
    engine = IncrementalEngine(lower(check([parse(PROGRAMS["galen"])])))
    kept = {name: set(state.by_order) for name, state in engine.executor.running.states.items()}
    for evaluation in engine.executor.running.evaluations:
        evaluation.by_groups()
    assert {name: set(state.by_order) for name, state in engine.executor.running.states.items()} == kept


@pytest.mark.parametrize("batch", [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 6))])
def test_random_programs(batch: int, record_property: Callable[[str, object], None]) -> None:
    record_property("random Datalog programs", 20)
    check_seeds(range(9_000 + batch * 20, 9_020 + batch * 20), grouping_always)


def test_a_group_is_searched_once() -> None:
    """A hundred rows of the change share a value: its partner is looked up once, not a hundred times."""
    program = ".decl a(x: number, y: number)\n.input a\n.decl b(y: number)\n.input b\n"
    driver = Driver.of_program("local", program + ".decl v(x: number)\nv(0) :- a(_, y), b(y).")
    driver.insert(b=[(-1 - 2 * y,) for y in range(50)])
    rows = 10_000
    result = driver.insert(a=[(x, -2 * (x % 100)) for x in range(rows)])
    assert result.rows_visited < rows / 10

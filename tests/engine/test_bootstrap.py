"""The state after an update equals that of a bootstrap on the new input [ELA Thm 3.5], for each strategy that has one.

Rows, derivation counts and iterations in every arrangement are compared with those of a fresh engine that saw the
contents in one epoch. Wrong bookkeeping shows here long before a view is wrong: a count that is off by one, a row at
an iteration that is not its first, a run that was not merged into one arrangement of several.

The data are larger than the reference could take: no oracle is needed but the engine's own first epoch.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.codec import decode
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from tests.batches import first
from tests.differential.cases import Case
from tests.differential.compare import Contents, batches_of, changes_between
from tests.differential.random_programs import FLOAT, NUMBER, SYMBOL, UNSIGNED, random_program, random_run

MANY = {
    NUMBER: tuple(range(12)),
    SYMBOL: tuple(f"s{i}" for i in range(8)),
    UNSIGNED: tuple(range(6)),
    FLOAT: tuple(i * 0.5 for i in range(6)),
}
BATCHES, PER_BATCH = 14, 4


def large_case(seed: int) -> Case:
    rng = random.Random(seed)
    program = random_program(rng)
    return Case(program, tuple(random_run(rng, program, MANY, 40)))


def entries(engine: IncrementalEngine, state: State, arrangement: Arrangement, run: Run) -> Counter[Any]:
    """The entries of a run as {(row, time): weight}."""
    offsets = arrangement.sorted().columns(run.words)
    columns = [
        decode(domain.decode(raw), domain.nulls(raw), column.type, engine.executor.store.interner).to_pylist()
        for raw, domain, column in zip(offsets, state.domains, state.relation.schema, strict=True)
    ]
    rows = zip(*columns, strict=True) if columns else [()] * len(run)
    times = run.times.tolist() if run.times.size else [0] * len(run)
    weights = run.weights.tolist() if run.weights.size else [1] * len(run)
    found: Counter[Any] = Counter()
    for row, time, weight in zip(rows, times, weights, strict=True):
        found[row, time] += weight
    return found


def state_of(engine: IncrementalEngine) -> dict[Any, Counter[Any]]:
    """All entries of all arrangements, summed over their runs."""
    result = {}
    for name, state in engine.executor.running.states.items():
        arrangements = {("store", order): state.arrangement(order) for order in state.by_order}
        if state.counts is not None:
            arrangements["counts", ()] = state.counts
        for key, arrangement in arrangements.items():
            total: Counter[Any] = Counter()
            for run in arrangement.runs:
                total.update(entries(engine, state, arrangement, run))
            result[name, *key] = Counter({entry: weight for entry, weight in total.items() if weight})
    return result


KEEPING = [Strategy.NESTED, Strategy.ELASTIC]


def bootstrapped(case: Case, contents: Contents, strategy: Strategy) -> IncrementalEngine:
    circuit = case.circuit()
    engine = IncrementalEngine(circuit, strategy)
    engine.apply(batches_of(circuit, changes_between({}, contents)))
    return engine


def check(case: Case, strategy: Strategy) -> None:
    circuit = case.circuit()
    engine = IncrementalEngine(circuit, strategy, Refresh(Policy.INCREMENTAL))
    old: Contents = {}
    for epoch, contents in enumerate(case.run):
        engine.apply(batches_of(circuit, changes_between(old, contents)))
        expected = state_of(bootstrapped(case, contents, strategy))
        for key, found in state_of(engine).items():
            assert found == expected[key], f"epoch {epoch}, {key}\n{case.program}"
        old = contents


@pytest.mark.law("ELA Thm 3.5")
@pytest.mark.parametrize("strategy", KEEPING)
@pytest.mark.parametrize("batch", first(1, BATCHES))
def test_the_state_after_updates_is_that_of_a_bootstrap(batch, strategy):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check(large_case(seed), strategy)


@pytest.mark.parametrize("strategy", KEEPING)
@pytest.mark.parametrize("batch", first(1, 6))
def test_small_programs_too(batch, strategy):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check(Case.random(seed), strategy)

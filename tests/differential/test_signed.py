"""Recursions whose bodies have any operator on their feedbacks, against iteration from nothing in every epoch.

This catches a row whose history is wrong: one that comes or goes at another iteration than it should, an examination
that is left out where a group drifts, a later entry that a join does not meet, and state that an epoch without a
fixpoint leaves behind.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from deltic.calculus.passes import optimize
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.pointwise import Rows
from deltic.circuit.polarity import is_monotone
from deltic.circuit.tables import from_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.executors.shards.executor import ShardsExecutor
from deltic.engine.protocol import Engine
from deltic.engine.reference import ReferenceEngine
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import IterationLimitError
from tests.conformance.engines import in_tasks
from tests.differential.circuits import Epoch, Shape, random_circuit, random_epochs
from tests.differential.compare import batches_of

LIMIT = 12
NONE = "no fixpoint"
SETS = Shape(operators=8, bags=False, fixpoints=1, free_bodies=True, ordered=True)
BAGS = replace(SETS, bags=True)
REFRESH = {policy: Refresh(policy, switch=0.0 if policy is Policy.AUTO else 0.2) for policy in Policy}


def is_signed(circuit: Circuit) -> bool:
    """Whether it has a recursion that is not monotone."""
    return any(not is_monotone(op.body) for op in circuit.operators if isinstance(op, ops.Fixpoint))


def case(rng: random.Random, shape: Shape, wanted: Callable[[Circuit], bool]) -> Circuit:
    """A circuit that is wanted."""
    return next(circuit for circuit in iter(lambda: random_circuit(rng, shape), None) if wanted(circuit))


def step(engine: Engine, circuit: Circuit, epoch: Epoch) -> dict[str, Rows] | str:
    """The changes of the views; what an epoch without a fixpoint is rejected for."""
    try:
        result = engine.apply(batches_of(circuit, epoch), "normalize")
    except IterationLimitError:
        return NONE
    return {name: rows for name in result.changes if (rows := from_arrow(result.changes[name]))}


def locally(circuit: Circuit, refresh: Refresh) -> Engine:
    """By the local engine."""
    return IncrementalEngine(circuit, refresh=refresh, iteration_limit=LIMIT)


def check(
    seed: int,
    shape: Shape,
    wanted: Callable[[Circuit], bool] = is_signed,
    make: Callable[[Circuit, Refresh], Engine] | None = None,
) -> Counter[str]:
    """One circuit under random changes; how many epochs were there, with a fixpoint and without.

    Engines do not compute what nobody reads: what has no fixpoint there is none in the optimized circuit either.
    """
    rng, tally = random.Random(seed), Counter[str]()
    circuit = case(rng, shape, wanted)
    policy = rng.choice((Policy.INCREMENTAL, Policy.INCREMENTAL, Policy.AUTO, Policy.FULL))
    engine = (make or locally)(circuit, REFRESH[policy])
    reference, read = (ReferenceEngine(c, iteration_limit=LIMIT) for c in (circuit, optimize(circuit)))
    for number, epoch in enumerate(random_epochs(rng, circuit, 5)):
        expected, found = step(read, circuit, epoch), step(engine, circuit, epoch)
        assert found == expected, f"seed {seed}, epoch {number}\n{circuit}"
        whole = step(reference, circuit, epoch)
        if whole != expected:
            assert whole == NONE
            break
        tally["no fixpoint" if found == NONE else "changes" if found else "no changes"] += 1
        for name in circuit.sinks:
            assert rows_of(engine, name) == rows_of(reference, name), f"seed {seed}, epoch {number}\n{circuit}"
    return tally


def rows_of(engine: Engine, view: str) -> Rows:
    """The rows of a view with their weights."""
    return from_arrow(engine.read(view, counted=True))


@pytest.mark.parametrize("shape", [SETS, BAGS], ids=["sets", "bags"])
@pytest.mark.parametrize("first", [0, 65])
def test_any_operator_on_a_feedback(shape: Shape, first: int) -> None:
    tally = sum((check(seed, shape) for seed in range(first, first + 65)), Counter[str]())
    assert tally["changes"] > 60


def on_shards(circuit: Circuit, refresh: Refresh) -> Engine:
    """In rounds, where nothing else is to be computed anew in every epoch."""
    return IncrementalEngine(circuit, executor=ShardsExecutor.empty, refresh=refresh, iteration_limit=LIMIT, shards=3)


def by_jobs(circuit: Circuit, refresh: Refresh) -> Engine:
    """Rounds for which more than a few rows wait are jobs."""
    return in_tasks(circuit, "job", refresh=refresh, iteration_limit=LIMIT, few=4)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [SETS, BAGS], ids=["sets", "bags"])
@pytest.mark.parametrize(("make", "count"), [(on_shards, 100), (by_jobs, 25)], ids=["process", "jobs"])
def test_any_operator_on_a_feedback_in_rounds(
    make: Callable[[Circuit, Refresh], Engine], count: int, shape: Shape
) -> None:
    for seed in range(2000, 2000 + count):
        check(seed, shape, make=make)


def is_nested(circuit: Circuit) -> bool:
    """Whether a fixpoint stands in the body of another."""
    bodies = (op.body for op in circuit.operators if isinstance(op, ops.Fixpoint))
    return any(isinstance(op, ops.Fixpoint) for body in bodies for op in body.operators)


NESTED = {
    "sets": replace(SETS, fixpoints=2, free_bodies=False),
    "bags": replace(BAGS, fixpoints=2, free_bodies=False),
    "free": replace(SETS, fixpoints=2),
}


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_fixpoints_in_fixpoints(shape: Shape) -> None:
    tally = sum((check(seed, shape, is_nested) for seed in range(12)), Counter[str]())
    assert tally["changes"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_fixpoints_in_fixpoints_of_many_circuits(shape: Shape) -> None:
    for seed in range(1000, 1100):
        check(seed, shape, is_nested)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [SETS, BAGS], ids=["sets", "bags"])
def test_any_operator_on_a_feedback_in_many_circuits(shape: Shape) -> None:
    for seed in range(1000, 1500):
        check(seed, shape)

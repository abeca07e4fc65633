"""Bags, signed changes and each policy for conflicts, on random circuits, in every strategy.

What they catch: a weight that an engine clips where no `distinct` stands, or does not clip where a set begins; a change
that one engine refuses and another takes; a row that is shown and not there; an aborted epoch that leaves a trace.
"""

from __future__ import annotations

import functools
import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle.pointwise import Rows
from deltic.engine.conflicts import Conflicts
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh
from tests.differential.circuits import Shape, random_circuit, random_epochs, random_row, sources_of
from tests.differential.compare import MakeEngine, first_disagreement_on

BAGS = Shape(fixpoints=1, plain_bodies=True)
SIGNED = Shape(fixpoints=1, plain_bodies=True, signed=True, aggregates=False)
POLICIES: tuple[Conflicts, ...] = ("error", "normalize", "trust")
VARIANTS: dict[str, MakeEngine] = {
    "nested": IncrementalEngine,
    "elastic": functools.partial(IncrementalEngine, strategy=Strategy.ELASTIC, refresh=Refresh(Policy.INCREMENTAL)),
    "full": functools.partial(IncrementalEngine, strategy=Strategy.FULL),
    "recomputed": functools.partial(IncrementalEngine, refresh=Refresh(Policy.FULL)),
}


@pytest.mark.parametrize("seed", range(200))
def test_bags_that_change_as_bags_do(seed: int) -> None:
    rng = random.Random(seed)
    circuit = random_circuit(rng, BAGS)
    epochs = random_epochs(rng, circuit, rng.randint(2, 5))
    found = first_disagreement_on(circuit, [(epoch, "error") for epoch in epochs], variant(seed))
    assert found is None, f"{circuit}\n{epochs}\n{found}"


@pytest.mark.parametrize("seed", range(300))
def test_any_changes_under_any_policy(seed: int) -> None:
    rng = random.Random(seed)
    circuit = random_circuit(rng, SIGNED)
    sources = sources_of(circuit)
    epochs = [
        ({name: _any_change(rng, source) for name, source in sources.items()}, rng.choice(POLICIES))
        for _ in range(rng.randint(2, 6))
    ]
    found = first_disagreement_on(circuit, epochs, variant(seed))
    assert found is None, f"{circuit}\n{epochs}\n{found}"


def variant(seed: int) -> MakeEngine:
    """The strategies in turn."""
    return list(VARIANTS.values())[seed % len(VARIANTS)]


def _any_change(rng: random.Random, source: ops.Source) -> Rows:
    """Weights of any size on few rows, so that they meet."""
    rows = [random_row(rng, source.schema) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
    return ZSet((row, rng.choice((-3, -2, -1, -1, 1, 1, 1, 2, 3))) for row in rows)

"""Random Datalog programs with random sequences of epochs: the local engine equals the reference in every epoch.

What each part of the generator is there to catch: negation over wildcards (projections that are no sets), mutual and
non-linear recursion over cycles (rows that keep each other alive after their ground is gone), deletions and
re-insertions (iterations and counts of an earlier epoch), empty epochs (facts that come twice), tables with rules (a
row given and derived), arithmetic and text in heads (values that outgrow their bits), constants and repeated variables.

Run one seed with ``python -m tests.differential.test_datalog SEED``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from deltic.engine.engine import IncrementalEngine
from tests.batches import first
from tests.differential.cases import Case
from tests.differential.compare import MakeEngine
from tests.differential.shrink import shrink

BATCHES, PER_BATCH = 25, 20


def check_seeds(seeds: Iterable[int], make: MakeEngine = IncrementalEngine) -> None:
    """Fail with a small program for the first seed on which the engine disagrees."""
    for seed in seeds:
        case = Case.random(seed)
        if case.disagreement(make) is not None:
            small = shrink(case, Case.smaller, lambda c: c.fails(make))
            pytest.fail(f"seed {seed}, made small:\n\n{small.script(make)}", pytrace=False)


@pytest.mark.law("DBSP §11.2", "DBSP §11.3")
@pytest.mark.parametrize("batch", first(8, BATCHES))
def test_random_programs(batch, record_property):
    record_property("random Datalog programs", PER_BATCH)
    check_seeds(range(batch * PER_BATCH, (batch + 1) * PER_BATCH))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(25))
def test_five_times_as_many_random_programs(batch, record_property):
    record_property("random Datalog programs", 100)
    check_seeds(range(1_000_000 + batch * 100, 1_000_000 + (batch + 1) * 100))


if __name__ == "__main__":
    check_seeds(map(int, sys.argv[1:]))

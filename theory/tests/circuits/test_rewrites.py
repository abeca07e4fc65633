"""Random circuits through the whole calculus, by dataflow machines.

Catches a rewrite that is right by the definitions of the operators and wrong for machines that run event by event.
"""

from __future__ import annotations

import pytest
from theory.tests.circuits.meanings import by_machine

from tests.calculus.test_whole import check_all, few_iterations

__all__ = ["few_iterations"]


@pytest.mark.law("DBSP §10")
@pytest.mark.parametrize("batch", range(4))
def test_random_circuits(batch):
    for seed in range(batch * 50, (batch + 1) * 50):
        check_all(seed, by_machine)

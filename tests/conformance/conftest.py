"""One suite for all engines and strategies: `drive` gives a driver of each in turn, of a program or a circuit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deltic.circuit.graph import Circuit
from deltic.errors import UnsupportedError
from tests.conformance.engines import ENGINES, Driver

_REMEMBERS = "on shards, definitions that are added compute all views anew: a time, or a due change, has to stay"
# What an engine refuses by name, and why.
GAPS = {
    (engine, test): _REMEMBERS
    for engine in ("three shards", "tasks")
    for test in (
        "test_a_window_that_stays_knows_the_time",
        "test_a_delay_that_stays_owes_what_it_owed_and_a_new_one_everything",
    )
}


# Engines whose every epoch is too long for the default suite.
_SLOW = {"tasks"}


@pytest.fixture(params=[pytest.param(e, marks=[pytest.mark.slow] * (e in _SLOW)) for e in sorted(ENGINES)])
def drive(request: pytest.FixtureRequest) -> Callable[[str | Circuit], Driver]:
    gap = GAPS.get((request.param, request.node.originalname))
    if gap is not None:
        request.applymarker(pytest.mark.xfail(raises=UnsupportedError, reason=gap, strict=True))
    return lambda program: Driver.of_program(request.param, program)

"""One suite for all engines and strategies: `drive` gives a driver of each in turn, of a program or a circuit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deltic.circuit.graph import Circuit
from tests.conformance.engines import ENGINES, Driver

# Engines whose every epoch is too long for the default suite.
_SLOW = {"tasks"}


@pytest.fixture(params=[pytest.param(e, marks=[pytest.mark.slow] * (e in _SLOW)) for e in sorted(ENGINES)])
def drive(request: pytest.FixtureRequest) -> Callable[[str | Circuit], Driver]:
    return lambda program: Driver.of_program(request.param, program)

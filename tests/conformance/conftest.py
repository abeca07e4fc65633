"""One suite for all engines and strategies: `drive` gives a driver of each in turn, of a program or a circuit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deltic.circuit.graph import Circuit
from tests.conformance.engines import ENGINES, Driver


@pytest.fixture(params=sorted(ENGINES))
def drive(request: pytest.FixtureRequest) -> Callable[[str | Circuit], Driver]:
    return lambda program: Driver.of_program(request.param, program)

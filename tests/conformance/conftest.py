"""One suite for all engines: `drive(program)` gives a driver of each in turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.engines import ENGINES, Driver


@pytest.fixture(params=sorted(ENGINES))
def drive(request: pytest.FixtureRequest) -> Callable[[str], Driver]:
    return lambda program: Driver.of_program(request.param, program)

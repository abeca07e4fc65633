"""What tests of meanings are run by; the theory's suite runs the same tests by its own evaluators."""

from __future__ import annotations

import pytest

from tests.circuit.meanings import by_interpreter


@pytest.fixture
def run():
    """A meaning of circuits: from values of the sources to values of the sinks, step by step."""
    return by_interpreter

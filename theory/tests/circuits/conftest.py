"""The evaluators of the theory, which the tests of the reference interpreter are run by here."""

from __future__ import annotations

import pytest
from theory.tests.circuits.meanings import by_denotation, by_machine


@pytest.fixture(params=[by_machine, by_denotation], ids=lambda meaning: meaning.__name__)
def run(request):
    """A meaning of circuits: from values of the sources to values of the sinks, step by step."""
    return request.param

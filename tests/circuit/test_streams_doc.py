"""docs/streams.md: its examples run."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_examples_run():
    page = Path(__file__).parents[2] / "docs" / "streams.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 15
    assert results.failed == 0

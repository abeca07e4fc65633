"""Runs the examples in the docstrings of deltic.algebra: an example that lies fails here."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["", ".zset"])
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(f"deltic.algebra{name}"))
    assert results.attempted
    assert not results.failed

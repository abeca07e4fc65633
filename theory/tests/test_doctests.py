"""Runs the examples in the docstrings of deltic_theory: an example that lies fails here."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import deltic_theory

MODULES = ["deltic_theory"] + [
    module.name for module in pkgutil.walk_packages(deltic_theory.__path__, "deltic_theory.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_every_module_shows_an_example():
    """Those about circuits need a circuit first; docs/circuits.md and docs/streams.md show them."""
    modules = map(importlib.import_module, MODULES)
    finder = doctest.DocTestFinder(exclude_empty=True)
    without = [m.__name__ for m in modules if not any(test.examples for test in finder.find(m))]
    assert [name for name in without if not name.startswith("deltic_theory.circuits")] == []

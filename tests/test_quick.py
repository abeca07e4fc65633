"""The quick suite says something of every layer: catches a list whose tests were moved away, or that grew slow ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("quick")  # what is chosen is listed once

ROOT = Path(__file__).parents[1]
ASPECTS = {
    "parsing": "tests/datalog/test_round_trip.py",
    "lowering": "tests/datalog/test_lowering.py",
    "errors of programs": "tests/datalog/test_bad_programs.py",
    "the reference interpreter": "tests/circuit/test_reference.py",
    "optimizations": "tests/calculus/passes/test_passes.py",
    "random circuits through the calculus": "tests/calculus/test_whole.py::test_random_circuits",
    "random programs in the local engine": "tests/differential/test_datalog.py::test_random_programs",
    "random circuits in the local engine": "tests/differential/test_circuits.py::test_random_circuits",
    "epochs": "tests/conformance/test_epochs.py",
    "conflicts": "tests/conformance/test_conflicts.py",
    "layers": "tests/test_layers.py",
}


@pytest.fixture(scope="module")
def chosen():
    """The tests that `make quick` runs."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    selection = ["-m", "not slow and not spark", "@tests/quick.txt"]
    listed = subprocess.run([*command, *selection], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "::" in line]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_it_has(aspect, chosen):
    assert any(test.startswith(ASPECTS[aspect]) for test in chosen)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_both_engines_conform(engine, chosen):
    assert sum(test.startswith("tests/conformance") and engine in test for test in chosen) > 20


def test_it_starts_no_spark(chosen):
    assert not any(test.endswith("@spark") for test in chosen)

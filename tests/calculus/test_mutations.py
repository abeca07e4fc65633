"""The random circuits detect every wrong derivative, at top level and inside the body of a fixpoint."""

from __future__ import annotations

import random

import pytest

from deltic.calculus import DERIVATIVES
from tests.calculus.mutations import MUTATIONS
from tests.calculus.nested import NestedInterpreter
from tests.calculus.streams import check
from tests.calculus.test_derivatives import closure
from tests.differential.circuits import Shape, random_circuit, random_epochs

CASES = 200


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_random_circuits_detect(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    with pytest.raises(AssertionError):
        _check_random_circuits(Shape(fixpoints=0))


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.name.startswith("join")], ids=lambda m: m.name)
def test_the_nested_stream_detects_a_wrong_join_inside_a_fixpoint(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    with pytest.raises(AssertionError):
        _check_closure()


def test_the_right_table_passes():
    _check_random_circuits(Shape(fixpoints=0))
    _check_closure()


def _check_closure() -> None:
    for seed in range(CASES):
        check(closure(), random_epochs(random.Random(seed), closure(), 4), NestedInterpreter)


def _check_random_circuits(shape: Shape) -> None:
    for seed in range(CASES):
        rng = random.Random(seed)
        circuit = random_circuit(rng, shape)
        check(circuit, random_epochs(rng, circuit, 4))

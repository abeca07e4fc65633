"""Random circuits through the whole calculus: the same meaning before and after each rewrite.

Circuits have up to fifteen nodes and are nested once. Catches what two rewrites do to each other.
"""

from __future__ import annotations

import random
import sys

import pytest

from deltic.calculus.incrementalize import lift
from deltic.calculus.inside import operators_inside
from deltic.calculus.passes import OPTIMIZATIONS
from deltic.calculus.push import push
from deltic.calculus.recursion import chain
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.inlining import inline
from deltic.circuit.oracle import interpreter as reference
from deltic.errors import UnsupportedError
from tests.calculus.streams import differences
from tests.circuit.meanings import by_interpreter
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs

NODES, EPOCHS = 15, 3
ON_TABLES = (inline, *OPTIMIZATIONS, lift)


@pytest.fixture(autouse=True)
def few_iterations(monkeypatch):
    """Fixpoints over bags may have no end; those over sets of these few values end sooner."""
    monkeypatch.setattr(reference, "ITERATION_LIMIT", 60)


def case(seed):
    """A circuit of up to fifteen nodes, and changes of its tables for which its iterations end.

    Every other one has bags whose weights may become negative.
    """
    rng, signed = random.Random(seed), seed % 2 == 0
    while True:
        circuit = random_circuit(rng, Shape(operators=7, signed=signed, fixpoints=1))
        epochs = random_epochs(rng, circuit, EPOCHS, signed)
        if len(circuit.nodes) <= NODES and ends(circuit, epochs):
            return circuit, epochs


def ends(circuit, epochs):
    try:
        by_interpreter(circuit, integrals(epochs))
    except UnsupportedError:
        return False
    return True


def check_all(seed, meaning=by_interpreter):
    """Every rewrite of a random circuit means the same by this meaning of circuits."""

    def check(circuit, epochs, expected, name):
        assert meaning(circuit, epochs) == expected, f"{name} by {meaning.__name__}\n{circuit}\n{epochs}"

    circuit, epochs = case(seed)
    tables, changes = list(integrals(epochs)), differences(circuit, epochs)
    values = by_interpreter(circuit, tables)
    check(circuit, tables, values, f"seed {seed}")
    for rewrite in ON_TABLES:
        before, circuit = circuit, rewrite(circuit)
        if circuit != before:
            check(circuit, tables, values, f"seed {seed}, {rewrite.__name__}")
    surrounded = surround(circuit)
    check(surrounded, epochs, changes, f"seed {seed}, surround")
    check(push(surrounded), epochs, changes, f"seed {seed}, push")
    if any(isinstance(op, ops.Fixpoint) for op in operators_inside(circuit)):
        for name, step in chain(circuit).items():
            on_tables = name in ("naive", "semi_naive")
            check(step, tables if on_tables else epochs, values if on_tables else changes, f"seed {seed}, {name}")


@pytest.mark.law("DBSP Alg 6.13", "DBSP Prop 4.2", "DBSP Prop 5.7", "DBSP Prop 6.10", "DBSP Prop 6.11")
@pytest.mark.parametrize("batch", range(5))
def test_random_circuits(batch, record_property):
    record_property("random circuits through the calculus", 50)
    for seed in range(batch * 50, (batch + 1) * 50):
        check_all(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
def test_two_thousand_random_circuits(batch, record_property):
    record_property("random circuits through the calculus", 100)
    for seed in range(10_000 + batch * 100, 10_000 + (batch + 1) * 100):
        check_all(seed)


def test_a_wrong_rewrite_is_seen(monkeypatch):
    """A map of a map that forgets what the inner one computes."""
    module = sys.modules["deltic.calculus.passes.fuse_maps"]
    monkeypatch.setattr(module, "through", lambda expression, inner: expression.copy())
    with pytest.raises(Exception, match=r"fuse_maps|column"):
        check_many(range(150))


def check_many(seeds):
    for seed in seeds:
        check_all(seed)

"""Random well-formed circuits, with cycles, brackets and calls, mean the same to all interpreters [DBSP §9.4]."""

from __future__ import annotations

import random

import pytest
from theory.tests.circuits.meanings import by_denotation, by_interpreter, by_machine

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle import interpreter as reference
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.errors import DelticError, UnsupportedError
from deltic_theory.circuits import denotation
from deltic_theory.circuits.machine import compile as compiling
from deltic_theory.circuits.machine.loops import WatchingExit
from deltic_theory.streams import DivergenceError
from tests.circuit.well_formed import random_well_formed
from tests.differential.circuits import random_epochs


def agree(seed, nesting=1):
    rng = random.Random(seed)
    circuit = random_well_formed(rng, nesting=nesting)
    epochs = random_epochs(rng, circuit, 4, signed=True)
    expected = by_interpreter(circuit, epochs)
    return circuit, by_machine(circuit, epochs) == expected == by_denotation(circuit, epochs)


@pytest.mark.law("DBSP §9.3", "DBSP §9.4.4", "DBSP §9.4.5", "DBSP §9.4.6", "DBSP §10")
def test_all_interpreters_agree():
    met = set()
    for seed in range(250):
        circuit, agreed = agree(seed)
        bodies = [(op, body) for op in circuit.operators for _, body in op.bodies()]
        met |= {(type(op), type(inner), inner.reach) for op, body in bodies for inner in body.operators}
        assert agreed, f"seed {seed}\n{circuit}"
    assert met >= {(ops.Bracket, ops.Delay, 0), (ops.Bracket, ops.Delay, 1), (ops.Bracket, ops.Integrate, 1)}
    assert met >= {(ops.Bracket, ops.BackEdge, 0), (ops.Call, ops.BackEdge, 0)}


@pytest.mark.law("DBSP §9.4.6")
def test_they_agree_on_brackets_in_brackets():
    for seed in range(100):
        circuit, agreed = agree(seed, nesting=2)
        assert agreed, f"seed {seed}\n{circuit}"


@pytest.mark.slow
@pytest.mark.law("DBSP §9.3", "DBSP §10")
@pytest.mark.parametrize("batch", range(10))
def test_thousands_agree(batch, monkeypatch):
    """Fixpoints of aggregates may have no end; those circuits are left out, and there are few of them."""
    for module in (compiling, denotation, reference):
        monkeypatch.setattr(module, "ITERATION_LIMIT", 300)
    endless = 0
    for seed in range(1000 + batch * 200, 1200 + batch * 200):
        try:
            circuit, agreed = agree(seed, nesting=1 + seed % 2)
        except (DelticError, DivergenceError):
            endless += 1
        else:
            assert agreed, f"seed {seed}\n{circuit}"
    assert endless < 5


def depths(circuit):
    """Whether all edges of the circuit are as deep as it is, and those of the circuits inside it."""
    types = [type_ for node in circuit.nodes for _, type_ in getattr(node.type, "entries", [("", node.type)])]
    bodies = [body for op in circuit.operators for _, body in op.bodies()]
    return all(type_.depth == circuit.depth for type_ in types) and all(map(depths, bodies))


@pytest.mark.law("DBSP Thm 9.1")
def test_all_streams_are_equally_deep():
    assert all(depths(random_well_formed(random.Random(seed), nesting=2)) for seed in range(100))


@pytest.mark.law("DBSP §9.4 invariants")
@pytest.mark.parametrize("meaning", [by_interpreter, by_machine, by_denotation])
def test_they_are_causal_and_time_invariant(meaning):
    for seed in range(60):
        rng = random.Random(seed)
        circuit = random_well_formed(rng)
        epochs = random_epochs(rng, circuit, 3, signed=True)
        nothing = {name: ZSet() for name in epochs[0]}
        outputs = meaning(circuit, epochs)
        assert meaning(circuit, epochs[:2]) == outputs[:2]
        assert meaning(circuit, [nothing, *epochs]) == [{name: ZSet() for name in outputs[0]}, *outputs]


MUTANTS = {
    "a memory that outlives its loop": (Interpreter, "reset", lambda self, level: None),
    "a loop that ends at the first zero": (WatchingExit, "goes_on", lambda self, changes, watched: any(changes)),
    "delays that count the iterations alone": (ops.Delay, "reach", 0),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_the_comparison_sees(mutant, monkeypatch):
    monkeypatch.setattr(*mutant)
    for module in (compiling, reference):
        monkeypatch.setattr(module, "ITERATION_LIMIT", 100)
    assert not all(map(agrees, range(100)))


def agrees(seed):
    try:
        return agree(seed)[1]
    except UnsupportedError:
        return False

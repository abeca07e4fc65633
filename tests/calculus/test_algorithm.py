"""[DBSP Alg. 6.13] step by step: after each step the circuit runs, and means what the step before means.

Catches a step that is right only together with the next one, a fallback that forgets an epoch, and `strict` that lets
an operator without a derivative pass.
"""

from __future__ import annotations

import random

import pytest

from deltic.calculus import DERIVATIVES, incrementalize
from deltic.calculus.incrementalize import ALGORITHM_6_13, fallbacks, refuse_fallbacks
from deltic.calculus.passes import optimize
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.errors import UnsupportedError
from tests.calculus.streams import check, differences
from tests.calculus.test_derivatives import CASES, closure
from tests.circuit.examples import unreachable
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs

STEPS = {step.__name__: step for step in ALGORITHM_6_13}


def outputs(circuit, epochs):
    interpreter = Interpreter(circuit)
    return [interpreter.step(epoch) for epoch in epochs]


def test_the_steps_are_those_of_the_paper():
    assert list(STEPS) == ["optimize", "inline", "lift", "surround", "push"]


@pytest.mark.law("DBSP Alg 6.13")
@pytest.mark.parametrize("batch", range(4))
def test_every_step_keeps_the_meaning(batch):
    for seed in range(batch * 25, (batch + 1) * 25):
        rng, signed = random.Random(seed), seed % 2 == 0
        circuit = random_circuit(rng, Shape(signed=signed, fixpoints=1))
        epochs = random_epochs(rng, circuit, 3, signed)
        tables, changes = list(integrals(epochs)), differences(circuit, epochs)
        values = outputs(circuit, tables)
        for name in ("optimize", "inline", "lift"):
            circuit = STEPS[name](circuit)
            assert outputs(circuit, tables) == values, f"{name}, seed {seed}\n{circuit}"
        for name in ("surround", "push"):
            circuit = STEPS[name](circuit)
            assert outputs(circuit, epochs) == changes, f"{name}, seed {seed}\n{circuit}"


def test_the_composition_is_incrementalize(golden):
    circuit, shown = unreachable(), []
    for name, step in STEPS.items():
        circuit = step(circuit)
        shown.append(f"{name}:\n{circuit}")
    assert circuit == incrementalize(unreachable())
    golden("calculus/algorithm-6.13.txt", "\n\n".join(shown))


def test_calls_are_composed_first():
    called = CASES[ops.Antijoin][0]
    builder = CircuitBuilder()
    inputs = [builder.add(op) for op in called.operators if isinstance(op, ops.Source)]
    found = builder.add(ops.BundleRelation("v"), builder.add(ops.Call(called), *inputs))
    builder.add(ops.Sink("v"), builder.add(ops.Distinct(), found))
    composed = builder.build()
    assert not any(isinstance(op, ops.Call) for op in incrementalize(composed).operators)
    for seed in range(5):
        epochs = random_epochs(random.Random(seed), composed, 4, signed=True)
        check(composed, epochs)
        assert outputs(push(surround(composed)), epochs) == differences(composed, epochs)


def test_a_circuit_that_stands_in_no_sandwich_stays_as_it_is():
    assert push(closure()) == closure()
    assert push(surround(optimize(closure()))) == incrementalize(closure())


WITHOUT_ROW = (ops.Map, ops.Filter, ops.Join, ops.Antijoin, ops.Distinct, ops.Negate, ops.Aggregate)


@pytest.mark.law("FIX Prop 7")
@pytest.mark.parametrize("operator", WITHOUT_ROW, ids=lambda op: op.keyword)
def test_the_fallback_is_right_for_every_operator(operator, monkeypatch):
    monkeypatch.delitem(DERIVATIVES, operator)
    for circuit in CASES[operator]:
        for seed in range(10):
            check(circuit, random_epochs(random.Random(seed), circuit, 4, signed=True))
        assert [op for _, op in fallbacks(circuit)] == [op for op in circuit.operators if type(op) is operator]


def test_the_fallback_inside_a_fixpoint(monkeypatch):
    monkeypatch.delitem(DERIVATIVES, ops.Join)
    for seed in range(10):
        check(closure(), random_epochs(random.Random(seed), closure(), 4))
    assert "join" in {op.keyword for _, op in fallbacks(closure())}


def test_strict_refuses_the_fallback_and_names_the_operator(monkeypatch):
    refuse_fallbacks(closure())
    monkeypatch.delitem(DERIVATIVES, ops.Distinct)
    with pytest.raises(UnsupportedError, match=r"^%6 distinct: the calculus has no derivative for it"):
        refuse_fallbacks(closure())
    check(closure(), [])

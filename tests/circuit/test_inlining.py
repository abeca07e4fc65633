"""Calls replaced by what is called: catches a back-edge joined to another's, a body left too shallow, a lost sink."""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.inlining import inline
from deltic.circuit.reading import parse_circuit
from tests.circuit.examples import XY, X, naive_closure, within
from tests.circuit.meanings import by_interpreter
from tests.circuit.test_cycles import integral_by_a_cycle
from tests.circuit.well_formed import random_well_formed
from tests.differential.circuits import random_epochs


def calls(circuit):
    """The calls in a circuit and in its bodies."""
    found = [op for op in circuit.operators if isinstance(op, ops.Call)]
    return found + [call for op in circuit.operators for _, body in op.bodies() for call in calls(body)]


@pytest.mark.law("DBSP §9.4.3", "DBSP §9.4.5")
def test_inlining_keeps_the_meaning():
    seen = 0
    for seed in range(180):
        rng = random.Random(seed)
        circuit = random_well_formed(rng, nesting=2)
        epochs = random_epochs(rng, circuit, 3, signed=True)
        inlined = inline(circuit)
        seen += len(calls(circuit))
        assert by_interpreter(inlined, epochs) == by_interpreter(circuit, epochs), f"seed {seed}\n{circuit}"
        assert not calls(inlined)
    assert seen > 100


def test_back_edges_of_two_calls_stay_apart():
    builder = CircuitBuilder()
    number = builder.add(ops.Source("s", X, is_set=False))
    for _ in range(2):
        number = builder.add(ops.BundleRelation("v"), builder.add(ops.Call(integral_by_a_cycle()), number))
    builder.add(ops.Sink("v"), number)
    assert set(inline(builder.build()).closes) == {"total_1", "total_2"}


def test_bodies_become_deeper():
    body = CircuitBuilder(1)
    called = body.add(ops.Call(naive_closure()), body.add(ops.Import(0, ZSetType(XY, is_set=True))))
    body.add(ops.Sink("path"), body.add(ops.BundleRelation("path"), called))
    circuit = within(ops.Bracket(body.build()), edge=XY)
    inlined = inline(circuit)
    assert not calls(inlined)
    assert parse_circuit(str(inlined)) == inlined
    epochs = [{"edge": ZSet.of([(1, 2), (2, 3)])}]
    assert by_interpreter(inlined, epochs) == by_interpreter(circuit, epochs) == by_interpreter(naive_closure(), epochs)


def test_a_call_with_constants_stays_in_a_body():
    builder = CircuitBuilder()
    both = builder.add(ops.Plus(), builder.add(ops.Source("s", X, False)), builder.add(ops.Constant(X, ((1,),))))
    builder.add(ops.Sink("v"), both)
    body = CircuitBuilder(1)
    body.add(ops.Call(builder.build()), body.add(ops.Import(0, builder.type_of(0))))
    outer = CircuitBuilder()
    outer.add(ops.Bracket(body.build()), outer.add(ops.Source("s", X, False)))
    assert len(calls(inline(outer.build()))) == 1

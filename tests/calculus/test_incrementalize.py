"""Incrementalization of whole circuits [DBSP Alg. 6.13]: the chain rule [DBSP Prop. 4.2] composes the table's rows.

Random circuits catch what single operators cannot: a view (new, old, change) that is taken from the wrong node,
state that two readers share, and, in bodies of fixpoints, derivatives that hold for one iteration only.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Schema, Type
from tests.calculus.nested import NestedInterpreter
from tests.calculus.streams import check
from tests.differential.circuits import Shape, random_circuit, random_epochs

BATCHES, PER_BATCH = 10, 40


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("interpreter", [pytest.param(None, id="definition"), NestedInterpreter])
def test_random_circuits(batch, interpreter):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        rng = random.Random(seed)
        shape = Shape(signed=rng.random() < 0.5)
        circuit = random_circuit(rng, shape)
        epochs = random_epochs(rng, circuit, rng.randint(1, 5), shape.signed)
        check(circuit, epochs, *([interpreter] if interpreter else []))


@given(st.randoms(use_true_random=False))
def test_random_circuits_shrinking(rng):
    circuit = random_circuit(rng, Shape(signed=True, operators=5))
    check(circuit, random_epochs(rng, circuit, 3, signed=True), NestedInterpreter)


def test_a_source_that_no_sink_reads_stays():
    builder = CircuitBuilder()
    schema = Schema.of(a=Type.INT64)
    used, _ = builder.add(ops.Source("used", schema)), builder.add(ops.Source("unused", schema))
    builder.add(ops.Sink("v"), used)
    derived = incrementalize(builder.build())
    assert [op.name for op in derived.operators if isinstance(op, ops.Source)] == ["used", "unused"]


def test_sinks_of_the_increment_carry_changes():
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Source("s", Schema.of(a=Type.INT64))))
    derived = incrementalize(builder.build())
    assert not derived.type_of(derived.sinks["v"]).is_set

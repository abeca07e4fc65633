"""Top-k in the local engine against the reference interpreter, epoch by epoch.

Rows of every type that can be ordered, and of those that cannot, with NULLs and many ties; bags whose weights grow and
fall; parts that come and go. Catches a border that is lost or off by a copy, an order that text, NaN or NULL break, and
domains that grow between two epochs. Each epoch is aborted once before it is applied.
"""

from __future__ import annotations

import random

import pytest

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.values.types import Column, Schema
from tests.differential.circuits import TYPES, random_epochs, random_parts
from tests.differential.compare import first_disagreement_on

BATCHES, PER_BATCH = 4, 25


def random_source(rng):
    """A source of columns of any types."""
    schema = Schema(
        tuple(Column(n, TYPES[n], rng.random() < 0.5) for n in rng.sample(sorted(TYPES), rng.randint(1, 4)))
    )
    return ops.Source("s", schema, is_set=rng.random() < 0.3)


def random_top(rng):
    source = random_source(rng)
    keys, order = random_parts(rng, source.schema)
    limit = rng.choice((None, 0, 1, 1, 2, 3, 7))
    builder = CircuitBuilder()
    rows = builder.add(source)
    builder.add(ops.Sink("v"), builder.add(ops.Top(keys, order, limit, rng.choice((0, 0, 1, 2, 5))), rows))
    return builder.build()


def check_seed(seed):
    rng = random.Random(seed)
    circuit = random_top(rng)
    assert parse_circuit(str(circuit)) == circuit
    epochs = random_epochs(rng, circuit, 6)
    found = first_disagreement_on(circuit, [(epoch, "error") for epoch in epochs])
    assert found is None, f"seed {seed}\n{circuit}\n{epochs}\n{found}"


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_top(batch):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_random_top(batch):
    for seed in range(100_000 + batch * 100, 100_000 + (batch + 1) * 100):
        check_seed(seed)

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
from deltic.circuit.types import Column, Schema
from tests.differential.circuits import TYPES, random_epochs
from tests.differential.compare import first_disagreement_on

BATCHES, PER_BATCH = 4, 25


def random_order(rng, schema):
    """A random order by some of the columns that have one."""
    names = [c.name for c in schema if c.type.is_ordered]
    chosen = rng.sample(names, rng.randint(0, min(3, len(names))))
    return tuple(ops.Order(name, rng.random() < 0.5, rng.random() < 0.5) for name in chosen)


def random_parts(rng, types):
    """A source of columns of these types with keys and an order."""
    chosen = rng.sample(sorted(types), rng.randint(1, 4))
    schema = Schema(tuple(Column(name, types[name], rng.random() < 0.5) for name in chosen))
    keys = tuple(rng.sample(chosen, rng.randint(0, min(2, len(chosen)))))
    return ops.Source("s", schema, is_set=rng.random() < 0.3), keys, random_order(rng, schema)


def random_top(rng):
    source, keys, order = random_parts(rng, TYPES)
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

"""Random circuits straight against the engine: what Datalog's lowering never builds.

Bags as sinks with weights, distinct in the middle, antijoins of joins, sums that cancel, several fixpoints over one
another, bodies with sets of their own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from tests.batches import first
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs
from tests.differential.compare import Contents, first_disagreement
from tests.differential.shrink import shrink, smaller_runs

BATCHES, PER_BATCH = 10, 50
SHAPE = Shape(bags=False, fixpoints=1, plain_bodies=True)


@dataclass(frozen=True)
class Case:
    circuit: Circuit
    run: tuple[Contents, ...]

    def fails(self) -> bool:
        return first_disagreement(self.circuit, self.run) is not None

    def smaller(self) -> Iterator[Case]:
        """The case with one view, without what no view reads, and with a smaller run."""
        if len(self.circuit.sinks) > 1:
            for name in self.circuit.sinks:
                yield Case(with_sinks(self.circuit, [name]), self.run)
        for run in smaller_runs(self.run):
            yield Case(self.circuit, tuple(run))


def with_sinks(circuit: Circuit, names: Sequence[str]) -> Circuit:
    """The circuit of these views and all sources."""
    wanted = circuit.ancestors([circuit.sinks[name] for name in names])
    builder = CircuitBuilder(circuit.depth)
    numbers: dict[int, int] = {}
    for number, node in enumerate(circuit.nodes):
        sink = isinstance(node.operator, ops.Sink) and node.operator.name in names
        if number in wanted or sink or isinstance(node.operator, ops.Source):
            numbers[number] = builder.add(node.operator, *(numbers[i] for i in node.inputs))
    return builder.build()


def random_case(seed: int, shape: Shape) -> Case:
    rng = random.Random(seed)
    circuit = random_circuit(rng, shape)
    epochs = random_epochs(rng, circuit, rng.randint(3, 6))
    return Case(circuit, tuple({name: rows.support() for name, rows in tables.items()} for tables in integrals(epochs)))


def check_seeds(seeds: Sequence[int], shape: Shape = SHAPE) -> None:
    for seed in seeds:
        case = random_case(seed, shape)
        if case.fails():
            small = shrink(case, Case.smaller, Case.fails)
            found = first_disagreement(small.circuit, small.run)
            pytest.fail(f"seed {seed}\n{small.circuit}\n{small.run}\n{found}", pytrace=False)


@pytest.mark.parametrize("batch", first(4, BATCHES))
def test_random_circuits(batch, record_property):
    record_property("random circuits", PER_BATCH)
    check_seeds(range(batch * PER_BATCH, (batch + 1) * PER_BATCH))


@pytest.mark.parametrize("batch", first(2, 15))
def test_random_circuits_of_many_types_with_null(batch, record_property):
    record_property("random circuits", PER_BATCH)
    check_seeds(range(batch * PER_BATCH, (batch + 1) * PER_BATCH), replace(SHAPE, rich=True))


@pytest.mark.parametrize("rich", [False, True], ids=["plain", "rich"])
@pytest.mark.parametrize("batch", range(2))
def test_random_circuits_with_orders(batch, rich, record_property):
    """Top-k and window functions over joins, sums and fixpoints, and these over them."""
    record_property("random circuits", PER_BATCH)
    seeds = range(batch * PER_BATCH, (batch + 1) * PER_BATCH)
    check_seeds(seeds, replace(SHAPE, ordered=True, rich=rich))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(50))
def test_many_random_circuits(batch, record_property):
    record_property("random circuits", 100)
    check_seeds(
        range(100_000 + batch * 100, 100_000 + (batch + 1) * 100),
        Shape(12, bags=False, plain_bodies=True, fixpoints=1),
    )

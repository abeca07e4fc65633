"""The meanings of circuits agree: streams as functions, dataflow machines, and the reference interpreter.

Random well-formed circuits, their incremental forms, and z⁻¹, I and D between and around them. Catches a delay on the
wrong time in a nested loop, a loop that ends before its changes do, and relations of one fixpoint that are taken to
have settled one by one.
"""

from __future__ import annotations

import random

import pytest
from theory.tests.circuits.meanings import by_machine, disagreement

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle import interpreter as reference
from deltic.circuit.oracle.memory import DelayMemory
from tests.circuit.examples import reached, unreachable
from tests.circuit.meanings import by_interpreter, ends
from tests.differential import test_windows
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs, sources_of

BATCHES, PER_BATCH = 8, 25


def with_streams(rng, circuit):
    """The circuit with delays, integrals and differences on some of the edges outside of its fixpoints."""
    builder, numbers = CircuitBuilder(), []
    for node in circuit.nodes:
        number = builder.add(node.operator, *(numbers[i] for i in node.inputs))
        plain = not isinstance(node.operator, ops.Sink | ops.Fixpoint) and not node.type.is_set
        if plain and rng.random() < 0.4:
            number = builder.add(rng.choice((ops.Delay(), ops.Integrate(), ops.Differentiate())), number)
        numbers.append(number)
    return builder.build()


def cases(seed):
    rng = random.Random(seed)
    circuit = random_circuit(rng, Shape(operators=8, fixpoints=2))
    epochs = random_epochs(rng, circuit, 4)
    return [circuit, incrementalize(circuit)], epochs


@pytest.mark.law("DBSP §9.3", "DBSP §10", "DBSP §10 loop entry and exit", "DBSP §10 delay on nested streams")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_circuits_and_their_incremental_forms(batch):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        circuits, epochs = cases(seed)
        for circuit in circuits:
            assert not disagreement(circuit, epochs), f"seed {seed}\n{circuit}\n{epochs}"


@pytest.mark.law("DBSP §10", "DBSP §10 delay")
def test_random_circuits_with_stream_operators():
    met = set()
    for seed in range(150):
        rng = random.Random(seed)
        circuit = with_streams(rng, random_circuit(rng, Shape(fixpoints=0, signed=True)))
        met |= {type(op) for op in circuit.operators}
        epochs = random_epochs(rng, circuit, 5, signed=True)
        assert not disagreement(circuit, epochs), f"seed {seed}\n{circuit}\n{epochs}"
    assert met >= {ops.Delay, ops.Integrate, ops.Differentiate}


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_random_circuits_with_windows():
    for seed in range(60):
        circuit, epochs = test_windows.case(seed)
        for of in (circuit, incrementalize(circuit)):
            assert not disagreement(of, epochs), f"seed {seed}\n{of}\n{epochs}"


def growing_and_shrinking_graphs(seed):
    """Epochs of insertions and deletions of edges, in graphs of eight nodes that are long and thin."""
    rng = random.Random(seed)
    edges = {(i, j) for i in range(8) for j in range(8) if 0 < j - i < 3 or j - i == -5}
    graph, epochs = set(), []
    for epoch in range(5):
        after = {edge for edge in edges if rng.random() < 0.7}
        delta = ZSet.of(after) - ZSet.of(graph)
        epochs.append({"edge": delta, "start": ZSet() if epoch else ZSet.of([(0,)])})
        graph = after
    return epochs


@pytest.mark.law("DBSP §10 loop entry and exit", "DBSP §10 delay on nested streams")
@pytest.mark.parametrize("circuit", [reached(), unreachable()], ids=["reached", "unreachable"])
def test_recursions_of_many_iterations(circuit):
    for seed in range(8):
        epochs = growing_and_shrinking_graphs(seed)
        if "node" in sources_of(circuit):
            nodes = ZSet.of((i,) for i in range(8))
            epochs = [{"edge": e["edge"], "node": nodes if e["start"] else ZSet()} for e in epochs]
        for form in (circuit, incrementalize(circuit)):
            by_steps = epochs if form is not circuit else list(integrals(epochs))
            assert not disagreement(form, by_steps), f"seed {seed}\n{epochs}"


def some_disagreement():
    circuit = incrementalize(reached())
    return any(
        by_machine(circuit, epochs) != by_interpreter(circuit, epochs)
        for epochs in map(growing_and_shrinking_graphs, range(25))
    )


def test_the_comparison_sees_loops_that_end_at_the_first_zero(monkeypatch):
    """As the loop exit of the paper does, which is right for loops over values and wrong for loops over changes."""
    before = DelayMemory.before
    monkeypatch.setattr(DelayMemory, "before", lambda self, dropped=0: None if dropped else before(self))
    assert some_disagreement()


def test_the_comparison_sees_lists_that_are_zero_after_their_end(monkeypatch):
    """As in the paper, whose nested streams are zero almost everywhere; those of a loop over values are not."""

    def before(self, dropped=0):
        values = self._before._values
        for iteration in self._time[: len(self._time) - dropped]:
            values = values[iteration] if values is not None and iteration < len(values) else None
        return values

    monkeypatch.setattr(DelayMemory, "before", before)
    assert some_disagreement()


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(40))
def test_many_random_circuits(batch, monkeypatch):
    """A fixpoint over Z-sets that are no sets may go round for ever; those few cases have no meaning to compare."""
    monkeypatch.setattr(reference, "ITERATION_LIMIT", 200)
    endless = 0
    for seed in range(100_000 + batch * 50, 100_000 + (batch + 1) * 50):
        circuits, epochs = cases(seed)
        if not ends(circuits[0], epochs):
            endless += 1
            continue
        for circuit in circuits:
            assert not disagreement(circuit, epochs), f"seed {seed}\n{circuit}\n{epochs}"
    assert endless <= 2

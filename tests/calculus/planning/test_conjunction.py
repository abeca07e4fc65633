"""Conjunctions are read as they are written, and mean what the nodes meant.

The random circuits catch a variable that two columns share by accident, one that two of them must share and do not, a
map that is read through though it copies a column twice, and a filter or an absent atom that is lost.
"""

from __future__ import annotations

import random

import pytest

from deltic.calculus.passes import optimize
from deltic.calculus.planning.conjunction import build, conjunction_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import run
from deltic.circuit.reading import parse_circuit
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs

TEXT = """
    %0 = source e : set{x: int64, y: int64}
    %1 = source f : set{y: int64}
    %2 = map [x AS y, y AS z] (%0) : set{y: int64, z: int64}
    %3 = map [y] (%2) : zset{y: int64}
    %4 = join (%0, %2, %3) : zset{x: int64, y: int64, z: int64}
    %5 = filter [x < z] (%4) : zset{x: int64, y: int64, z: int64}
    %6 = antijoin (%5, %1) : zset{x: int64, y: int64, z: int64}
    %7 = map [x AS a, x AS b] (%6) : zset{a: int64, b: int64}
    %8 = map [a AS y, b AS x] (%7) : zset{y: int64, x: int64}
    %9 = semijoin (%8, %0) : zset{y: int64, x: int64}
    %10 = sink v (%9) : zset{y: int64, x: int64}
    %11 = sink w (%6) : zset{x: int64, y: int64, z: int64}"""


def test_how_nodes_are_read():
    circuit = parse_circuit(TEXT)
    assert str(conjunction_of(circuit, 6)) == "%0(x, y), %0(y, z), %0(y, z'), !%1(y), x < z"
    assert str(conjunction_of(circuit, 9)) == "%7(y, x), %0(x, y)"
    assert str(conjunction_of(circuit, 3)) == "%0(y, z)"


def written_out(circuit):
    """The circuit with each node of a Z-set beside the conjunction that it says, as sinks."""
    builder = CircuitBuilder()
    numbers = [builder.add(n.operator, *n.inputs) for n in circuit.nodes if not isinstance(n.operator, ops.Sink)]
    for number in numbers:
        if not isinstance(circuit.nodes[number].operator, ops.Fixpoint | ops.Bracket):
            names = circuit.type_of(number).schema.names
            made = build(builder, conjunction_of(circuit, number).over(numbers), names)
            builder.add(ops.Sink(f"read {number}"), number)
            builder.add(ops.Sink(f"built {number}"), made)
    return builder.build()


def without_sinks(circuit):
    builder, numbers = CircuitBuilder(), {}
    for number, node in enumerate(circuit.nodes):
        if not isinstance(node.operator, ops.Sink):
            numbers[number] = builder.add(node.operator, *(numbers[i] for i in node.inputs))
    return builder.build()


@pytest.mark.parametrize("batch", range(4))
def test_random_nodes_and_what_is_read_of_them_are_equal(batch):
    for seed in range(batch * 25, (batch + 1) * 25):
        rng = random.Random(seed)
        circuit = random_circuit(rng, Shape(operators=12, signed=True, fixpoints=0, rich=seed % 2 == 0))
        circuit = written_out(without_sinks(optimize(circuit) if seed % 4 > 1 else circuit))
        for contents in integrals(random_epochs(rng, circuit, 2, signed=True)):
            found = run(circuit, contents)
            for name, rows in found.items():
                if name.startswith("read"):
                    assert found[name.replace("read", "built")] == rows, f"{name}\n{circuit}"

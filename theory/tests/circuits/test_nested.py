"""Changes of changes: (↑(↑Q)^Δ)^Δ on streams of streams [DBSP §5.2.3].

A body over two inputs is run at the times of a matrix, for rows that are steps and columns that are iterations.
Catches a term with the wrong rectangle of the matrix, one that is left out, and one that counts twice.
"""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.values.types import Schema, Type
from deltic_theory.groups import Z_SETS
from deltic_theory.streams import Stream, lift_repeatedly, nested_streams
from deltic_theory.streams.incremental import nested_incremental_bilinear
from tests.differential.circuits import random_row

AB, BD = Schema.of(a=Type.INT64, b=Type.INT64), Schema.of(b=Type.INT64, d=Type.INT64)
ROWS, COLUMNS = 4, 5


def body(*operators):
    """A body that joins its two imports, or applies each of the operators to the node before, at first import 0."""
    builder = CircuitBuilder(1)
    left = builder.add(ops.Import(0, ZSetType(AB)))
    if not operators:
        left = builder.add(ops.Join(), left, builder.add(ops.Import(1, ZSetType(BD))))
    for operator in operators:
        left = builder.add(operator, left)
    builder.add(ops.Sink("v"), left)
    return builder.build()


def matrix(rng, schema):
    """A nested stream of small changes of any sign."""
    return [
        [
            ZSet((random_row(rng, schema), rng.choice((-1, 1, 2))) for _ in range(rng.randint(0, 3)))
            for _ in range(COLUMNS)
        ]
        for _ in range(ROWS)
    ]


def run(circuit, *inputs):
    """The matrix of the sink's values."""
    interpreter = Interpreter(circuit, around=1)
    found = []
    for t0 in range(ROWS):
        interpreter.reset(1)
        cells = [[m[t0][t1] for m in inputs] for t1 in range(COLUMNS)]
        found.append([interpreter.step({}, cells[t1], time=(t0, t1))["v"] for t1 in range(COLUMNS)])
    return found


def nested(circuit, rewrite=push):
    """The changes in both times: at each iteration, and then at each step."""
    return rewrite(surround(rewrite(surround(circuit, 0), 0), 1), 1)


def unchanged(circuit, outer):
    return circuit


OPERATORS = {"join": (), "distinct": (ops.Distinct(),), "negate": (ops.Negate(), ops.Distinct(), ops.Distinct())}


@pytest.mark.law("DBSP §5.2.3 bilinear", "DBSP Def 4.1", "DBSP Prop 5.7")
@pytest.mark.parametrize("name", OPERATORS)
def test_changes_of_changes_are_what_they_are_by_definition(name):
    query = body(*OPERATORS[name])
    for seed in range(15):
        rng = random.Random(seed)
        inputs = matrix(rng, AB), matrix(rng, BD)
        assert run(nested(query), *inputs) == run(nested(query, unchanged), *inputs), f"seed {seed}"


def written_out(circuit):
    """The circuit with the products of each change of a join in its place, Σᵢ a₁' ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ [DBSP Thm 4.5]."""
    builder, numbers = CircuitBuilder(circuit.depth), []
    for node in circuit.nodes:
        inputs = [numbers[i] for i in node.inputs]
        numbers.append(
            products(builder, inputs[::2], inputs[1::2])
            if isinstance(node.operator, ops.JoinDelta)
            else builder.add(node.operator, *inputs)
        )
    return builder.build()


def products(builder, olds, deltas):
    news = [builder.add(ops.Plus(), *both) for both in zip(olds[:-1], deltas[:-1], strict=True)]
    terms = [builder.add(ops.Join(), *news[:i], delta, *olds[i + 1 :]) for i, delta in enumerate(deltas)]
    return builder.add(ops.Plus(), *terms)


@pytest.mark.law("DBSP §5.2.3 bilinear", "DBSP Thm 4.5")
def test_the_nested_join_has_four_products(golden):
    changed = nested(body())
    expanded = written_out(changed)
    assert sum(isinstance(op, ops.Join) for op in expanded.operators) == 4
    golden("calculus/nested-join.txt", f"{changed}\n\nwritten out:\n{expanded}")
    for seed in range(5):
        rng = random.Random(seed)
        inputs = matrix(rng, AB), matrix(rng, BD)
        assert run(expanded, *inputs) == run(changed, *inputs)


@pytest.mark.law("DBSP §5.2.3 bilinear")
@pytest.mark.parametrize("rewrite", [lambda circuit: circuit, written_out], ids=["changes", "products"])
def test_the_products_are_those_of_the_algebra(rewrite):
    expanded = rewrite(nested(body()))
    product = lift_repeatedly(
        lambda a, b: a.join(b, lambda r: r[1], lambda r: r[0], lambda r, s: (*r, s[1])), Z_SETS, 2
    )
    for seed in range(5):
        rng = random.Random(seed)
        a, b = matrix(rng, AB), matrix(rng, BD)
        wanted = nested_incremental_bilinear(product)(stream(a), stream(b))
        assert run(expanded, a, b) == [[wanted[t0][t1] for t1 in range(COLUMNS)] for t0 in range(ROWS)]


def stream(cells):
    return Stream.of(nested_streams(Z_SETS, 1), [Stream.of(Z_SETS, row) for row in cells])


def test_wrong_rectangles_are_seen():
    """One term fewer, or one in the wrong time, is another stream."""
    query = body()
    wrong = [surround(push(surround(query, 0), 0), 0), push(surround(query, 0), 0), push(surround(query, 1), 1)]
    rng = random.Random(1)
    inputs = matrix(rng, AB), matrix(rng, BD)
    right = run(nested(query), *inputs)
    assert all(run(circuit, *inputs) != right for circuit in wrong)

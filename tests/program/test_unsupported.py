"""What the local engine cannot run it refuses when it is made: catches a search without end, or a wrong view."""

from __future__ import annotations

import random

import pytest
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.calculus import DERIVATIVES, incrementalize
from deltic.calculus.report import operator_lines
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.tables import from_arrow, to_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine
from deltic.errors import UnsupportedError
from deltic.values.types import Schema, Type

S = ops.Source("s", Schema.of(x=Type.INT64, y=Type.INT64), is_set=False)
CLOCK = ops.Source("clock", Schema.of(now=Type.INT64))
SPAN = ops.FlatMap("z", "range", (column("x"), column("y")))


def sum_of_windows(b, s):
    return b.add(ops.Integrate(), b.add(ops.Window("x", 10), s, b.add(CLOCK)))


def sum_of_states(b, s):
    return b.add(ops.Integrate(), s)


def both_change(b, s):
    two = b.add(ops.Map(Schema.of(x=Type.INT64).columns, (column("x"),)), s)
    return b.add(ops.Integrate(), b.add(ops.Join(), b.add(ops.Differentiate(), s), b.add(ops.Differentiate(), two)))


def filtered(make):
    def below(b, s):
        return b.add(ops.Filter(exp.LT(this=column("x"), expression=column("y"))), make(b, s))

    below.__name__ = f"{make.__name__} filtered"
    return below


SUMS = [sum_of_windows, sum_of_states]


@pytest.mark.parametrize("make", [*SUMS, *map(filtered, SUMS)], ids=lambda make: make.__name__)
def test_sums_over_epochs(make):
    """What comes once more in each epoch; in empty ones, too."""
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), make(builder, builder.add(S)))
    circuit, rng = builder.build(), random.Random(4)
    engine, slow = IncrementalEngine(circuit), ReferenceEngine(circuit)
    for epoch in range(8):
        rows = ZSet.of((rng.randrange(30), rng.randrange(30)) for _ in range(epoch % 4))
        changes = {"s": to_arrow(rows, S.schema)}
        if make not in (sum_of_states,) and epoch % 3 == 2 and CLOCK in circuit.operators:
            changes["clock"] = to_arrow(ZSet.of([(10 + 2 * epoch,)]), CLOCK.schema)
        one, other = (e.apply(changes, "normalize").changes for e in (engine, slow))
        assert {n: from_arrow(c) for n, c in one.items()} == {n: from_arrow(c) for n, c in other.items()}
        assert from_arrow(engine.read("v", counted=True)) == from_arrow(slow.read("v", counted=True))


@pytest.mark.parametrize("make", [both_change, filtered(both_change)], ids=lambda make: make.__name__)
def test_refusals_name_the_operator_and_a_remedy(make):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), make(builder, builder.add(S)))
    with pytest.raises(UnsupportedError, match=r"^local engine: %\d+ .*Interpreter"):
        IncrementalEngine(builder.build())


def test_a_refusal():
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), both_change(builder, builder.add(S)))
    with pytest.raises(UnsupportedError) as error:
        IncrementalEngine(builder.build())
    assert str(error.value) == (
        "local engine: %2 join is not supported: deltic.circuit.oracle.interpreter.Interpreter runs it, slowly"
    )


@pytest.mark.parametrize("operator", [ops.Distinct, ops.Aggregate, ops.Join, ops.Map, ops.FlatMap])
def test_an_operator_without_a_derivative_falls_back(operator, monkeypatch):
    """In the reference interpreter; the local engine refuses it, for it has no meaning of a whole operator."""
    monkeypatch.delitem(DERIVATIVES, operator)
    applied = {
        ops.Distinct: ops.Distinct(),
        ops.Aggregate: ops.Aggregate(("x",), (ops.AggregateCall("count", "", "n"),)),
        ops.Join: ops.Join(),
        ops.Map: ops.Map(Schema.of(z=Type.INT64).columns, (column("x") + column("y"),)),
        ops.FlatMap: SPAN,
    }
    builder = CircuitBuilder()
    source = builder.add(S)
    builder.add(ops.Sink("v"), builder.add(applied[operator], *[source] * (1 + (operator is ops.Join))))
    circuit = builder.build()
    with pytest.raises(UnsupportedError, match=rf"%1 {operator.keyword}\b.* has no derivative"):
        IncrementalEngine(circuit)
    assert [*operator_lines(circuit)][-1] == f"recomputed from whole inputs: {operator.keyword} %1"
    rows = [{"s": ZSet.of([(1, 3), (2, 2)])}, {"s": ZSet.of([(1, 4)])}]
    one, other = Interpreter(incrementalize(circuit)), Interpreter(circuit)
    total = before = ZSet()
    for change in rows:
        total = total + change["s"]
        after = other.step({"s": total})["v"]
        assert one.step(change)["v"] == after - before
        before = after

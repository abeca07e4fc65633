"""Top-k and window functions that are defined while data is there, that are kept, and whose epochs are abandoned.

Catches an operator that begins without the rows of before, one that loses its order or its borders, and state that an
abandoned epoch leaves behind.
"""

from __future__ import annotations

import random

from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver

ROWS = Schema((Column("k", Type.INT64), Column("x", Type.INT64, True), Column("t", Type.STRING)))
BY = ("k",), (ops.Order("x", True, False),)
TOP = ops.Top(*BY, 2, 1)
OVER = ops.Over(
    *BY,
    (ops.WindowCall("lag", ("t",), "l", (1,)), ops.WindowCall("sum", ("x",), "s", (), ops.Frame(ops.Unit.ROWS, -1, 1))),
)
RANK = ops.Over(*BY, (ops.WindowCall("rank", (), "r"),))


def program(**views):
    """A circuit of one table with an operator for each view."""
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", ROWS, is_set=False))
    for name, operator in views.items():
        builder.add(ops.Sink(name), builder.add(operator, rows))
    return builder.build()


def random_change(rng, present, reach):
    """Rows that come, and rows that go."""
    gone = rng.sample(present, rng.randrange(len(present) // 2 + 1))
    new = [(rng.randrange(2), rng.choice((None, rng.randrange(reach))), rng.choice("abcde")) for _ in range(8)]
    for row in gone:
        present.remove(row)
    present += new
    return [(row, -1) for row in gone] + [(row, 1) for row in new]


def test_definitions_come_and_go_while_data_is_there():
    rng = random.Random(1)
    steps = [{"a": TOP}, {"a": TOP, "b": OVER}, {"b": OVER, "c": RANK}, {"a": TOP, "b": OVER}, {"d": OVER, "e": TOP}]
    first = program(**steps[0])
    local, reference = (Driver(make(first), first) for make in (IncrementalEngine, ReferenceEngine))
    present = []
    for number, views in enumerate(steps):
        if number:
            assert local.extend(program(**views)) == reference.extend(program(**views))
        for _ in range(3):
            change = random_change(rng, present, 4**number + 3)
            assert local.changes({"s": change}) == reference.changes({"s": change})
            assert local.everything() == reference.everything()


def test_an_abandoned_epoch_leaves_nothing_behind():
    rng, circuit = random.Random(2), program(a=TOP, b=OVER, c=RANK)
    local, reference = (Driver(make(circuit), circuit) for make in (IncrementalEngine, ReferenceEngine))
    present = []
    for number in range(12):
        with local.engine.prepare({"s": local.batch("s", random_change(rng, present.copy(), 50**number % 10**15 + 1))}):
            pass
        change = random_change(rng, present, 9)
        assert local.changes({"s": change}) == reference.changes({"s": change})
        assert local.everything() == reference.everything()

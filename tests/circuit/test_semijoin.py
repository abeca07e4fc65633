"""The semijoin, from its rows to the engine: what has a match, once, and as long as the match is there.

Catches a weight that is multiplied by matches, rows that stay when their match goes, and a recursion that refuses it.
"""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import run
from deltic.circuit.reading import parse_circuit
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.errors import CircuitError
from deltic.values.types import Schema, Type
from tests.calculus.streams import check
from tests.differential.circuits import random_epochs
from tests.differential.compare import first_disagreement

ROWS = ops.Source("r", Schema.of(a=Type.INT64, b=Type.INT64), is_set=False)
KEYS = ops.Source("k", Schema.of(b=Type.INT64))


def semijoin(rows: ops.Source = ROWS, keys: ops.Source = KEYS):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Semijoin(), builder.add(rows), builder.add(keys)))
    return builder.build()


def reachable():
    """What r leads to from k, through rows whose end is in k."""
    body = CircuitBuilder(1)
    edges, keys = (body.add(ops.Import(i, ZSetType(s.schema, True))) for i, s in enumerate((ROWS, KEYS)))
    found = body.add(ops.Feedback("p", ROWS.schema))
    step = body.add(ops.Map.of_defined(ROWS.schema.columns, (column("b"), column("a")), ROWS.schema), found)
    kept = body.add(ops.Semijoin(), body.add(ops.Plus(), edges, step), keys)
    body.add(ops.Sink("p"), body.add(ops.Distinct(), kept))
    builder = CircuitBuilder()
    inputs = builder.add(ops.Distinct(), builder.add(ROWS)), builder.add(KEYS)
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), builder.add(ops.Fixpoint(body.build()), *inputs)))
    return builder.build()


def test_rows_with_a_match_keep_their_weights():
    rows = {"r": ZSet({(1, 2): 3, (1, 3): -1, (2, 4): 1}.items()), "k": ZSet.of([(2,), (3,)])}
    assert run(semijoin(), rows)["v"] == ZSet({(1, 2): 3, (1, 3): -1}.items())


def test_its_text_is_read_back():
    assert parse_circuit(str(semijoin())) == semijoin()
    assert parse_circuit(str(incrementalize(semijoin()))) == incrementalize(semijoin())


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (ops.Source("k", KEYS.schema, is_set=False), "its second input must be a set; put a distinct before it"),
        (ops.Source("k", Schema.of(z=Type.INT64)), "column z: int64 of the second input is not in the first"),
        (ops.Source("k", Schema.of(b=Type.STRING)), "column b: string of the second input is not in the first"),
    ],
)
def test_what_it_cannot_take(keys, reason):
    with pytest.raises(CircuitError, match=reason):
        semijoin(keys=keys)


@pytest.mark.law("DBSP Thm 4.5")
@pytest.mark.parametrize("make", [semijoin, reachable], ids=["alone", "in a recursion"])
def test_its_change_is_differentiate_after_query_after_integrate(make):
    for seed in range(20):
        check(make(), random_epochs(random.Random(seed), make(), 4))


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("make", [semijoin, reachable], ids=["alone", "in a recursion"])
def test_the_engine_agrees_with_the_reference(make, strategy):
    source = ops.Source("r", ROWS.schema)
    for seed in range(10):
        rng = random.Random(seed)
        circuit = make() if make is reachable else semijoin(rows=source)
        epochs = [
            {
                "r": frozenset((rng.randint(0, 4), rng.randint(0, 4)) for _ in range(rng.randint(0, 9))),
                "k": frozenset((rng.randint(0, 4),) for _ in range(rng.randint(0, 4))),
            }
            for _ in range(4)
        ]
        assert first_disagreement(circuit, epochs, lambda c: IncrementalEngine(c, strategy)) is None

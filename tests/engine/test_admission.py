"""Recursions whose values are looked at in their own order, see `circuit.improving`.

This catches a recursion that is taken for one whose values only improve and is not, so that another fixpoint is found
than by iteration; histories that differ between an update and a computation from nothing; and a recursion without an
end that is not told apart from one that goes from value to value.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit
from deltic.circuit.improving import improves
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.admission import DOUBLES, ITERATION_BITS, LEAST, SINGLES, admissions
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.storage.codec import order_floats, order_singles
from deltic.errors import IterationLimitError
from deltic.values.types import Column, Schema, Type
from tests.engine.signed_bodies import BODIES, Body, Row, labels, random_changes, shortest, weighted
from tests.engine.test_signed import INCREMENTAL, batches, entries, follow, views

# Vectors and compiled code, and both in turn.
WAYS = {"vectors": DEFAULTS._replace(most_waiting=-1), "compiled": DEFAULTS, "in turn": DEFAULTS._replace(allowance=2)}
UNIVERSE = {"e": weighted((-2, 1, 2, 7, 200)), "f": weighted((1, 30))}


def body_of(circuit: Circuit) -> Circuit:
    return next(op.body for op in circuit.operators if isinstance(op, ops.Fixpoint))


def random_bounds(rng: random.Random) -> Circuit:
    """A relation of least or greatest values, another one of sets that reads it and is read by it, or the like."""
    b = Body()
    e, f = b.table("e", "x", "y", "w"), b.table("f", "x", "y", "w")
    best, seen = b.feedback("best", "x", "d"), b.feedback("seen", "x")
    pick = rng.choice(("min", "max"))

    def value(one: str, other: str) -> exp.Expression:
        kinds = (exp.Add, exp.Add, exp.Sub, exp.Least, exp.Greatest)
        kind = rng.choice(kinds)
        if kind in (exp.Least, exp.Greatest):
            return kind(this=column(one), expressions=[column(other)])
        return kind(this=column(one), expression=column(other))

    def within(number: int) -> int:
        """Of values beyond a limit, most often on the far side, nothing comes."""
        kept = (exp.LT, exp.LTE) if pick == "min" else (exp.GT, exp.GTE)
        kind = rng.choice(kept if rng.random() < 0.85 else (exp.LT, exp.GT, exp.EQ))
        return b.filter(number, kind(this=column("d"), expression=literal(rng.choice((-20, 3, 60)), Type.INT64)))

    step = b.map(b.join(best, rng.choice((e, f))), x="y", d=value("d", "w"))
    starts = [b.map(f, x="x", d="w"), b.map(b.join(seen, f), x="y", d="w")]
    offers = b.plus(*rng.sample(starts, rng.choice((1, 2))), within(step))
    if rng.random() < 0.3:
        offers = b.plus(offers, b.map(b.join(b.map(best, x="x", c="d"), best), x="x", d=value("c", "d")))
    if rng.random() < 0.5:
        offers = b.distinct(offers)
    found = b.aggregate(offers, ["x"], pick, "d", "d")
    if rng.random() < 0.5:
        found = b.distinct(b.join(found, b.map(e, x="x")), b.map(f, x="y", d="w"))
    reached = b.map(within(found if rng.random() < 0.5 else best), x="x")
    beyond = b.map(b.join(seen, e), x="y")
    others = b.distinct(reached, beyond) if rng.random() < 0.8 else b.without(b.distinct(beyond), b.distinct(reached))
    return b.circuit(best=found if found != offers else b.distinct(found), seen=others)


def check_random(seed: int) -> bool:
    """Compare with the reference, and histories with those of a computation from nothing; whether values improve."""
    rng = random.Random(seed)
    circuit = random_bounds(rng)
    thresholds = WAYS[rng.choice(sorted(WAYS))]
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=40, thresholds=thresholds)
    follow(circuit, engine, list(random_changes(rng, UNIVERSE, 4, most=5)))
    begun = IncrementalEngine(circuit, iteration_limit=40)
    begun.apply({t: engine.read(t, table=True, counted=True) for t in engine.program.tables})
    assert entries(engine) == entries(begun), f"seed {seed}\n{circuit}"
    return improves(body_of(circuit))


def test_random_bounds() -> None:
    assert sum(check_random(seed) for seed in range(30, 50)) > 8


@pytest.mark.slow
def test_many_random_bounds() -> None:
    assert sum(check_random(seed) for seed in range(100, 500)) > 200


IMPROVING = {"shortest", "labels"}


def test_which_bodies_improve() -> None:
    assert {name for name, body in BODIES.items() if improves(body_of(body.make()))} == IMPROVING


def _paths(change: Callable[[Body, int], int] = lambda b, number: number, pick: str = "min") -> Circuit:
    """Shortest paths with something else on the way from one node to the next."""
    b = Body()
    edge, dist = b.table("edge", "x", "y", "w"), b.feedback("dist", "x", "d")
    length = exp.Add(this=column("d"), expression=column("w"))
    step = change(b, b.map(b.join(dist, edge), x="y", d=length))
    return b.circuit(dist=b.aggregate(b.plus(b.map(edge, x="x", d="w"), step), ["x"], pick, "d", "d"))


def _kept(kind: type[exp.Expression]) -> Callable[[Body, int], int]:
    """Only the values that compare so with a constant."""
    condition = kind(this=column("d"), expression=literal(9, Type.INT64))
    return lambda b, number: b.filter(number, condition)


@pytest.mark.parametrize(
    ("circuit", "expected"),
    [
        (_paths(), True),
        (_paths(_kept(exp.LT)), True),
        (_paths(_kept(exp.GTE)), False),
        (_paths(_kept(exp.EQ)), False),
        (_paths(_kept(exp.GTE), "max"), True),
        (_paths(pick="sum"), False),
        (_paths(lambda b, n: b.map(n, x="x", d=exp.Neg(this=column("d")))), False),
        (_paths(lambda b, n: b.map(n, x="d", d="d")), False),
        (_paths(lambda b, n: b.map(n, x="d", d="x")), False),
        (_paths(lambda b, n: b.join(n, b.map(n, d="d"))), False),
        (_paths(lambda b, n: b.aggregate(n, ["x"], "max", "d", "d")), False),
        (_paths(lambda b, n: b.map(n, x="x", d=exp.Sub(this=column("d"), expression=column("x")))), True),
        (_paths(lambda b, n: b.map(n, x="x", d=exp.Sub(this=column("x"), expression=column("d")))), False),
    ],
)
def test_what_improves(circuit: Circuit, expected: bool) -> None:
    assert improves(body_of(circuit)) == expected


def test_a_bound_that_comes_back_to_itself_without_an_aggregate_does_not_improve() -> None:
    """`seen` would keep distances that were there once."""
    b = Body()
    edge, dist, seen = b.table("edge", "x", "y", "w"), b.feedback("dist", "x", "d"), b.feedback("seen", "x", "d")
    passed = b.map(b.join(seen, edge), x="y", d="d")
    least = b.aggregate(b.plus(b.map(edge, x="x", d="w"), passed), ["x"], "min", "d", "d")
    circuit = b.circuit(dist=least, seen=b.distinct(dist, passed))
    assert not improves(body_of(circuit))
    follow(circuit, IncrementalEngine(circuit), list(random_changes(random.Random(1), {"edge": UNIVERSE["e"]}, 4)))


def test_lengths_that_are_not_known() -> None:
    b = Body()
    edge = b.table("e", "x", "y", "w")
    columns = (Column("x", Type.INT64), Column("d", Type.INT64, nullable=True))
    dist = b.builder.add(ops.Feedback("dist", Schema(columns)))
    first = b.builder.add(ops.Map(columns, (column("y"), unless_seven("w"))), edge)
    length = exp.Add(this=column("d"), expression=column("w"))
    step = b.builder.add(ops.Map(columns, (column("y"), length)), b.join(dist, edge))
    circuit = b.circuit(dist=b.aggregate(b.plus(first, step), ["x"], "min", "d", "d"))
    assert improves(body_of(circuit))
    for seed, thresholds in enumerate(WAYS.values()):
        engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=40, thresholds=thresholds)
        follow(circuit, engine, list(random_changes(random.Random(seed), {"e": weighted((1, 7, 9))}, 4)))
        begun = IncrementalEngine(circuit)
        begun.apply({"e": engine.read("e", table=True, counted=True)})
        assert entries(engine) == entries(begun)


def test_the_least_and_the_greatest_of_all_numbers_and_null() -> None:
    b = Body()
    edge = b.table("e", "x", "y", "w")
    columns = (Column("x", Type.INT64), Column("d", Type.INT64, nullable=True))
    dist = b.builder.add(ops.Feedback("dist", Schema(columns)))
    first = b.builder.add(ops.Map(columns, (column("y"), unless_seven("w"))), edge)
    step = b.builder.add(ops.Map(columns, (column("y"), column("d"))), b.join(dist, edge))
    circuit = b.circuit(dist=b.aggregate(b.plus(first, step), ["x"], "min", "d", "d"))
    for seed, thresholds in enumerate(WAYS.values()):
        engine = IncrementalEngine(circuit, refresh=INCREMENTAL, thresholds=thresholds)
        follow(
            circuit,
            engine,
            list(random_changes(random.Random(seed), {"e": weighted((-(1 << 63), (1 << 63) - 1, 7))}, 4)),
        )


@pytest.mark.parametrize("type_", [Type.FLOAT64, Type.FLOAT32], ids=str)
@pytest.mark.parametrize("pick", ["min", "max"])
def test_floats_are_looked_at_in_their_own_order(type_: Type, pick: str) -> None:
    """Values that grow along a path: by iteration, nodes would have other ones again and again."""
    b, count = Body(), 16
    schema = Schema((Column("x", Type.INT64), Column("y", Type.INT64), Column("w", type_)))
    values = Schema((Column("x", Type.INT64), Column("d", type_)))
    b.tables["e"] = schema
    edge = b.builder.add(ops.Import(0, ZSetType(schema, is_set=True)))
    best = b.builder.add(ops.Feedback("best", values))
    first = b.builder.add(ops.Map(values.columns, (column("y"), column("w"))), edge)
    handed = b.builder.add(ops.Map(values.columns, (column("y"), column("d"))), b.join(best, edge))
    circuit = b.circuit(best=b.aggregate(b.plus(first, handed), ["x"], pick, "d", "d"))
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    rows: list[Row] = [(x, x + 1, (1 if pick == "min" else -1) * 3.0**x / 7) for x in range(-count, count)]
    follow(circuit, engine, [{"e": dict.fromkeys(rows, 1)}, {"e": {rows[3]: -1, rows[20]: -1}}, {"e": {rows[3]: 1}}])
    assert sum(len(engine.executor.running.states[name].contents) for name in engine.program.recursive) < 10 * len(rows)


def unless_seven(name: str) -> exp.Expression:
    """The column, NULL for 7."""
    other = exp.NEQ(this=column(name), expression=literal(7, Type.INT64))
    return exp.Case(ifs=[exp.If(this=other, true=column(name))])


def test_what_does_not_recur_is_seen_whole() -> None:
    """Though it is in the body: a count that grew with the iterations would be another one on the way."""
    b = Body()
    edge, dist = b.table("e", "x", "y", "w"), b.feedback("dist", "x", "d")
    calls = (ops.AggregateCall("count", "", "n"), ops.AggregateCall("min", "w", "w"))
    alone = b.filter(b.builder.add(ops.Aggregate(("x",), calls), edge), exp.EQ(this=column("n"), expression=ONE))
    step = b.map(b.join(dist, b.map(edge, x="x", y="y")), x="y", d="d")
    circuit = b.circuit(dist=b.aggregate(b.plus(b.map(alone, x="x", d="w"), step), ["x"], "min", "d", "d"))
    assert improves(body_of(circuit))
    changes = random_changes(random.Random(2), {"e": UNIVERSE["e"]}, 5)
    assert not follow(circuit, IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=40), list(changes))


ONE = literal(1, Type.INT64)


def test_ranks_rise_with_values_and_near_zero_each_has_its_own() -> None:
    rng = random.Random(1)
    far = [sign * rng.randrange(1 << bits) for bits in range(1, 64) for sign in (-1, 1) for _ in range(20)]
    values = sorted({*range(-300, 300), *far, -(1 << 63), (1 << 63) - 1})
    least, greatest = (admissions(np.array(values), order) for order in (1, 0))
    assert (np.diff(least) >= 0).all()
    assert (np.diff(greatest) <= 0).all()
    assert (np.diff(least[values.index(-128) : values.index(128) + 1]) == 1 << ITERATION_BITS).all()
    for found in (least, greatest):
        assert found.min() >= 0
        assert found.max() < (1 << 31) - (1 << ITERATION_BITS)


@pytest.mark.parametrize(("order", "encode"), [(DOUBLES, order_floats), (SINGLES, order_singles)])
def test_ranks_rise_with_floats(order: int, encode: Callable[[Any], Any]) -> None:
    rng = random.Random(1)
    floats = sorted([0.0, math.inf, -math.inf, *(rng.choice((-1, 1)) * 2 ** rng.uniform(-40, 40) for _ in range(1000))])
    values_of = np.float64 if order == DOUBLES else np.float32
    values = encode(np.array(floats, values_of)).astype(np.int64)
    least, greatest = admissions(values, LEAST | order), admissions(values, order)
    assert (np.diff(least) >= 0).all()
    assert (np.diff(greatest) <= 0).all()
    near = encode(np.array([1 + x / 64 for x in range(64)], values_of)).astype(np.int64)
    assert (np.diff(admissions(near, LEAST | order)) == 1 << ITERATION_BITS).all()


def test_least_labels_of_a_chain_cost_its_length() -> None:
    """Each node but the first hands on one label; by iteration, as many as there are nodes before it."""
    circuit, count = labels(), 300
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    edges: list[Row] = [(x, x + 1) for x in range(count - 1)]
    load = {"node": dict.fromkeys([(x,) for x in range(count)], 1), "edge": dict.fromkeys(edges, 1)}
    assert engine.apply(batches(circuit, load)).rows_visited < 100 * count
    for weight in (-1, 1):
        assert engine.apply(batches(circuit, {"edge": {edges[100]: weight}})).rows_visited < 300 * count
    assert sum(len(engine.executor.running.states[name].contents) for name in engine.program.recursive) < 10 * count
    assert views(engine, circuit)["label"].support() == {(x, 0) for x in range(count)}


@pytest.mark.parametrize("thresholds", WAYS.values(), ids=WAYS)
def test_a_circle_of_falling_values_has_no_end(thresholds: Thresholds) -> None:
    circuit = shortest()
    engine = IncrementalEngine(circuit, iteration_limit=100, thresholds=thresholds)
    paths: dict[Row, int] = {(x, x + 1, 500): 1 for x in range(20)}
    engine.apply(batches(circuit, {"source": {(0,): 1}, "edge": paths}))
    before = views(engine, circuit)
    assert max(d for _, d in before["dist"].support()) == 10_000
    with pytest.raises(IterationLimitError, match="has no end after 100 iterations"):
        engine.apply(batches(circuit, {"edge": {(9, 3, -5000): 1}}))
    assert views(engine, circuit) == before

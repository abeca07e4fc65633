"""Recursions inside of recursions: flattened where that is sound, else followed from iteration to iteration.

This catches a fixpoint that is flattened though what reads it falls when it grows, or though it is none of sets, and
one that is looked at anew for all rows where little has changed. The oracle is the reference engine on the circuit as
it is written.
"""

from __future__ import annotations

import random

import pytest

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.program.histories import Nested
from tests.engine.signed_bodies import RANDOM, Body, random_changes
from tests.engine.test_signed import INCREMENTAL, LIMIT, batches, follow


class Inner(Body):
    """The body of a fixpoint inside of another: of one recursive relation over pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = CircuitBuilder(2)

    def given(self, index: int, type_: ZSetType) -> int:
        return self.builder.add(ops.Import(index, type_))

    def inside(self, around: Body, number: int, *inputs: int) -> int:
        """The relation of the fixpoint of this body in another."""
        self.builder.add(ops.Sink("r"), self.distinct(number))
        bundle = around.builder.add(ops.Fixpoint(self.builder.build()), *inputs)
        return around.builder.add(ops.BundleRelation("r"), bundle)


def composed(b: Body, one: int, other: int) -> int:
    return b.map(b.join(b.map(one, x="x", z="y"), b.map(other, z="x", y="y")), x="x", y="y")


def random_nested(rng: random.Random) -> tuple[Circuit, bool]:
    """A recursion with one inside it, and whether both only grow."""
    b = Body()
    e, f, p = b.table("e", "x", "y"), b.table("f", "x", "y"), b.feedback("p", "x", "y")
    start = rng.choice((p, b.distinct(composed(b, p, f)), b.distinct(p, e), f))
    taken = rng.choice((None, None, e, p))
    inner = Inner()
    types = [b.builder.type_of(start), b.builder.type_of(e)]
    own, moves = (inner.given(i, t) for i, t in enumerate(types) if isinstance(t, ZSetType))
    r = inner.feedback("r", "x", "y")
    longer = composed(inner, r, moves)
    inputs = [start, e]
    if taken is not None:
        type_ = b.builder.type_of(taken)
        assert isinstance(type_, ZSetType)
        longer = inner.without(longer, inner.given(2, type_))
        inputs.append(taken)
    found = inner.inside(b, inner.plus(own, longer), *inputs)
    falls = taken is p
    kind = rng.choice(("plus", "swap", "join", "without", "twice"))
    if kind == "without":
        found, falls = b.without(b.map(e, x="y", y="x"), found), True
    elif kind == "swap":
        found = b.map(found, x="y", y="x")
    elif kind == "join":
        found = composed(b, found, p)
    elif kind == "twice":
        found = b.without(e, b.distinct(b.without(e, found)))
    return b.circuit(p=b.distinct(f, found)), not falls


def check(seed: int) -> bool:
    rng = random.Random(seed)
    circuit, grows = random_nested(rng)
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
    is_nested = any(isinstance(r.definition, Nested) for r in engine.program.relations.values())
    assert is_nested != grows, f"seed {seed}\n{circuit}"
    follow(circuit, engine, list(random_changes(rng, RANDOM, 4, most=4)))
    return is_nested


def test_random_nested_recursions() -> None:
    assert {check(seed) for seed in range(12)} == {False, True}


@pytest.mark.slow
def test_many_random_nested_recursions() -> None:
    for seed in range(100, 400):
        check(seed)


def test_a_change_of_a_flat_one_costs_what_it_reaches() -> None:
    """A chain through which the inner one goes, and at whose end the outer one begins anew."""
    b = Body()
    e, f, p = b.table("e", "x", "y"), b.table("f", "x", "y"), b.feedback("p", "x", "y")
    type_ = b.builder.type_of(p)
    assert isinstance(type_, ZSetType)
    inner = Inner()
    own, moves, r = inner.given(0, type_), inner.given(1, type_), inner.feedback("r", "x", "y")
    found = inner.inside(b, inner.plus(own, composed(inner, r, moves)), p, e)
    circuit = b.circuit(p=b.distinct(f, composed(b, found, f)))
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    engine.apply(batches(circuit, {"e": {(x, x + 1): 1 for x in range(90)}, "f": {(x, x): 1 for x in range(0, 90, 9)}}))
    result = engine.apply(batches(circuit, {"e": {(200, 201): 1}, "f": {(200, 200): 1}}))
    assert result.rows_visited < 100

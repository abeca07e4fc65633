"""Operators of a user's own inside recursions: computed anew, by derivatives and by states, monotone or not.

This catches an operator that is looked at too seldom, a derivative that gets the values of another iteration, a state
that goes on from an epoch that was taken back, and what an operator makes of nothing. The oracle is the reference
engine, which iterates from nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

import deltic
from deltic import ZSet
from deltic.circuit.custom import CustomOperator
from deltic.engine.engine import IncrementalEngine
from deltic.engine.refresh import Policy, Refresh
from deltic.errors import EvaluationError, IterationLimitError, UnsupportedError
from tests.conformance.engines import on_shards
from tests.engine.reopening import Reopening
from tests.engine.signed_bodies import RANDOM, Body, random_body, random_changes
from tests.engine.test_signed import INCREMENTAL, LIMIT, batches, entries, follow, views

PAIR = {"x": "int64", "y": "int64"}
ONE = {"takes": [PAIR], "gives": PAIR}
TWO = {"takes": [PAIR, PAIR], "gives": PAIR}


def composed(a, b):
    """Monotone, and linear in each."""
    return ZSet(((x, z), v * w) for (x, y), v in a for (u, z), w in b if y == u and x != z)


def change_of_composed(a, b):
    return composed(a.delta, b.old) + composed(a.new, b.delta)


def swapped(a):
    """Linear."""
    return ZSet(((y, x), w) for (x, y), w in a)


def greatest(a):
    """Not monotone: what has the greatest y of all."""
    most = max((y for (_, y), w in a if w > 0), default=None)
    return ZSet(((x, y), 1) for (x, y), w in a if w > 0 and y == most)


def missing(a, b):
    """Falls with b."""
    there = {x for (x, _), w in b if w > 0}
    return ZSet((row, 1) for row, w in a if w > 0 and row[0] not in there)


def counted(a):
    """There is a row even of nothing."""
    return {(0, sum(w > 0 for _, w in a) % 4): 1}


def change_of_missing(a, b):
    return missing(a.new, b.new) - missing(a.old, b.old)


class Counting:
    """The state of `counted`."""

    def __init__(self):
        self.weights = Counter()

    def update(self, a):
        before = self._result()
        for row, weight in a:
            self.weights[row] += weight
        return self._result() - before

    def _result(self):
        return ZSet({(0, sum(w > 0 for w in self.weights.values()) % 4): 1})


class Composing:
    """The state of `composed`."""

    def __init__(self):
        self.a, self.b = ZSet(), ZSet()

    def update(self, a, b):
        found = composed(a, self.b)
        self.a += a
        found += composed(self.a, b)
        self.b += b
        return found


def operators() -> list[CustomOperator]:
    return [
        deltic.operator(composed, name="anew", **TWO),
        deltic.operator(composed, name="derived", derivative=change_of_composed, **TWO),
        deltic.operator(composed, name="stateful", state=Composing, **TWO),
        deltic.operator(swapped, name="swapped", derivative=lambda a: swapped(a.delta), **ONE),
        deltic.operator(greatest, **ONE),
        deltic.operator(missing, **TWO),
        deltic.operator(missing, name="missed", derivative=change_of_missing, **TWO),
        deltic.operator(counted, **ONE),
        deltic.operator(counted, name="counting", state=Counting, **ONE),
    ]


def test_the_operators_keep_the_law() -> None:
    for custom in operators():
        if custom.is_maintained:
            deltic.check_derivative(custom, examples=5)


def check(seed: int) -> int:
    rng = random.Random(seed)
    circuit = random_body(rng, operators())
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL, iteration_limit=LIMIT)
    changes = list(random_changes(rng, RANDOM, 4, most=4))
    rejected = follow(circuit, engine, changes)
    if rejected == len(changes):
        return rejected  # it has no fixpoint even of nothing
    begun = IncrementalEngine(circuit, iteration_limit=LIMIT)
    begun.apply({t: engine.read(t, table=True, counted=True) for t in engine.program.tables})
    assert entries(engine) == entries(begun), f"seed {seed}\n{circuit}"
    return rejected


def test_random_bodies() -> None:
    assert sum(map(check, range(8))) < 16


@pytest.mark.slow
def test_many_random_bodies() -> None:
    for seed in range(100, 250):
        check(seed)


@pytest.mark.parametrize("make", [Reopening, partial(on_shards, shards=3)])
def test_elsewhere(make: Callable[..., IncrementalEngine]) -> None:
    """A state that is written and read again, in which states are made anew, and one shard of several."""
    for seed in (5, 9):
        rng = random.Random(seed)
        circuit = random_body(rng, operators())
        engine = make(circuit, iteration_limit=LIMIT)
        follow(circuit, engine, list(random_changes(rng, RANDOM, 4, most=4)))


def test_what_an_epoch_that_is_taken_back_told_a_state_is_forgotten() -> None:
    b = Body()
    edges, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
    (custom,) = (o for o in operators() if o.name == "stateful")
    circuit = b.circuit(p=b.distinct(edges, b.apply(custom, p, edges)))
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    for change in random_changes(random.Random(4), {"e": RANDOM["e"]}, 5):
        before = entries(engine), views(engine, circuit)
        with engine.prepare(batches(circuit, {"e": {(0, 1): 1, (1, 2): 1}}), "normalize"):
            pass
        assert (entries(engine), views(engine, circuit)) == before
        engine.apply(batches(circuit, change), "normalize")
    begun = IncrementalEngine(circuit)
    begun.apply({"e": engine.read("e", table=True, counted=True)})
    assert entries(engine) == entries(begun)


def test_a_derivative_is_asked_for_the_change_alone() -> None:
    """The work of a change that is far from the other rows does not grow with these."""
    seen = []

    def told(a):
        seen.append(len(a.delta))
        return swapped(a.delta)

    b = Body()
    given, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
    own = deltic.operator(swapped, name="told", derivative=told, **ONE)
    circuit = b.circuit(p=b.distinct(given, b.apply(own, p)))
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    engine.apply(batches(circuit, {"e": {(x, x + 1): 1 for x in range(500)}}))
    seen.clear()
    engine.apply(batches(circuit, {"e": {(900, 901): 1}}))
    assert sum(seen) <= 6


def test_an_error_names_the_operator_and_leaves_no_trace() -> None:
    def fails(a):
        return {(12 // x, y): w for (x, y), w in a}

    b = Body()
    edges, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
    own = deltic.operator(fails, **ONE)
    circuit = b.circuit(p=b.distinct(edges, b.apply(own, p)))
    engine = IncrementalEngine(circuit, refresh=INCREMENTAL)
    engine.apply(batches(circuit, {"e": {(3, 4): 1}}))
    before = entries(engine)
    with pytest.raises(EvaluationError, match="operator fails raised ZeroDivisionError"):
        engine.apply(batches(circuit, {"e": {(0, 4): 1}}))
    assert entries(engine) == before


def test_one_that_goes_round_in_circles_is_found() -> None:
    """What is missing from itself."""
    b = Body()
    edges, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
    (custom,) = (o for o in operators() if o.name == "missed")
    circuit = b.circuit(p=b.distinct(b.apply(custom, edges, p)))
    with pytest.raises(IterationLimitError, match=r"it is as it was 2 before.*come and go p\(1, 2\)"):
        IncrementalEngine(circuit).apply(batches(circuit, {"e": {(1, 2): 1}}))


def test_strict_refuses_one_without_a_derivative() -> None:
    strict = Refresh(Policy.INCREMENTAL, strict=True)
    for custom in operators():
        b = Body()
        edges, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
        circuit = b.circuit(p=b.distinct(edges, b.apply(custom, p, *[edges] * (len(custom.takes) - 1))))
        if custom.is_maintained:
            IncrementalEngine(circuit, refresh=strict)
        else:
            with pytest.raises(UnsupportedError, match=f"operator {custom.name} has no derivative"):
                IncrementalEngine(circuit, refresh=strict)


def test_explain(golden: Callable[[str, str], None]) -> None:
    b = Body()
    edges, p = b.table("e", "x", "y"), b.feedback("p", "x", "y")
    made = {o.name: o for o in operators()}
    longer = b.apply(made["derived"], p, b.apply(made["stateful"], p, edges))
    circuit = b.circuit(p=b.distinct(edges, longer, b.apply(made["greatest"], p)))
    golden("engine/signed-own.txt", IncrementalEngine(circuit).explain("p"))

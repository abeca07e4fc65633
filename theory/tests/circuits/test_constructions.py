"""Circuits made of others [DBSP §8]: catches a delay too many, a match that is redone, and state that grows with time.

Each is compared with its definition over Python Z-sets on random signed streams, its incremental form with D ∘ Q ∘ I,
and the three meanings of circuits with each other.
"""

from __future__ import annotations

import random

import pytest
from theory.tests.circuits.meanings import disagreement

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.constructions import delayed, last_steps, matches, while_changing
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.errors import CircuitError
from deltic.values.types import Column, Schema, Type
from tests.calculus.nested import NestedInterpreter
from tests.calculus.streams import check
from tests.circuit.examples import XY, YZ, X, rename
from tests.circuit.meanings import by_interpreter
from tests.differential.circuits import integrals

BAG, OTHER = ops.Source("s", XY, is_set=False), ops.Source("t", YZ, is_set=False)
EVENTS = ops.Source("events", Schema.of(ts=Type.INT64, x=Type.INT64), is_set=False)


def circuit(make, *sources):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), make(builder, *map(builder.add, sources)))
    return builder.build()


def convolution(builder, number, parts):
    """Σᵢ Tᵢ(z⁻ⁱ(s)), a convolution filter over the last steps; the first part applies to the newest step."""
    return builder.add(ops.Plus(), *(part(builder, delayed(builder, number, i)) for i, part in enumerate(parts)))


def stream_join(builder, changes, data):
    """T(s, t) = I(s) ⋈ t, for the changes s of a relation and a data stream t; each data row is matched once."""
    return builder.add(ops.Join(), builder.add(ops.Integrate(), changes), data)


def signed(rng, arity, values=3):
    return ZSet((tuple(rng.randrange(values) for _ in range(arity)), rng.choice((-1, 1, 2))) for _ in range(4))


def epochs_of(seed, *names, count=6):
    rng = random.Random(seed)
    return [{name: signed(rng, 2) for name in names} for _ in range(count)]


def values(of, epochs):
    return [step["v"] for step in by_interpreter(of, epochs)]


def check_all(of, epochs):
    """All meanings agree on the circuit and on its incremental form, which is D ∘ Q ∘ I."""
    assert not disagreement(of, epochs)
    assert not disagreement(incrementalize(of), epochs)
    check(of, epochs)


def at(stream, t):
    return stream[t] if t >= 0 else ZSet()


def state(interpreter):
    """How many rows an interpreter keeps from one step to the next."""
    return sum(rows(memory._now._values) for memory in interpreter._memories.values())


def rows(kept):
    """How many rows there are in what a node keeps: nothing, a Z-set, or several."""
    return sum(map(rows, kept)) if isinstance(kept, tuple) else len(kept or ())


def growth(of, epochs):
    """The kept rows after each step."""
    interpreter, sizes = Interpreter(of), []
    for epoch in epochs:
        interpreter.step(epoch)
        sizes.append(state(interpreter))
    return sizes


# Delays and windows of steps


@pytest.mark.law("DBSP §8.3")
@pytest.mark.parametrize("steps", range(4))
def test_delay_by_steps(steps):
    of = circuit(lambda b, s: delayed(b, s, steps), BAG)
    for seed in range(5):
        epochs = epochs_of(seed, "s")
        assert values(of, epochs) == [at([e["s"] for e in epochs], t - steps) for t in range(6)]
        check_all(of, epochs)


def scaled(weight):
    return lambda b, n: b.add(ops.Plus(), *[n] * weight)


@pytest.mark.law("DBSP §8.5 fixed windows", "DBSP §8.3")
def test_a_convolution():
    weights = (3, 1, 2, 4)
    of = circuit(lambda b, s: convolution(b, s, list(map(scaled, weights))), BAG)
    for seed in range(5):
        epochs = epochs_of(seed, "s")
        stream = [e["s"] for e in epochs]
        expected = [sum((w * at(stream, t - i) for i, w in enumerate(weights)), ZSet()) for t in range(6)]
        assert values(of, epochs) == expected
        assert values(incrementalize(of), epochs) == expected  # it is linear and time-invariant
        check_all(of, epochs)


@pytest.mark.law("DBSP §8.5 fixed windows")
def test_a_window_of_steps_keeps_its_steps_alone():
    of = circuit(lambda b, s: last_steps(b, s, 3), EVENTS)
    for seed in range(5):
        epochs = epochs_of(seed, "events")
        stream = [e["events"] for e in epochs]
        contents = values(of, list(integrals(epochs)))
        assert contents == [sum((at(stream, t - i) for i in range(3)), ZSet()) for t in range(6)]
        check_all(of, epochs)
    sizes = growth(incrementalize(of), ticks(100))
    assert max(sizes) <= 8


def ticks(count):
    """A stream of events without end, two in each step."""
    return [{"events": ZSet.of([(t, 0), (t, 1)])} for t in range(count)]


# Windows of timestamps


def recent(length):
    """The window of the events whose latest is the time."""

    def make(b, events):
        now = b.add(ops.Map((Column("now", Type.INT64),), (column("ts"),)), events)
        return b.add(ops.Window("ts", length), events, now)

    return make


def random_events(seed, count=10):
    """Signed changes of events, some of them late and some of them early."""
    rng = random.Random(seed)
    return [
        {
            "events": ZSet(
                ((rng.randint(max(0, t - 4), t + 1), rng.randrange(2)), rng.choice((-1, 1, 1, 2))) for _ in "abc"
            )
        }
        for t in range(count)
    ]


@pytest.mark.law("DBSP §8.5 time-driven windows")
@pytest.mark.parametrize("length", [0, 2, 5])
def test_time_driven_windows(length):
    of = circuit(recent(length), EVENTS)
    for seed in range(8):
        epochs = random_events(seed)
        expected, now = [], 0
        for contents in (tables["events"] for tables in integrals(epochs)):
            now = max([now, *contents.map(lambda row: row[0]).support()])
            expected.append(contents.filter(lambda row, now=now: row[0] >= now - length))
        assert values(of, list(integrals(epochs))) == expected
        check_all(of, epochs)


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_windows_keep_bounded_state():
    of = circuit(recent(4), EVENTS)
    sizes = growth(incrementalize(of), ticks(200))
    assert max(sizes) == sizes[10] == 2 * 5 + 1  # the window and the time
    kept_in_full = growth(of, integrals(ticks(200)))  # the clock alone: what a window shows is of its input
    assert max(kept_in_full) == 1


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_the_measure_of_state_sees_an_integral():
    outside = circuit(
        lambda b, events: b.add(ops.Differentiate(), recent(4)(b, b.add(ops.Integrate(), events))), EVENTS
    )
    moved = incrementalize(circuit(recent(4), EVENTS))
    assert values(outside, ticks(50)) == values(moved, ticks(50))
    assert growth(outside, ticks(50))[-1] >= 100


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_joins_of_windows():
    """A window join, of events with those of another stream that are at most two younger or older."""
    other = ops.Source("s", XY, is_set=False)

    def make(b, events, pairs):
        return b.add(ops.Join(), recent(2)(b, events), b.add(ops.Window("y", 1), pairs, rename(b, events, now="ts")))

    of = circuit(make, EVENTS, other)
    for seed in range(5):
        epochs = [{**a, **b} for a, b in zip(random_events(seed, 6), epochs_of(seed, "s"), strict=True)]
        check_all(of, epochs)


# Relation-to-stream joins


def natural(left, right):
    return left.join(right, lambda r: r[1], lambda r: r[0], lambda r, q: (*r, q[1]))


@pytest.mark.law("DBSP §8.2")
def test_stream_joins():
    direct, view = circuit(stream_join, BAG, OTHER), circuit(matches, BAG, OTHER)
    for seed in range(8):
        epochs = epochs_of(seed, "s", "t")
        relation = [tables["s"] for tables in integrals(epochs)]
        expected = [natural(r, e["t"]) for r, e in zip(relation, epochs, strict=True)]
        assert values(direct, epochs) == expected
        assert values(incrementalize(view), epochs) == expected
        check_all(view, epochs)


@pytest.mark.law("DBSP §8.2")
def test_stream_joins_forget_the_data():
    epochs = [{"s": ZSet.of([(0, 1)]) if t == 0 else ZSet(), "t": ZSet.of([(1, t)])} for t in range(50)]
    derived = incrementalize(circuit(matches, BAG, OTHER))
    assert set(growth(derived, epochs)) == {1}
    assert growth(incrementalize(circuit(lambda b, s, t: b.add(ops.Join(), s, t), BAG, OTHER)), epochs)[-1] > 50


# While


def reach(b, x, parameters):
    """x and what edges lead to from it."""
    (edges,) = parameters
    return b.add(ops.Plus(), x, rename(b, b.add(ops.Join(), x, edges), x="y"))


def follow(b, x, parameters):
    """What edges lead to from x, alone: not what x was."""
    (edges,) = parameters
    return rename(b, b.add(ops.Join(), x, edges), x="y")


def dead_ends_go(b, x, parameters):
    """x without what no edge leads out of into x: not monotone in Q's own past, nor in the edges."""
    (edges,) = parameters
    into = b.add(ops.Join(), edges, b.add(ops.Distinct(), rename(b, x, y="x")))
    lonely = b.add(ops.Antijoin(), x, b.add(ops.Distinct(), rename(b, into, x="x")))
    return b.add(ops.Antijoin(), x, b.add(ops.Distinct(), lonely))


QUERIES = {
    reach: lambda x, edges: x | {b for a, b in edges if a in x},
    follow: lambda x, edges: {b for a, b in edges if a in x},
    dead_ends_go: lambda x, edges: {a for a, b in edges if a in x and b in x},
}
START, EDGES = ops.Source("start", X), ops.Source("edge", XY)


def loop(step):
    return circuit(lambda b, start, edges: while_changing(b, start, step, edges), START, EDGES)


def acyclic(rng):
    return {(a, b) for a in range(5) for b in range(a + 1, 5) if rng.random() < 0.4}


def anywhere(rng):
    return {(rng.randrange(4), rng.randrange(4)) for _ in range(rng.randrange(6))}


def graphs(seed, random_edges, count=4):
    """Tables of edges and of nodes to start from, as streams of sets."""
    rng = random.Random(seed)
    return [
        {"start": ZSet.of({(rng.randrange(5),) for _ in range(rng.randrange(4))}), "edge": ZSet.of(random_edges(rng))}
        for _ in range(count)
    ]


def changes(tables):
    empty = {"start": ZSet(), "edge": ZSet()}
    return [{n: new[n] - old[n] for n in new} for old, new in zip([empty, *tables], tables, strict=False)]


def rest(step, tables):
    x, edges = {a for (a,), _ in tables["start"]}, set(tables["edge"].support())
    while (following := QUERIES[step](x, edges)) != x:
        x = following
    return ZSet.of((a,) for a in x)


CASES = [(reach, anywhere), (follow, acyclic), (dead_ends_go, anywhere)]


@pytest.mark.law("DBSP §8.6")
@pytest.mark.parametrize(("step", "edges"), CASES, ids=lambda f: f.__name__)
def test_while(step, edges):
    for seed in range(12):
        for tables in graphs(seed, edges):
            assert run(loop(step), tables)["v"] == rest(step, tables), tables


@pytest.mark.law("DBSP §8.6", "DBSP §7.2")
@pytest.mark.parametrize(("step", "edges"), CASES, ids=lambda f: f.__name__)
def test_while_is_maintained(step, edges):
    """The body's derivative at each iteration, literally, for Q that are not monotone either."""
    for seed in range(6):
        tables = graphs(seed, edges)
        check_all(loop(step), changes(tables))
        check(loop(step), changes(tables), NestedInterpreter)


def test_the_step_of_a_while_keeps_the_columns():
    with pytest.raises(CircuitError, match=r"^while: x is \{x: int64\}, but one step makes \{y: int64\} of it$"):
        loop(lambda b, x, parameters: rename(b, x, y="x"))

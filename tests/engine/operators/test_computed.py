"""Flatmaps and windows in the local engine: values out of range, types, what is kept and visited, failing epochs.

Catches a window whose state or work grows with the stream, a time that an epoch without effect has moved, and a range
whose length wraps around.
"""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.constructions import last_steps, matches
from deltic.circuit.expressions import column, literal
from deltic.circuit.generators import generate
from deltic.circuit.graph import CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.engine.operators import window as windowing
from deltic.engine.operators.flat_map import ranges
from deltic.engine.reference import ReferenceEngine
from deltic.engine.storage.state import State
from deltic.errors import UnsupportedError
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver

INT = Type.INT64


def windowed(length, type_=INT):
    """The events of the last `length`, the latest of which is the time."""
    builder = CircuitBuilder()
    events = builder.add(ops.Source("e", Schema.of(x=INT, ts=type_)))
    now = builder.add(ops.Map((Column("now", type_),), (column("ts"),)), events)
    builder.add(ops.Sink("v"), builder.add(ops.Window("ts", length), events, now))
    return driver(builder)


def driver(builder):
    circuit = builder.build()
    return Driver(IncrementalEngine(circuit), circuit)


def expanded(generator, *expressions, **types):
    builder = CircuitBuilder()
    rows = builder.add(ops.Source("s", Schema.of(**types)))
    builder.add(ops.Sink("v"), builder.add(ops.FlatMap("z", generator, expressions), rows))
    return driver(builder)


# Windows


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_windows_keep_bounded_state_and_visit_what_changes():
    engine, sizes, visited = windowed(50), [], []
    for now in range(1_000):
        visited.append(engine.insert(e=[(0, now), (1, now)]).rows_visited)
        sizes.append(len(engine.engine.executor.running.states["v"].contents))
    assert sorted(engine.rows("v")) == sorted((x, now) for now in range(949, 1_000) for x in (0, 1))
    assert max(sizes) <= 4 * 2 * 51
    assert max(visited) <= 12


@pytest.mark.parametrize("length", [100, 30_000])
def test_work_does_not_follow_the_size_of_the_window(length):
    engine = windowed(length)
    engine.insert(e=[(0, now) for now in range(length)])
    assert [engine.insert(e=[(0, now)]).rows_visited for now in range(length, length + 4)][1:] == [5, 5, 5]


def test_late_rows_and_their_deletions_do_not_matter():
    engine = windowed(10)
    assert engine.insert(e=[(0, 100)]).changes
    assert engine.changes({"e": [((0, 1), 1), ((0, 90), 1)]}) == {"v": {(0, 90): 1}}
    assert engine.changes({"e": [((0, 1), -1)]}) == {}
    assert engine.changes({"e": [((0, 101), 1), ((0, 100), -1)]}) == {"v": {(0, 101): 1, (0, 100): -1, (0, 90): -1}}
    assert engine.changes({"e": [((0, 101), -1), ((0, 90), -1)]}) == {"v": {(0, 101): -1}}
    assert engine.changes({"e": [((0, 90), 1), ((0, 91), 1)]}) == {"v": {(0, 91): 1}}  # time does not go back


@pytest.mark.parametrize(
    ("type_", "length", "times"),
    [
        (Type.UINT64, 5, [3, 2**63 + 1, 2**63 + 6, 2**64 - 1]),
        (INT, 5, [-(2**63), -(2**63) + 4, -(2**63) + 6, 2**63 - 1]),
        (INT, 2**63, [-(2**63), 2**63 - 1]),
        (Type.DATE, 16, [date(2026, 1, d) for d in (1, 15, 31)]),
        (Type.TIMESTAMP_NTZ, 29 * 60 * 10**6, [datetime(2026, 1, 1, 12, m) for m in (0, 30, 59)]),
    ],
)
def test_timestamps_of_all_types(type_, length, times):
    """As the reference has it, whose values are Python's."""
    engine = windowed(length, type_)
    reference = Driver(ReferenceEngine(engine.circuit), engine.circuit)
    for ts in times:
        assert engine.changes({"e": [((0, ts), 1)]}) == reference.changes({"e": [((0, ts), 1)]})
        assert engine.rows("v") == reference.rows("v")


def test_an_epoch_that_fails_does_not_move_the_time(monkeypatch):
    engine, change = windowed(10), windowing.Windowing.change

    def failing(self):
        change(self)
        raise KeyboardInterrupt

    engine.insert(e=[(0, 100)])
    monkeypatch.setattr(windowing.Windowing, "change", failing)
    with pytest.raises(KeyboardInterrupt):
        engine.insert(e=[(0, 500)])
    monkeypatch.setattr(windowing.Windowing, "change", change)
    assert engine.changes({"e": [((0, 90), 1)]}) == {"v": {(0, 90): 1}}


def test_joins_and_sums_of_windows():
    """What is kept of a window is probed like any relation."""
    builder = CircuitBuilder()
    events = builder.add(ops.Source("e", Schema.of(x=INT, ts=INT)))
    names = builder.add(ops.Source("n", Schema.of(x=INT, name=Type.STRING)))
    now = builder.add(ops.Map((Column("now", INT),), (column("ts"),)), events)
    recent = builder.add(ops.Window("ts", 1), events, now)
    builder.add(ops.Sink("v"), builder.add(ops.Join(), recent, names))
    engine = driver(builder)
    assert engine.changes({"e": [((1, 5), 1), ((2, 6), 1)]}) == {}
    assert engine.changes({"n": [((1, "a"), 1), ((2, "b"), 1)]}) == {"v": {(1, 5, "a"): 1, (2, 6, "b"): 1}}
    assert engine.changes({"e": [((3, 7), 1)]}) == {"v": {(1, 5, "a"): -1}}
    assert engine.changes({"n": [((1, "a"), -1), ((3, "c"), 1)]}) == {"v": {(3, 7, "c"): 1}}


# Delays


def steps(make):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), make(builder, builder.add(ops.Source("e", Schema.of(x=INT, ts=INT)))))
    return driver(builder)


@pytest.mark.law("DBSP §8.3", "DBSP §8.5 fixed windows")
def test_a_window_of_steps():
    """What leaves it leaves in an epoch in which nothing else changes, too."""
    engine = steps(lambda builder, events: last_steps(builder, events, 2))
    assert engine.changes({"e": [((1, 1), 1)]}) == {"v": {(1, 1): 1}}
    assert engine.changes({}) == {}
    assert engine.changes({"e": [((2, 2), 1)]}) == {"v": {(1, 1): -1, (2, 2): 1}}
    assert engine.changes({"e": [((3, 3), 1)]}) == {"v": {(3, 3): 1}}
    assert [engine.changes({}) for _ in range(3)] == [{"v": {(2, 2): -1}}, {"v": {(3, 3): -1}}, {}]
    assert engine.apply({}).rows_visited == 0


def test_an_epoch_that_fails_is_no_step(monkeypatch):
    engine, append = steps(lambda builder, events: builder.add(ops.Delay(), events)), State.append
    engine.insert(e=[(1, 1)])

    def failing(self, run):
        append(self, run)
        if self.relation.name == "v":
            raise KeyboardInterrupt

    monkeypatch.setattr(State, "append", failing)
    with pytest.raises(KeyboardInterrupt):
        engine.insert(e=[(2, 2)])
    monkeypatch.setattr(State, "append", append)
    assert engine.changes({"e": [((3, 2**40), 1)]}) == {"v": {(1, 1): 1}}
    assert engine.changes({}) == {"v": {(3, 2**40): 1}}


@pytest.mark.law("DBSP §8.2")
def test_joins_of_streams_with_relations():
    """Each row of the stream is matched once, with what the relation is then; the relation's changes match nothing."""
    builder = CircuitBuilder()
    names = builder.add(ops.Source("n", Schema.of(x=INT, name=Type.STRING)))
    events = builder.add(ops.Source("e", Schema.of(x=INT, ts=INT)))
    builder.add(ops.Sink("v"), matches(builder, names, events))
    engine = driver(builder)
    assert engine.changes({"n": [((1, "a"), 1)], "e": [((1, 5), 1), ((2, 5), 1)]}) == {"v": {(1, "a", 5): 1}}
    renamed = engine.apply({"n": [((1, "a"), -1), ((1, "b"), 1), ((2, "c"), 1)]})
    assert (dict(renamed.changes), renamed.rows_visited) == ({}, 0)
    assert engine.changes({"e": [((1, 6), 1)]}) == {"v": {(1, "b", 6): 1}}
    assert engine.rows("v") == {(1, "a", 5), (1, "b", 6)}


def test_explanations_say_what_is_kept():
    text = windowed(10).engine.explain("v", full=True)
    assert "the rows of v.rows with ts at least v.clock − 10" in text
    assert "D(α), α = W(Δa + z⁻¹(α), Δθ)  [DBSP §8.5]" in text
    assert "v.clock: rows that are passed on, without being kept" in text


# Flatmaps

numbers = st.integers(-4, 4) | st.sampled_from([-(2**63), -(2**63) + 3, 2**63 - 1, 2**63 - 4])


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=5))
def test_ranges(triples):
    short = [(a, b, c) for a, b, c in triples if not c or (b - a) // c < 100] or [(0, 0, 1)]
    start, stop, step = (np.array(values, np.int64) for values in zip(*short, strict=True))
    with np.errstate(over="ignore"):
        rows, values = ranges(np.ones(len(short), bool), start, stop, step)
    expected = [(i, value) for i, t in enumerate(short) for value in generate("range", t)]
    assert list(zip(rows.tolist(), values.tolist(), strict=True)) == expected


def test_values_that_do_not_fit_yet():
    engine = expanded("range", column("x"), column("y"), x=INT, y=INT)
    assert engine.changes({"s": [((1, 3), 1), ((5, 5), 1)]}) == {"v": {(1, 3, 1): 1, (1, 3, 2): 1}}
    large = 2**62
    assert engine.changes({"s": [((large, large + 2), 1), ((1, 3), -1)]}) == {
        "v": {(1, 3, 1): -1, (1, 3, 2): -1, (large, large + 2, large): 1, (large, large + 2, large + 1): 1}
    }


def test_a_range_that_no_memory_holds():
    engine = expanded("range", column("x"), column("y"), x=INT, y=INT)
    with pytest.raises(UnsupportedError, match=r"range makes 9,223,372,036,854,775,808 values"):
        engine.changes({"s": [((-(2**62), 2**62), 1), ((1, 3), 1)]})
    assert engine.changes({"s": [((1, 2), 1)]}) == {"v": {(1, 2, 1): 1}}


def test_texts_and_undefined_arguments():
    engine = expanded("string_split", column("t"), literal(",", Type.STRING), t=Type.STRING)
    assert engine.changes({"s": [(("a,b,a",), 1), (("",), 1)]}) == {
        "v": {("a,b,a", "a"): 2, ("a,b,a", "b"): 1, ("", ""): 1}
    }
    assert engine.changes({"s": [(("a,b,a",), -1)]}) == {"v": {("a,b,a", "a"): -2, ("a,b,a", "b"): -1}}
    halves = exp.IntDiv(this=column("x"), expression=column("y"))
    engine = expanded("range", literal(0, INT), halves, x=INT, y=INT)
    assert engine.changes({"s": [((4, 2), 1), ((4, 0), 1)]}) == {"v": {(4, 2, 0): 1, (4, 2, 1): 1}}

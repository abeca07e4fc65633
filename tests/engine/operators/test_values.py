"""Values that are kept in order: what a change of them costs, and that they go on after what interrupts an epoch.

Catches a percentile that is sought from the beginning, places that do not move with the values below them, results of
whole groups that outlive the group, and pairs that lose their order when labels are given anew.
"""

from __future__ import annotations

import itertools
import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine, to_arrow
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver
from tests.differential.aggregates import random_call
from tests.differential.compare import first_disagreement
from tests.engine.storage.test_value_order import closing_in

ROWS = Schema.of(k=Type.INT64, v=Type.FLOAT64, s=Type.STRING)


def view(*calls, keys=("k",), schema=ROWS):
    """The view `v` of aggregates of a table `x`."""
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(keys, calls), builder.add(ops.Source("x", schema))))
    return builder.build()


MEDIAN = ops.AggregateCall("percentile", "v", "m", (), (0.5, False))


def test_a_percentile_moves_by_as_much_as_changed():
    """A median of many values: a change of one row looks at a few entries, wherever it is."""
    visited = []
    for size in (1_000, 20_000):
        circuit = view(MEDIAN)
        driver = Driver(IncrementalEngine(circuit), circuit)
        driver.insert(x=[(0, float(i), "") for i in range(size)])
        edits = [((0, -1.0, ""), 1), ((0, 0.0, ""), -1), ((0, float(size - 1), ""), -1), ((0, size / 2, "b"), 1)]
        visited.append([driver.apply({"x": [edit]}).rows_visited for edit in edits])
    assert max(visited[1]) < 40, visited
    assert driver.rows("v") == {(0, size / 2 - 0.5)}


def test_a_median_that_wanders():
    """Values come at one end and go at the other, so that the place goes through all of them."""
    rows, run = [], []
    for i in range(60):
        rows = [*rows[2 if i % 3 else 0 :], *((0, float(i * 3 + j), "") for j in range(3))]
        run.append({"x": frozenset(rows)})
    assert first_disagreement(view(MEDIAN), run + run[::-1]) is None


ORDERED = ("percentile", "percentile_disc", "min_by", "max_by", "string_agg", "collect_list", "mode", "min")


@pytest.mark.parametrize("seed", range(12))
def test_values_that_come_and_go(seed):
    """HistoryGroups that vanish and come again, with NULLs, many rows of one value, and changes of one row."""
    rng = random.Random(seed)
    columns = (Column("k", Type.INT64), Column("v", Type.FLOAT64, seed % 2 > 0), Column("s", Type.STRING, seed % 3 > 0))
    schema = Schema(columns)
    calls = [random_call(rng, schema, f"r{i}", ORDERED) for i in range(4)]
    floats, texts = (0.5, 1.0, 2.0, -3.0, float("nan")), ("", "a", "b", "é")
    choices = [(0, 1), floats + (None,) * columns[1].nullable, texts + (None,) * columns[2].nullable]
    every = list(itertools.product(*choices))
    rows, run = set(), []
    for size in (20, 1, 1, 40, 1, 1, 1):
        rows ^= set(rng.sample(every, min(size, len(every))))
        run += [{"x": frozenset(rows)}]
    run += [{}, {"x": frozenset(every[:5])}]
    assert first_disagreement(view(*calls, schema=schema), run) is None, view(*calls, schema=schema)


def test_pairs_survive_that_labels_are_given_anew():
    """Each text comes between two that are there, so that there is soon no room for the labels of pairs."""
    circuit = view(ops.AggregateCall("max_by", "k", "m", ("s",)), keys=())
    made = []

    def make(circuit):
        made.append(IncrementalEngine(circuit))
        return made[-1]

    run = [{"x": frozenset((len(t), 0.0, t) for t in pair)} for pair in itertools.pairwise(closing_in(150))]
    assert first_disagreement(circuit, run, make) is None
    pairs = [dictionary for type_, dictionary in made[0].executor.store.interner.items() if type_.is_composite]
    assert [d.order.domain.numbering > 0 for d in pairs] == [True]


def test_what_is_kept_is_said(golden):
    calls = [
        MEDIAN,
        ops.AggregateCall("corr", "v", "c", ("v",)),
        ops.AggregateCall("mode", "s", "f", (), (False,)),
        ops.AggregateCall("string_agg", "s", "t", ("v",), (", ", "DESC NULLS LAST")),
        ops.AggregateCall("bit_or", "k", "b"),
        ops.AggregateCall("min_by", "s", "p", ("v",)),
    ]
    explained = IncrementalEngine(view(*calls)).explain("v")
    golden("plans/aggregates.txt", explained)


@pytest.mark.parametrize("seed", range(6))
def test_views_that_are_added_and_epochs_that_are_aborted(seed):
    """A view with other aggregates of the same rows begins with what is there; an aborted epoch leaves no trace."""
    rng = random.Random(seed)
    one, two = ([random_call(rng, ROWS, f"r{i}", ORDERED) for i in range(3)] for _ in range(2))

    def both():
        builder = CircuitBuilder()
        source = builder.add(ops.Source("x", ROWS))
        for name, calls in (("v", one), ("w", two)):
            builder.add(ops.Sink(name), builder.add(ops.Aggregate(("k",), tuple(calls)), source))
        return builder.build()

    every = list(itertools.product((0, 1), (0.5, 1.0, 2.0), ("", "a", "b")))
    engines = [IncrementalEngine(view(*one)), ReferenceEngine(view(*one))]
    present: set = set()
    for epoch in range(8):
        if epoch == 3:
            for engine in engines:
                engine.extend(both())
        wanted, refused = (set(rng.sample(every, rng.randint(0, 12))) for _ in range(2))
        for rows in (refused, wanted):
            batch = {"x": to_arrow(ZSet.of(rows) - ZSet.of(present), ROWS)}
            for engine in engines:
                prepared = engine.prepare(batch)
                if rows is refused:
                    prepared.abort()
                else:
                    prepared.commit()
        present = wanted
        for name in engines[0].program.sinks:
            found, expected = (sorted(map(repr, engine.read(name).to_pylist())) for engine in engines)
            assert found == expected, f"epoch {epoch}: {name} of {one} and {two}"

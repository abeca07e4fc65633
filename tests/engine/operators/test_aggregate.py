"""Aggregates of the local engine: bit-equal with recomputation after any changes, at the cost of changed groups alone.

Catches sums that drift or overflow, a least value that is looked for below where it was, totals that are not taken
back with the rows, and what is read group by group although nothing in it changed.
"""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import deltic
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.expressions import column
from deltic.circuit.graph import CircuitBuilder
from deltic.datalog import check, lower, parse
from deltic.engine.accumulators import exact
from deltic.engine.engine import IncrementalEngine
from deltic.engine.operators import aggregate
from deltic.values.types import Column, Schema, Type
from tests.conformance.engines import Driver
from tests.differential.aggregates import random_call
from tests.differential.compare import first_disagreement
from tests.engine.storage.test_value_order import closing_in

D = Type.decimal(30, 2)
PLAIN = Schema.of(a=Type.INT64, b=Type.INT64, f=Type.FLOAT64, u=Type.UINT64, s=Type.STRING)
ROWS = Schema((*PLAIN, Column("d", D), Column("t", Type.BOOLEAN)))
VALUES = {
    "a": (0, 1, 2, 3),
    "b": (0, 1, -5, 7, 2**40, 2**63 - 1, -(2**63)),
    "f": (0.1, 0.2, -0.1, 1e16, 1.0, -1e300, 1.7e308, 5e-324, -5e-324, math.inf, -math.inf),
    "u": (0, 1, 2**63, 2**64 - 1),
    "s": ("", "x", "é", "xx", "a", "𝄞"),
    "d": tuple(map(Decimal, ("0.00", "1.05", "-1.05", "9999999999999999999999999999.99", "0.01"))),
    "t": (False, True),
}


NULLABLE = Schema(tuple(Column(c.name, c.type, nullable=True) for c in ROWS))


UNCHECKED = tuple(name for name in ACCUMULATORS if name not in ("checked_sum", "decimal_mean"))


def random_views(rng, schema=ROWS, functions=UNCHECKED):
    """Two aggregates of a table by random keys, and sometimes one of an aggregate."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", schema))
    for view in range(2):
        calls = [random_call(rng, schema, f"r{i}", functions) for i in range(rng.randint(0, 5))]
        keys = tuple(rng.sample(sorted(VALUES), rng.randint(0, 2)))
        groups = builder.add(ops.Aggregate(keys, tuple(calls)), source)
        builder.add(ops.Sink(f"v{view}"), groups)
        if rng.random() < 0.3:
            builder.add(
                ops.Sink(f"w{view}"),
                builder.add(ops.Aggregate((), (ops.AggregateCall("count", "", "n"),)), groups),
            )
    return builder.build()


def random_contents(rng, epochs, schema=ROWS):
    values = [(*VALUES[c.name], *[None] * (2 * c.nullable)) for c in schema]
    run, rows = [], frozenset()
    for _ in range(epochs):
        kept = {row for row in sorted(rows, key=repr) if rng.random() < rng.choice((0.0, 0.5, 0.9))}
        rows = frozenset(kept | {tuple(rng.choice(v) for v in values) for _ in range(rng.randint(0, 12))})
        run.append({"x": rows})
    return run


@pytest.mark.law("DBSP §8.1")
@pytest.mark.parametrize("batch", range(4))
def test_random_aggregates_equal_the_reference_to_the_last_bit(batch, record_property):
    record_property("random aggregates", 20)
    for seed in range(batch * 20, (batch + 1) * 20):
        rng, schema = random.Random(seed), NULLABLE if seed % 2 else ROWS
        circuit, run = random_views(rng, schema), random_contents(rng, rng.randint(2, 6), schema)
        assert first_disagreement(circuit, run) is None, f"seed {seed}\n{circuit}\n{run}"


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(20))
def test_many_random_aggregates(batch):
    for seed in range(10_000 + batch * 50, 10_000 + (batch + 1) * 50):
        rng, schema = random.Random(seed), NULLABLE if seed % 2 else ROWS
        circuit, run = random_views(rng, schema), random_contents(rng, 8, schema)
        assert first_disagreement(circuit, run) is None, f"seed {seed}\n{circuit}\n{run}"


SUMS = """
    .decl x(k: number, f: float)
    .input x
    .decl s(k: number, f: float)
    s(k, f) :- x(k, _), f = sum y : { x(k, y) }.
"""


def test_sums_of_floats_do_not_drift():
    """A running sum that subtracts what was deleted is wrong after the first epochs of this."""
    rng = random.Random(1)
    driver = Driver.of_program("local", SUMS)
    rows: set = set()
    for _ in range(150):
        new = {(rng.randrange(2), rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)) for _ in range(4)} - rows
        old = {row for row in sorted(rows) if rng.random() < 0.3}
        driver.apply({"x": [*((row, 1) for row in new), *((row, -1) for row in old)]})
        rows = (rows | new) - old
        expected = {(k, float(sum(Fraction(f) for i, f in rows if i == k))) for k, _ in rows}
        assert set(driver.rows("s")) == expected


@pytest.mark.parametrize("type_", [Type.INT64, Type.UINT64])
def test_digits_of_whole_numbers_are_exact(type_):
    rng = random.Random(str(type_))
    low, high = (-(2**63), 2**63 - 1) if type_ is Type.INT64 else (0, 2**64 - 1)
    for _ in range(100):
        numbers = [rng.choice((low, high, 0, 1, rng.randint(low, high))) for _ in range(5)]
        places, found = exact.digits(np.array(numbers, np.int64 if low else np.uint64), type_)
        sums = np.zeros((1, exact.SLOTS), np.int64)
        np.add.at(sums[0], places.ravel(), found.ravel())
        assert exact.rounded(sums, np.array([5]))[0] == float(Fraction(sum(numbers), 5))


ENDS = """
    .decl x(v: number)
    .input x
    .decl least, greatest(v: number)
    least(v) :- v = min y : { x(y) }.
    greatest(v) :- v = max y : { x(y) }.
"""


def test_a_queue_is_emptied_at_a_cost_that_does_not_grow_with_it():
    """The least value goes in each epoch; looking for the next from the beginning would meet all that went before."""
    size = 600
    driver = Driver.of_program("local", ENDS)
    driver.insert(x=[(i,) for i in range(size)])
    visited = [driver.apply({"x": [((i,), -1)]}).rows_visited for i in range(size // 2)]
    assert set(driver.rows("least")) == {(size // 2,)}
    assert max(visited) < 80
    visited = [driver.apply({"x": [((size - 1 - i,), -1), ((-i,), 1)]}).rows_visited for i in range(size // 4)]
    assert set(driver.rows("greatest")) == {(size - 1 - size // 4,)}
    assert max(visited) < 100


def test_what_is_gone_is_not_met_again_and_again():
    """Half of the values go, then lower ones come and go: a walk from each of those begins among the ones that went."""
    size, low = 4_000, 60
    driver = Driver.of_program("local", ENDS)
    driver.insert(x=[(i,) for i in range(size)])
    for i in range(0, size // 2, 50):
        driver.apply({"x": [((i + j,), -1) for j in range(50)]})
    visited = []
    for i in range(low):
        driver.insert(x=[(-1 - i,)])
        visited.append(driver.apply({"x": [((-1 - i,), -1)]}).rows_visited)
    assert driver.rows("least") == {(size // 2,)}
    assert sum(visited) < 3 * size, visited


def test_a_change_of_one_row_in_one_of_many_groups():
    """HistoryGroups are neither read nor computed anew when nothing in them changed."""
    program = """
        .decl x(k: number, v: number)
        .input x
        .decl s(k: number, c: number, t: number, l: number)
        s(k, c, t, l) :- x(k, _), c = count : { x(k, _) }, t = sum v : { x(k, v) }, l = min v : { x(k, v) }.
    """
    visited = []
    for size in (3_000, 30_000):
        driver = Driver.of_program("local", program)
        driver.insert(x=[(i % (size // 50), i) for i in range(size)])
        edits = [((3, -7), 1), ((3, -7), -1), ((3, 3), -1), ((size, 1), 1)]
        visited.append([driver.apply({"x": [edit]}).rows_visited for edit in edits])
    assert all(b <= a + 60 for a, b in zip(*visited, strict=True)), visited


def test_more_groups_than_are_looked_at_together(monkeypatch):
    monkeypatch.setattr(aggregate, "_AT_ONCE", 3)
    rng = random.Random(4)
    for _ in range(10):
        assert first_disagreement(random_views(rng), random_contents(rng, 4)) is None


def _aggregated(schema, *calls):
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", schema))
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("a",), calls), source))
    return builder.build()


def test_an_aggregate_of_a_computed_bag():
    """Rows that become equal count as often as they were."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", ROWS))
    pairs = builder.add(ops.Map(Schema.of(a=Type.INT64, u=Type.UINT64).columns, (column("a"), column("u"))), source)
    calls = (
        ops.AggregateCall("count", "", "n"),
        ops.AggregateCall("sum", "u", "t"),
        ops.AggregateCall("max", "u", "m"),
    )
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("a",), calls), builder.add(ops.Plus(), pairs, pairs)))
    for seed in range(10):
        assert first_disagreement(builder.build(), random_contents(random.Random(seed), 4)) is None


def test_explain(golden):
    program = """
        .decl sale(shop: symbol, month: number, amount: float)
        .input sale
        .decl best(shop: symbol, amount: float)
        best(s, a) :- sale(s, _, _), a = max x : { sale(s, _, x) }, 2 < count : { sale(s, _, _) }.
    """
    explained = IncrementalEngine(lower(check([parse(program)]))).explain("best", full=True)
    golden("plans/aggregate.txt", explained[explained.index("kept relations") :])


def extremes(column):
    """The least and the greatest value of a column."""
    builder = CircuitBuilder()
    calls = tuple(ops.AggregateCall(function, column, function) for function in ("min", "max"))
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate((), calls), builder.add(ops.Source("x", PLAIN))))
    return builder.build()


def test_least_and_greatest_texts_survive_that_labels_are_given_anew():
    """Each text comes between two that are there, so that there is soon no room for its label."""
    made = []

    def make(circuit):
        made.append(IncrementalEngine(circuit))
        return made[-1]

    row = (0, 0, 0.0, 0)
    run = [{"x": frozenset((*row, text) for text in pair)} for pair in itertools.pairwise(closing_in(150))]
    assert first_disagreement(extremes("s"), run, make) is None
    assert made[0].executor.store.interner.text.order.domain.numbering > 0


def test_the_next_least_text_is_found_without_a_look_at_the_whole_group():
    visited = []
    for size in (1_000, 10_000):
        circuit = extremes("s")
        driver = Driver(IncrementalEngine(circuit), circuit)
        rows = [(0, 0, 0.0, 0, f"t{number:06}") for number in range(size)]
        driver.insert(x=rows)
        visited.append(driver.apply({"x": [(rows[0], -1)]}).rows_visited)
    assert visited[1] <= visited[0] + 5
    assert visited[0] < 50


def test_a_change_of_different_values_looks_at_what_changed():
    """Each value counts as long as one of its rows is there."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", PLAIN))
    calls = (ops.AggregateCall("count_distinct", "b", "n"),)
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("a",), calls), source))
    first = frozenset((0, b, float(i), 0, "x") for b in range(3) for i in range(2))
    less = first - {(0, 1, 0.0, 0, "x")}
    run = [{"x": first}, {"x": less}, {"x": less - {(0, 1, 1.0, 0, "x")}}, {"x": frozenset()}]
    assert first_disagreement(builder.build(), run) is None


def test_a_sum_that_fits_again_replaces_null() -> None:
    great = "999999999999999999999999999999999999.99"
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (k INT, d DECIMAL(38, 2) NOT NULL)")
    pipeline.sql("CREATE VIEW v AS SELECT k, try_sum(d) AS s FROM t GROUP BY k")
    pipeline.sql(f"INSERT INTO t VALUES (1, {great}), (1, 0.01), (1, 0)")
    assert list(pipeline["v"]) == [(1, None)]
    pipeline.sql("DELETE FROM t WHERE d <> 0")
    assert list(pipeline["v"]) == [(1, Decimal(0))]

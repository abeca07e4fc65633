"""The meaning of aggregates: SQL's on bags, as DuckDB has it, and one value for every order of the rows.

Catches: groups that are there without rows, NULLs that count, sums that depend on order or drift, wrong ends of ranges.
"""

from __future__ import annotations

import math
import random
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.operators.aggregate import aggregate
from deltic.circuit.reading import parse_circuit
from deltic.errors import CircuitError, ProgramError
from deltic.values.types import Column, Schema, Type

NULLABLE = Schema(
    (
        Column("k", Type.STRING),
        Column("n", Type.INT64, nullable=True),
        Column("f", Type.FLOAT64, nullable=True),
        Column("s", Type.STRING, nullable=True),
    )
)
BASIC = ("count", "count_distinct", "max", "mean", "min", "sum")
OF = {
    column: tuple(name for name in BASIC if ACCUMULATORS[name].takes([type_]))
    for column, type_ in NULLABLE.types.items()
    if column != "k"
}
CALLS = (
    ops.AggregateCall("count", "", "rows"),
    *(ops.AggregateCall(f, column, f"{f}_{column}") for column, functions in OF.items() for f in functions),
)


def selected(function, column):
    """The call in DuckDB's SQL, of the type that it has here."""
    types = {"n": "BIGINT", "f": "DOUBLE", "s": "VARCHAR"}
    type_ = {"count": "BIGINT", "count_distinct": "BIGINT", "mean": "DOUBLE"}.get(function, types[column])
    called = {"mean": f"avg({column})", "count_distinct": f"count(DISTINCT {column})"}
    return f"CAST({called.get(function, f'{function}({column})')} AS {type_}) AS {function}_{column}"


SELECTED = ", ".join(selected(function, column) for column, functions in OF.items() for function in functions)
rows = st.tuples(
    st.sampled_from(["", "a", "b"]),
    st.none() | st.integers(-(2**40), 2**40),
    st.none() | st.integers(-9, 9).map(lambda i: i / 2),
    st.none() | st.sampled_from(["", "x", "é", "xx"]),
)
floats = st.floats(allow_nan=False) | st.sampled_from([1e308, -1e308, 5e-324, 0.1, -0.1, 1e16, 1.0])


def value(function, pairs, type_=Type.FLOAT64):
    """The aggregate of one group of (value, weight)."""
    op = ops.Aggregate((), (ops.AggregateCall(function, "x", "r"),))
    found = list(aggregate(op, ZSet(((x,), w) for x, w in pairs), Schema.of(x=type_)))
    return found[0][0][0] if found else None


@pytest.mark.law("DBSP §8.1")
@given(st.dictionaries(rows, st.integers(1, 3), max_size=8), st.sampled_from([("k",), ("k", "n"), ("s",)]))
def test_bags_have_the_results_of_sql(bag, keys):
    import duckdb

    table = pa.Table.from_pylist(
        [dict(zip(NULLABLE.names, row, strict=True)) for row, weight in bag.items() for _ in range(weight)],
        NULLABLE.to_arrow(),
    )
    connection = duckdb.connect()
    connection.register("t", table)
    names = ", ".join(keys)
    query = f"SELECT {names}, count(*) AS rows, {SELECTED} FROM t GROUP BY {names}"
    expected = connection.sql(query).fetchall()
    assert aggregate(ops.Aggregate(keys, CALLS), ZSet(bag), NULLABLE) == ZSet.of(expected)


@given(st.lists(st.tuples(floats.filter(math.isfinite), st.integers(1, 4)), min_size=1, max_size=8), st.randoms())
def test_sums_and_means_of_floats_are_exact_and_then_rounded(pairs, rng):
    shuffled = rng.sample(pairs, len(pairs))
    exact = sum(Fraction(x) * w for x, w in pairs)
    count = sum(w for _, w in pairs)
    for function, result in (("sum", exact), ("mean", exact / count)):
        try:
            expected = float(result)
        except OverflowError:
            expected = math.inf if result > 0 else -math.inf
        assert value(function, pairs) == value(function, shuffled) == expected


def test_a_float_that_is_lost_in_a_running_sum_is_not_lost():
    assert value("sum", [(1e16, 1), (1.0, 1), (-1e16, 1)]) == 1.0
    assert value("mean", [(1.7e308, 2)]) == 1.7e308
    assert value("sum", [(1.7e308, 2)]) == math.inf


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([-math.inf], -math.inf),
    ],
)
def test_infinite_sums(numbers, expected):
    for function in ("sum", "mean"):
        assert str(value(function, [(x, 1) for x in numbers])) == str(expected)


def test_not_a_number_is_above_all():
    assert math.isnan(value("max", [(math.nan, 1), (math.inf, 1)]))
    assert value("min", [(math.nan, 1), (math.inf, 1)]) == math.inf
    assert str(value("min", [(-0.0, 1)])) == str(value("max", [(-0.0, 1)])) == "0.0"


def test_whole_numbers_wrap_around_and_their_means_do_not():
    assert value("sum", [(2**63 - 1, 2)], Type.INT64) == -2
    assert value("sum", [(2**64 - 1, 2)], Type.UINT64) == 2**64 - 2
    assert value("mean", [(2**63 - 1, 2)], Type.INT64) == 2.0**63


def test_weights_below_zero_take_rows_away():
    assert value("count", [(1, 3), (2, -1)], Type.INT64) == 2
    assert value("sum", [(1, 3), (2, -1)], Type.INT64) == 1
    assert value("min", [(5, 3), (2, -1)], Type.INT64) == 5
    assert value("count", [(1, 1), (2, -1)], Type.INT64) is None


@pytest.mark.law("DBSP §8.1")
def test_the_groups_of_a_changed_input_are_those_of_both_parts_when_no_key_is_shared():
    """Agg_f is additive over Z-sets with different keys, which is why unchanged groups need no look."""
    op = ops.Aggregate(("k",), CALLS)
    for seed in range(50):
        rng = random.Random(seed)
        parts = [ZSet({(k, rng.randint(0, 3), None, "x"): rng.randint(1, 2) for _ in range(3)}) for k in "ab"]
        assert aggregate(op, parts[0] + parts[1], NULLABLE) == sum((aggregate(op, p, NULLABLE) for p in parts), ZSet())


AB = Schema.of(a=Type.INT64, s=Type.STRING)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (ops.Aggregate(("z",), ()), "column z is not in its input"),
        (ops.Aggregate(("a", "a"), ()), "distinct names"),
        (ops.Aggregate(("a",), (ops.AggregateCall("sum", "s", "n"),)), "sum of a string"),
        (ops.Aggregate(("a",), (ops.AggregateCall("median", "a", "n"),)), "there is no aggregate median"),
        (ops.Aggregate(("a",), (ops.AggregateCall("max", "", "n"),)), "max needs a column"),
        (ops.Aggregate(("a",), (ops.AggregateCall("max", "a", "n", ("s",)),)), "max of a int64, a string"),
        (ops.Aggregate(("a",), (ops.AggregateCall("max", "a", "n", ("z",)),)), "column z is not in its input"),
        (ops.Aggregate(("a",), (ops.AggregateCall("max", "a", "n", (), (1,)),)), "max does not take these constants"),
        (ops.Aggregate(("a",), (ops.AggregateCall("percentile_disc", "a", "n", (), (1.5, True)),)), "these constants"),
        (ops.Aggregate(("a",), (ops.AggregateCall("string_agg", "s", "n", ("a",), (",", "UP")),)), "these constants"),
    ],
)
def test_what_cannot_be_aggregated(op, message):
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", AB))
    with pytest.raises(CircuitError, match=message):
        builder.add(op, source)


def test_the_text_form_reads_back():
    builder = CircuitBuilder()
    source = builder.add(ops.Source("x", NULLABLE, is_set=False))
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("k",), CALLS), source))
    builder.add(ops.Sink("w"), builder.add(ops.Aggregate((), CALLS), source))
    builder.add(ops.Sink("keys"), builder.add(ops.Aggregate(("s", "k"), ()), source))
    circuit = builder.build()
    assert parse_circuit(str(circuit)) == circuit
    with pytest.raises(ProgramError, match="is not function"):
        parse_circuit(str(circuit).replace("[k, count(*) AS rows", "[count(*) AS rows, k"))


def test_different_values_are_counted_once():
    nan = math.nan
    assert value("count_distinct", [(1.0, 2), (2.0, 1), (3.0, -1), (0.0, 1), (-0.0, 1)]) == 3
    assert value("count_distinct", [(nan, 1), (float("nan"), 1), (1.0, 1)]) == 2


D = Type.decimal(38, 2)


@pytest.mark.parametrize(
    ("function", "type_", "values", "expected"),
    [
        ("sum", Type.INT8, [100, 100], -56),
        ("sum", Type.UINT16, [2**16 - 1, 2], 1),
        ("sum", Type.FLOAT32, [0.5, 2.0**30], 2.0**30),
        ("sum", D, [Decimal("1e30"), Decimal("0.01")], Decimal(f"1{0:030}.01")),
        ("sum", D, [Decimal(10**36 - 1), Decimal(1)], None),
        ("mean", D, [Decimal("0.10"), Decimal("0.20")], 0.15),
        ("min", Type.array(Type.INT64.or_null), [(1,), (None, 3)], (None, 3)),
        ("max", Type.BINARY, [b"a", b"\xff"], b"\xff"),
        ("max", Type.DATE, [date(2026, 1, 1), date(1, 1, 1)], date(2026, 1, 1)),
        ("count", Type.map(Type.STRING, Type.INT64), [(), (("a", 1),)], 2),
    ],
)
def test_values_of_other_types(function, type_, values, expected):
    schema = Schema((Column("x", type_, nullable=True),))
    call = ops.Aggregate((), (ops.AggregateCall(function, "x", "y"),))
    rows = ZSet([((value,), 1) for value in values] + [((None,), 3)])
    assert list(aggregate(call, rows, schema)) == [((expected,), 1)]


def test_what_has_no_order_has_no_least_value():
    assert not ACCUMULATORS["min"].takes([Type.array(Type.map(Type.STRING, Type.INT64))])
    assert not ACCUMULATORS["sum"].takes([Type.DATE])

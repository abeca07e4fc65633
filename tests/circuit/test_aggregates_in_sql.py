"""Every aggregate on random bags with NULLs against DuckDB, which has functions of the same meaning for most.

Catches a wrong formula, rows with NULL that count, weights that do not, and a wrong end or direction of an order.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.oracle.operators.aggregate import aggregate
from deltic.errors import EvaluationError
from deltic.values import of_python
from deltic.values.types import Column, Schema, Type

D = Type.decimal(10, 2)
SCHEMA = Schema(
    (
        Column("k", Type.STRING),
        Column("n", Type.INT32, nullable=True),
        Column("f", Type.FLOAT64, nullable=True),
        Column("g", Type.FLOAT64, nullable=True),
        Column("s", Type.STRING, nullable=True),
        Column("d", D, nullable=True),
        Column("t", Type.BOOLEAN, nullable=True),
    )
)
halves = st.integers(-9, 9).map(lambda i: i / 2)
rows = st.tuples(
    st.sampled_from(["", "a"]),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | halves,
    st.none() | halves,
    st.none() | st.sampled_from(["", "x", "é", "xx"]),
    st.none() | st.integers(-999, 999).map(lambda i: Decimal(i).scaleb(-2)),
    st.none() | st.booleans(),
)
LIST = "coalesce(list({0} ORDER BY {0}) FILTER ({0} IS NOT NULL), [])"
SET = "coalesce(list_sort(list(DISTINCT {0}) FILTER ({0} IS NOT NULL)), [])"
# Calls with what they are in DuckDB.
TWO = ("covar_pop", "covar_samp", "corr", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")
CASES = {
    **{(f, ("f", "g"), ()): f"{f}(f, g)" for f in (*TWO, "regr_slope", "regr_intercept", "regr_r2")},
    **{(f, ("f",), ()): f"{f}(f)" for f in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")},
    ("skewness", ("f",), ()): "CASE WHEN count(f) > 2 THEN "
    "skewness(f) * (count(f) - 2) / sqrt(count(f) * (count(f) - 1)) ELSE 0 END",
    ("kurtosis", ("f",), ()): "kurtosis_pop(f)",
    **{(f, ("n",), ()): f"{f}(n)" for f in ("bit_and", "bit_or", "bit_xor")},
    **{("checked_sum", (c,), ()): f"sum({c})" for c in "nd"},
    ("count", ("f", "g", "s"), ()): "count(*) FILTER (f IS NOT NULL AND g IS NOT NULL AND s IS NOT NULL)",
    ("min", ("t",), ()): "bool_and(t)",
    ("max", ("t",), ()): "bool_or(t)",
    **{("collect_list", (c,), ()): LIST.format(c) for c in "nfsdt"},
    **{("collect_set", (c,), ()): SET.format(c) for c in "nfsdt"},
    ("string_agg", ("s",), ("",)): "string_agg(s, '' ORDER BY s)",
    ("string_agg", ("s", "f", "g"), (", ", "DESC NULLS LAST", "ASC NULLS FIRST")): "string_agg(s, ', ' "
    "ORDER BY f DESC NULLS LAST, g ASC NULLS FIRST, s)",
    ("string_agg", ("s", "d"), ("'", "DESC NULLS FIRST")): "string_agg(s, '''' ORDER BY d DESC NULLS FIRST, s)",
    **{("percentile", ("f",), (p, False)): f"quantile_cont(f, {p})" for p in (0.0, 0.3, 0.5, 1.0)},
    ("percentile", ("f",), (0.3, True)): "percentile_cont(0.3) WITHIN GROUP (ORDER BY f DESC)",
    **{("percentile_disc", ("d",), (p, False)): f"quantile_disc(d, {p})" for p in (0.0, 0.5, 1.0)},
}


def the_call(case, name):
    function, (first, *others), parameters = case
    return ops.AggregateCall(function, first, name, tuple(others), parameters)


CALLS = tuple(the_call(case, f"r{i}") for i, case in enumerate(CASES))


def table_of(bag):
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row, weight in bag.items() for _ in range(weight)],
        SCHEMA.to_arrow(),
    )


def is_close(ours, theirs):
    """Whether two results are the same but for DuckDB's rounding; what does not vary is NULL here, NaN or 0 there."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6)
    if ours is None and isinstance(theirs, float):
        return not math.isfinite(theirs) or theirs == 0
    return ours == theirs


@pytest.mark.law("DBSP §8.1")
@given(st.dictionaries(rows, st.integers(1, 3), max_size=8))
def test_bags_have_the_results_of_duckdb(bag):
    import duckdb

    connection = duckdb.connect()
    connection.register("t", table_of(bag))
    query = f"SELECT k, {', '.join(CASES.values())} FROM t GROUP BY k"
    expected = {row[0]: row[1:] for row in connection.sql(query).fetchall()}
    found = {row[0]: row[1:] for row, _ in aggregate(ops.Aggregate(("k",), CALLS), ZSet(bag), SCHEMA)}
    assert found.keys() == expected.keys()
    for key, results in found.items():
        for call, case, ours, theirs in zip(CALLS, CASES, results, expected[key], strict=True):
            type_ = ACCUMULATORS[call.function].result([SCHEMA.types[c] for c in case[1]])
            assert is_close(ours, of_python(theirs, type_)), (str(call), ours, theirs)


def value(function, rows, types, *parameters):
    """The aggregate of one group of tuples."""
    schema = Schema(tuple(Column(f"c{i}", type_, nullable=True) for i, type_ in enumerate(types)))
    first, *others = schema.names
    call = ops.AggregateCall(function, first, "r", tuple(others), parameters)
    found = list(aggregate(ops.Aggregate((), (call,)), ZSet((row, 1) for row in rows), schema))
    return found[0][0][0] if found else None


@given(st.dictionaries(rows, st.integers(1, 3), min_size=1, max_size=8))
def test_of_rows_with_the_same_extreme_the_extreme_one_is_taken(bag):
    """Which one DuckDB takes is open, so this is the definition in Python."""
    for function, pick in (("min_by", min), ("max_by", max)):
        pairs = [(row[4], row[1]) for row in bag if row[1] is not None]
        expected = pick(pairs, key=lambda pair: (pair[1], pair[0] is not None, pair[0] or ""))[0] if pairs else None
        assert value(function, [(row[4], row[1]) for row in bag], [Type.STRING, Type.INT32]) == expected


@given(st.lists(st.none() | st.sampled_from(["a", "b", "c"]), min_size=1, max_size=8), st.booleans())
def test_the_most_frequent_value(values, descending):
    there = [v for v in values if v is not None]
    best = max((there.count(v) for v in there), default=0)
    most = sorted({v for v in there if there.count(v) == best}, reverse=descending)
    bag: dict = {}
    for v in values:
        bag[(v,)] = bag.get((v,), 0) + 1
    call = ops.AggregateCall("mode", "s", "r", (), (descending,))
    schema = Schema((Column("s", Type.STRING, nullable=True),))
    (((found,), _),) = aggregate(ops.Aggregate((), (call,)), ZSet(bag), schema)
    assert found == (most[0] if most else None)


def test_a_sum_that_does_not_fit_is_an_error():
    for type_, values in (
        (Type.INT64, [2**63 - 1, 1]),
        (Type.INT64, [-(2**63), -1]),
        (Type.UINT64, [2**63, 0]),
        (Type.decimal(38), [Decimal(10**38 - 1), Decimal(1)]),
    ):
        with pytest.raises(EvaluationError, match="the sum of a group does not fit into"):
            value("checked_sum", [(v,) for v in values], [type_])
    with pytest.raises(EvaluationError, match="the mean of a group does not fit into decimal\\(38, 4\\)"):
        value("decimal_mean", [(Decimal(10**38 - 1),)], [Type.decimal(38)])


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=6, unique=True))
def test_means_of_decimals_are_rounded_half_away_from_zero(numbers):
    found = value("decimal_mean", [(Decimal(n).scaleb(-2),) for n in numbers], [D])
    exact = Fraction(sum(numbers), len(numbers)) * 10**4  # in units of the sixth digit
    down = abs(exact).__floor__()
    nearest = down + (abs(exact) - down >= Fraction(1, 2))
    assert found == Decimal(nearest if exact >= 0 else -nearest).scaleb(-6)


def test_results_where_there_is_no_variation():
    f = Type.FLOAT64
    assert value("var_samp", [(1.0,)], [f]) is None
    assert value("var_pop", [(1.0,)], [f]) == 0.0
    assert value("corr", [(1.0, 2.0), (1.0, 3.0)], [f, f]) is None
    assert value("regr_r2", [(1.0, 2.0), (1.0, 3.0)], [f, f]) == 1.0
    assert value("regr_slope", [(1.0, 2.0), (3.0, 2.0)], [f, f]) is None
    assert value("skewness", [(1.0,)], [f]) is value("kurtosis", [(1.0,)], [f]) is None


def test_variances_beyond_floats_are_sparks() -> None:
    """One that underflows is that of a constant column; two that overflow give NaN."""
    f, large, small = [Type.FLOAT64] * 2, [(1e200, 1e200), (2e200, 3e200)], [(1.0, 1e-200), (2.0, 0.0)]
    for name in ("regr_r2", "corr"):
        assert math.isnan(value(name, large, f))
        assert value(name, small, f) is None
    assert value("regr_slope", small, f) is value("regr_intercept", small, f) is None


def test_infinite_values_have_no_variance():
    f = Type.FLOAT64
    assert math.isnan(value("var_pop", [(math.inf,), (1.0,)], [f]))
    assert math.isnan(value("corr", [(math.nan, 1.0), (1.0, 2.0)], [f, f]))
    assert value("corr", [(math.inf, 1.0), (1.0, 1.0)], [f, f]) is None


def test_a_variance_that_is_lost_in_floating_point_is_not_lost():
    values = [(1e16,), (1e16 + 2,), (1e16 + 4,)]
    assert value("var_pop", values, [Type.FLOAT64]) == 8 / 3
    assert value("corr", [(1e16, 1.0), (1e16 + 2, 2.0), (1e16 + 4, 3.0)], [Type.FLOAT64] * 2) == 1.0
    assert value("var_pop", [(1e300,), (-1e300,)], [Type.FLOAT64]) == math.inf

"""Aggregates of SQL in maintained views, against DuckDB on random bags with NULLs and random changes.

Catches a function with another meaning or type than Spark's, FILTER and DISTINCT on the wrong rows, results that keep
a trace of rows that are gone, overflow that passes or that leaves a trace, and refusals without place.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest
import sqlglot

import deltic
from deltic.circuit.edges import ZSetType
from deltic.circuit.tables import WEIGHT
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine
from deltic.errors import EvaluationError, ProgramError
from deltic.sql.dialect import Deltic
from deltic.sql.queries import view_circuit
from deltic.sql.text import SourceText
from deltic.values.types import Column as CircuitColumn
from deltic.values.types import Schema as CircuitSchema
from deltic.values.types import Type
from tests.sql import against_duckdb as harness
from tests.sql.random_queries import Column, Table

TABLE = Table(
    "r",
    (
        Column("k", "INT"),
        Column("i", "INT"),
        Column("b", "BIGINT"),
        Column("d", "DECIMAL(6, 2)"),
        Column("f", "DOUBLE"),
        Column("g", "DOUBLE"),
        Column("s", "STRING"),
        Column("t", "BOOLEAN"),
        Column("e", "DATE"),
        Column("z", "INT", False),
    ),
)
# Aggregates of Spark with what they are in DuckDB, "" for the same.
TWO = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy")
LIST = "coalesce(list({0} ORDER BY {0}) FILTER ({0} IS NOT NULL), [])"
SET = "coalesce(list_sort(list(DISTINCT {0}) FILTER ({0} IS NOT NULL)), [])"
AGGREGATES = {
    **dict.fromkeys(("count(*)", "count(i)", "count(1)", "count(z)", "count(DISTINCT s)", "count(DISTINCT f)"), ""),
    "count(i, s)": "count(*) FILTER (i IS NOT NULL AND s IS NOT NULL)",
    "count(DISTINCT i, s)": "count(DISTINCT (i, s)) FILTER (i IS NOT NULL AND s IS NOT NULL)",
    "count_if(t)": "count(*) FILTER (t)",
    "approx_count_distinct(s)": "count(DISTINCT s)",
    **dict.fromkeys(("sum(i)", "sum(b)", "sum(d)", "sum(f)", "sum(DISTINCT i)", "sum(z)", "avg(i)", "avg(f)"), ""),
    "avg(DISTINCT f)": "",
    "avg(d)": "CAST(sum(d) AS DECIMAL(20, 8)) / count(d)",
    "mean(b)": "avg(b)",
    "try_avg(i)": "avg(i)",
    "try_sum(i)": "sum(i)",
    "try_sum(d) FILTER (WHERE t)": "sum(d) FILTER (WHERE t)",
    "percentile(i, array(0.1, 0.5))": "quantile_cont(CAST(i AS DOUBLE), [0.1, 0.5])",
    "approx_percentile(i, array(0.5, 1.0)) FILTER (WHERE t)": "quantile_disc(i, [0.5, 1.0]) FILTER (WHERE t)",
    **{f"{f}({c})": "" for f in ("min", "max") for c in "idfste"},
    "any_value(s)": "min(s)",
    "first(e)": "min(e)",
    "last(e, true)": "max(e)",
    "last(d) IGNORE NULLS": "max(d)",
    "bool_and(t)": "",
    "every(t)": "bool_and(t)",
    "bool_or(t)": "",
    "some(t)": "bool_or(t)",
    "any(t)": "bool_or(t)",
    **{f"{f}({c})": "" for f in ("bit_and", "bit_or", "bit_xor") for c in "ib"},
    **{f"{f}(f)": "" for f in ("var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev")},
    "std(DISTINCT i)": "stddev_samp(DISTINCT i)",
    "var_pop(d)": "",
    "skewness(f)": "CASE WHEN count(f) > 2 "
    "THEN skewness(f) * (count(f) - 2) / sqrt(count(f) * (count(f) - 1)) ELSE 0 END",
    "kurtosis(f)": "kurtosis_pop(f)",
    **{f"{f}(f, g)": "" for f in (*TWO, "regr_sxx", "regr_syy", "regr_sxy", "regr_count")},
    "corr(i, d)": "",
    **{f"collect_list({c})": LIST.format(c) for c in "idste"},
    "array_agg(f)": LIST.format("f"),
    "array_agg(DISTINCT f)": SET.format("f"),
    **{f"collect_set({c})": SET.format(c) for c in "idste"},
    "string_agg(s, ',')": "string_agg(s, ',' ORDER BY s)",
    "listagg(s)": "string_agg(s, '' ORDER BY s)",
    "listagg(s, '; ') WITHIN GROUP (ORDER BY f DESC, i)": "string_agg(s, '; ' "
    "ORDER BY f DESC NULLS LAST, i NULLS FIRST, s)",
    "listagg(DISTINCT s, ',') WITHIN GROUP (ORDER BY s DESC)": "string_agg(DISTINCT s, ',' ORDER BY s DESC)",
    "min_by(z, i * 10 + z)": "arg_min(z, i * 10 + z)",
    "max_by(z, i * 10 - z)": "arg_max(z, i * 10 - z)",
    "percentile(i, 0.3)": "quantile_cont(CAST(i AS DOUBLE), 0.3)",
    "percentile(d, 0.5)": "quantile_cont(CAST(d AS DOUBLE), 0.5)",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY f DESC)": "",
    "percentile_disc(0.25) WITHIN GROUP (ORDER BY i)": "",
    "approx_percentile(d, 0.5, 100)": "quantile_disc(d, 0.5)",
    "median(b)": "quantile_cont(CAST(b AS DOUBLE), 0.5)",
    "max(mod(i, 2)) + sum(i) * 2": "max(i % 2) + sum(i) * 2",
}
FILTERED = [spark for spark in AGGREGATES if not spark.endswith(("NULLS", "2")) and "FILTER" not in AGGREGATES[spark]]


def close(ours, theirs):
    """Whether two values are the same but for DuckDB's rounding; what does not vary is NULL here, NaN or 0 there."""
    if isinstance(ours, float | Decimal) and isinstance(theirs, float | Decimal):
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6)
    if ours is None and isinstance(theirs, float):
        return not math.isfinite(theirs) or theirs == 0
    return ours == theirs


def circuit_of(query, table=TABLE):
    relations = {
        table.name: ZSetType(CircuitSchema(tuple(map(harness._column, table.columns))), False),
    }
    return view_circuit(sqlglot.parse_one(query, read=Deltic), relations, "v", SourceText(query)).circuit


def random_calls(rng):
    """Some aggregates in Spark's text and in DuckDB's, one of them with FILTER at times."""
    chosen = rng.sample(sorted(AGGREGATES), 4)
    pairs = [(spark, AGGREGATES[spark] or spark) for spark in chosen]
    spark = rng.choice(FILTERED)
    translated = AGGREGATES[spark] or spark
    if not translated.startswith(("CAST", "CASE", "coalesce")):
        pairs.append((f"{spark} FILTER (WHERE f > 0)", f"{translated} FILTER (f > 0)"))
    return pairs


def answer(query, state):
    """DuckDB's answer to a query of the table with these rows."""
    rows = [row for row, weight in state.items() for _ in range(weight)]
    columns = [pa.array([row[i] for row in rows], harness.TYPES[c.type].arrow) for i, c in enumerate(TABLE.columns)]
    harness._connection.register("r", pa.table(columns, names=[c.name for c in TABLE.columns]))
    try:
        return harness._connection.execute(query).fetchall()
    finally:
        harness._connection.unregister("r")


def by_key(rows, keyed):
    return {row[:keyed]: row[keyed:] for row in rows}


@pytest.mark.parametrize("seed", range(40))
def test_views_with_aggregates_equal_duckdb(seed):
    rng = random.Random(seed)
    pairs, keyed = random_calls(rng), seed % 3 > 0
    tail, key = ("GROUP BY k", "k, ") if keyed else ("", "")
    query = f"SELECT {key}{', '.join(f'{s} AS c{i}' for i, (s, _) in enumerate(pairs))} FROM r {tail}"
    theirs = f"SELECT {key}{', '.join(d for _, d in pairs)} FROM r {tail}"
    circuit = circuit_of(query)
    engine, state, before = IncrementalEngine(circuit), Counter(), Counter()
    for epoch in range(5):
        change = harness.random_change(rng, TABLE.columns, state)
        result = engine.apply(harness.batches_of(circuit, (TABLE,), {"r": change}), "trust")
        state = +Counter({row: state[row] + change[row] for row in state | change})
        wanted = by_key(answer(theirs, state), keyed)
        found = engine.read("v").to_pylist()
        rows = [tuple(row.values()) for row in found]
        ours = by_key(rows, keyed)
        assert ours.keys() == wanted.keys(), f"epoch {epoch}: {query}"
        for group, values in ours.items():
            for (spark, _), a, b in zip(pairs, values, wanted[group], strict=True):
                assert close(a, b), f"epoch {epoch}: {spark} is {a}, not {b}, in {query} of {state}"
        after = Counter(map(repr, rows))
        changed = Counter()
        for row in result.changes["v"].to_pylist() if "v" in result.changes else []:
            *values, weight = row.values()
            changed[repr(tuple(values))] += weight
        assert changed == Counter({r: after[r] - before[r] for r in after | before if after[r] != before[r]})
        before = after


@pytest.mark.parametrize(
    ("aggregate", "type_"),
    [
        ("sum(i)", "int64?"),
        ("sum(d)", "decimal(16, 2)?"),
        ("sum(f)", "float64?"),
        ("avg(i)", "float64?"),
        ("avg(d)", "decimal(10, 6)?"),
        ("count(i)", "int64"),
        ("min(i)", "int32?"),
        ("bit_or(i)", "int32?"),
        ("collect_list(d)", "array(decimal(6, 2))"),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY i)", "float64?"),
        ("approx_percentile(i, 0.5)", "int32?"),
        ("mode(s)", "string?"),
        ("var_pop(z)", "float64?"),
        ("string_agg(i, ',')", "string?"),
        ("sum(s)", "float64?"),
        ("any_value(z)", "int32?"),
        ("sum(NULL)", "float64?"),
        ("count(NULL)", "int64"),
    ],
)
def test_types_are_those_of_spark(aggregate, type_):
    circuit = circuit_of(f"SELECT {aggregate} AS x FROM r")
    (column,) = circuit.type_of(circuit.sinks["v"]).schema
    assert str(column.value_type) == type_


BIG = CircuitSchema((CircuitColumn("k", Type.INT32), CircuitColumn("x", Type.INT64, nullable=True)))


@pytest.mark.parametrize("make", [IncrementalEngine, ReferenceEngine])
def test_an_overflow_rejects_the_epoch_and_leaves_no_trace(make):
    query = "SELECT k, sum(x) AS s, max(x) AS m FROM r GROUP BY k"
    read = {"r": ZSetType(BIG, False)}
    circuit = view_circuit(sqlglot.parse_one(query, read=Deltic), read, "v", SourceText(query)).circuit
    engine = make(circuit)

    def apply(*rows):
        k, x, weights = zip(*rows, strict=True)
        columns = [pa.array(k, pa.int32()), pa.array(x, pa.int64()), pa.array(weights, pa.int64())]
        return engine.apply({"r": pa.table(columns, names=["k", "x", WEIGHT])})

    apply((1, 2**63 - 2, 1), (2, 5, 1))
    before = engine.read("v").to_pylist()
    with pytest.raises(EvaluationError, match="the sum of a group does not fit into int64") as error:
        apply((1, 2, 1), (2, 7, 1))
    if make is IncrementalEngine:
        assert str(error.value) == "v: the sum of a group does not fit into int64 with k = 1; the epoch was rejected"
    assert engine.read("v").to_pylist() == before
    apply((1, 1, 1), (2, 7, 1))
    apply((1, 1, 1), (1, 2**63 - 2, -1))
    assert sorted(tuple(row.values()) for row in engine.read("v").to_pylist()) == [(1, 2, 1), (2, 12, 7)]


def test_tried_sums_and_means_are_null_as_long_as_they_do_not_fit():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (b BIGINT, d DECIMAL(38, 0), i INTERVAL YEAR TO MONTH, s STRING)")
    pipeline.sql(
        "CREATE VIEW v AS SELECT try_sum(b) AS b, try_sum(d) AS d, try_avg(d) AS m, try_sum(i) AS i,"
        " try_avg(i) AS a, bool_and(s) AS every FROM t"
    )
    many = f"({2**63 - 1}, {10**38 - 1}, INTERVAL '178956970-7' YEAR TO MONTH, 'yes')"
    few = "(1, 1, INTERVAL '2' MONTH, 't')"
    pipeline.sql(f"INSERT INTO t VALUES {few}")
    kept = [tuple(row) for row in pipeline.sql("SELECT * FROM v")]
    assert kept == [(1, Decimal(1), Decimal(1), pa.MonthDayNano([2, 0, 0]), pa.MonthDayNano([2, 0, 0]), True)]
    pipeline.sql(f"INSERT INTO t VALUES {many}")
    assert [tuple(row) for row in pipeline.sql("SELECT * FROM v")] == [(None,) * 5 + (True,)]
    pipeline.sql("DELETE FROM t WHERE b > 1")
    assert [tuple(row) for row in pipeline.sql("SELECT * FROM v")] == kept
    pipeline.sql("INSERT INTO t VALUES (NULL, NULL, NULL, 'no')")
    assert [tuple(row) for row in pipeline.sql("SELECT b, every FROM v")] == [(1, False)]


def test_sums_that_may_not_fit():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE r (k INT, x BIGINT); CREATE VIEW v AS SELECT k, try_sum(x) AS s FROM r GROUP BY k")
    pipeline.sql("INSERT INTO r VALUES (1, 9223372036854775806), (1, 1), (2, 5), (3, NULL)")
    assert sorted(pipeline["v"]) == [(1, 2**63 - 1), (2, 5), (3, None)]
    pipeline.sql("INSERT INTO r VALUES (1, 1)")
    assert sorted(pipeline["v"]) == [(1, None), (2, 5), (3, None)]
    pipeline.sql("DELETE FROM r WHERE x > 5")
    assert sorted(pipeline["v"]) == [(1, 2), (2, 5), (3, None)]


@pytest.mark.parametrize(
    ("aggregate", "message", "marked"),
    [
        ("sum(t)", "sum takes a number, an interval or a TIMESTAMP, and t is BOOLEAN", "t"),
        ("bool_and(i)", "bool_and takes a condition, and i is INT", "i"),
        ("bit_and(f)", "bit_and takes an integer, and f is DOUBLE", "f"),
        ("percentile(i, 1.5)", "the percentage of percentile is from 0 to 1, not 1.5", "1.5"),
        ("percentile(i, z)", "the percentage of percentile is a constant of type DOUBLE", "z"),
        ("percentile(i, 0.5, f)", "percentile takes an integer as frequency, and f is DOUBLE", "f"),
        ("percentile(i, array(0.1, 2))", "the percentage of percentile is from 0 to 1, not 2", "2"),
        ("listagg(s, s)", "the delimiter of string_agg is a constant of type STRING", "s"),
        ("array_agg(i ORDER BY z)", "collect_list takes no order of rows", "array_agg(i ORDER BY z)"),
        ("try_sum(t)", "try_sum takes a number, an interval or a TIMESTAMP, and t is BOOLEAN", "t"),
        ("bitmap_or_agg(i)", "bitmap_or_agg takes bitmaps, and i is INT", "i"),
        ("count_min_sketch(i, 1, 1, 1)", "is not supported in a maintained view", "count_min_sketch(i, 1, 1, 1)"),
        ("every(t, t)", "bool_and takes 1 argument, not 2", "every(t, t)"),
        ("sum(i) FILTER (WHERE i)", "FILTER takes a condition, not INT", "i"),
    ],
)
def test_refusals_show_the_place(aggregate, message, marked):
    query = f"SELECT {aggregate} AS x FROM r"
    with pytest.raises(ProgramError) as error:
        circuit_of(query)
    (diagnostic,) = error.value.diagnostics
    assert message in diagnostic.message
    assert query[diagnostic.column - 1 :][: diagnostic.length] == marked


def test_null_beside_a_key_that_is_null_has_the_type_that_is_needed():
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE g (a INT); INSERT INTO g VALUES (1)")
        query = "SELECT NULL AS n, count(*) AS c FROM g GROUP BY NULL"
        assert pipeline.sql(f"{query} HAVING count(*) > NULL").to_arrow().to_pylist() == []
        assert pipeline.sql(query).to_arrow().to_pylist() == [{"n": None, "c": 1}]


def test_positions_of_bitmaps_and_frequencies_that_are_none():
    with deltic.Pipeline() as pipeline:
        pipeline.sql("CREATE TABLE r (x INT)")
        pipeline.sql("CREATE VIEW b AS SELECT bitmap_count(bitmap_construct_agg(x)) AS n FROM r")
        pipeline.sql("CREATE VIEW p AS SELECT percentile(x, 0.5, x) AS p FROM r")
        pipeline.sql("INSERT INTO r VALUES (3), (32767)")
        with pytest.raises(EvaluationError, match="positions from 0 to 32767"):
            pipeline.sql("INSERT INTO r VALUES (32768)")
        assert list(pipeline["b"]) == [(2,)]
        pipeline.sql("DROP VIEW b")
        with pytest.raises(EvaluationError, match="a frequency is not below zero"):
            pipeline.sql("UPDATE r SET x = -1 WHERE x = 3")
        assert list(pipeline["p"]) == [(32767.0,)]

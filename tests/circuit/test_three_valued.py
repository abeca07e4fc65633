"""SQL's logic on nullable values of every type, against DuckDB on random expressions.

Catches a NULL that is taken for a value, and a comparison, sum or difference that is not SQL's.
"""

from __future__ import annotations

import itertools
import random
from datetime import UTC, date, datetime, time
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from deltic.circuit.expressions import COMPARISONS, cast, column, infer, is_not_null, is_null, null, show
from deltic.circuit.expressions.meaning import evaluate
from deltic.circuit.reading.scalars import parse_expression
from deltic.values import from_arrow, to_arrow
from deltic.values.types import Column, Schema, Type

PRICE, RATE = Type.decimal(10, 2), Type.decimal(6, 4)
VALUES = {
    Type.INT8: (-3, 0, 2, 5),
    Type.UINT16: (0, 1, 7),
    Type.INT32: (-40, 0, 1, 31),
    Type.FLOAT32: (-1.5, 0.0, 0.25, 2.0, float("inf")),
    PRICE: (Decimal("-1.50"), Decimal("0.00"), Decimal("0.25"), Decimal("12345678.90")),
    RATE: (Decimal("-1.5000"), Decimal("0.2500"), Decimal("0.0001")),
    Type.STRING: ("", "A", "a", "é"),
    Type.BINARY: (b"", b"\x00", b"\xff"),
    Type.DATE: (date(1969, 12, 31), date(2024, 2, 29), date(2026, 1, 1)),
    Type.TIMESTAMP: (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
    Type.TIMESTAMP_NTZ: (datetime(2026, 1, 1), datetime(2024, 2, 29, 12)),
    Type.TIME: (time(0), time(23, 59, 59, 999999)),
    Type.BOOLEAN: (False, True),
}
SCHEMA = Schema(tuple(Column(f"{'xy'[i % 2]}{i // 2}", type_, True) for i, type_ in enumerate(
    itertools.chain.from_iterable((type_, type_) for type_ in VALUES))))  # fmt: skip
SUMS = {
    PRICE: ((exp.Add, PRICE, PRICE), (exp.Sub, PRICE, RATE), (exp.Mul, PRICE, RATE)),
    Type.INT32: ((exp.Sub, Type.DATE, Type.DATE),),
    Type.DATE: ((exp.Add, Type.DATE, Type.INT32), (exp.Sub, Type.DATE, Type.INT32)),
    Type.FLOAT32: ((exp.Add, Type.FLOAT32, Type.FLOAT32), (exp.Mul, Type.FLOAT32, Type.FLOAT32)),
}


def random_value(rng: random.Random, type_: Type, depth: int) -> exp.Expression:
    """An expression of the type, NULL more often than not."""
    if not depth or rng.random() < 0.3:
        return rng.choice([column(rng.choice([c.name for c in SCHEMA if c.type is type_])), null(type_)])
    if type_ is Type.BOOLEAN:
        return random_condition(rng, depth)
    first, second = random_value(rng, type_, depth - 1), random_value(rng, type_, depth - 1)
    condition = random_condition(rng, depth - 1)
    return rng.choice(
        [
            exp.Coalesce(this=first, expressions=[second]),
            exp.Case(ifs=[exp.If(this=condition, true=first)], default=rng.choice([second, None])),
            exp.Least(this=first, expressions=[second]),
            exp.Greatest(this=first, expressions=[second]),
        ]
    )


def random_condition(rng: random.Random, depth: int) -> exp.Expression:
    """A Boolean expression."""
    of = rng.choice(list(VALUES))
    first, second = random_value(rng, of, max(depth - 1, 0)), random_value(rng, of, max(depth - 1, 0))
    kinds = (*COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ)
    compared = rng.choice(kinds)(this=first, expression=second)
    if not depth:
        return rng.choice([compared, is_null(first), is_not_null(first)])
    left, right = random_condition(rng, depth - 1), random_condition(rng, depth - 1)
    both = rng.choice((exp.And, exp.Or))(this=left, expression=right)
    return rng.choice([compared, both, exp.Not(this=left), is_null(left)])


def random_sum(rng: random.Random) -> exp.Expression:
    kind, left, right = rng.choice([case for cases in SUMS.values() for case in cases])
    return kind(this=random_value(rng, left, 1), expression=random_value(rng, right, 1))


def random_tree(rng: random.Random) -> exp.Expression:
    if rng.random() < 0.3:
        return random_sum(rng)
    return random_value(rng, rng.choice(list(VALUES)), 3)


@pytest.mark.parametrize("batch", range(6))
def test_against_duckdb(batch):
    rng = random.Random(batch)
    trees = [random_tree(rng) for _ in range(40)]
    rows = [tuple(None if rng.random() < 0.4 else rng.choice(VALUES[c.type]) for c in SCHEMA) for _ in range(20)]
    for tree, expected in zip(trees, by_duckdb(rows, trees), strict=True):
        named = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
        found = [evaluate(tree, row, SCHEMA.types) for row in named]
        assert found == expected, show(tree)
        type_ = infer(tree, SCHEMA.value_types)
        assert type_.nullable or None not in found, show(tree)
        assert parse_expression(show(tree), SCHEMA.names) == tree


def by_duckdb(rows, trees):
    """The values of each expression on all rows."""
    columns = [to_arrow(values, c.type) for values, c in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
    operands = pa.table(columns, schema=SCHEMA.to_arrow())
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("operands", operands)
        for tree in trees:
            type_ = infer(tree, SCHEMA.value_types).type
            column = connection.sql(f"SELECT {show(tree)} AS r FROM operands").to_arrow_table()["r"]
            yield from_arrow(column.cast(type_.arrow), type_)


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (Type.INT64, Type.INT8, 300, 44),
        (Type.INT8, Type.UINT64, -1, 2**64 - 1),
        (Type.FLOAT64, Type.INT8, 127.9, 127),
        (Type.FLOAT64, Type.INT8, 128.0, None),
        (Type.FLOAT64, Type.FLOAT32, 1e300, float("inf")),
        (Type.FLOAT64, PRICE, 1.005, Decimal("1.01")),
        (Type.FLOAT64, PRICE, float("nan"), None),
        (Type.INT64, PRICE, 10**8, None),
        (Type.INT64, PRICE, -7, Decimal(-7)),
        (RATE, Type.decimal(3, 1), Decimal("-0.2500"), Decimal("-0.3")),
        (PRICE, Type.decimal(3, 1), Decimal("99.95"), None),
        (PRICE, Type.INT64, Decimal("-1.99"), -1),
        (PRICE, Type.FLOAT64, Decimal("0.10"), 0.1),
        (PRICE, Type.STRING, Decimal("0.10"), "0.10"),
        (Type.STRING, PRICE, "1.005", Decimal("1.01")),
        (Type.STRING, PRICE, "1,0", None),
        (Type.STRING, Type.INT8, "128", None),
        (Type.STRING, Type.UINT8, "-1", None),
        (Type.STRING, Type.DATE, "2024-02-29", date(2024, 2, 29)),
        (Type.STRING, Type.DATE, "2023-02-29", None),
        (Type.STRING, Type.DATE, "infinity", None),
        (Type.STRING, Type.TIMESTAMP, "2026-01-01 01:00:00+01", datetime(2026, 1, 1, tzinfo=UTC)),
        (Type.STRING, Type.TIMESTAMP_NTZ, "2026-01-01 01:00:00", datetime(2026, 1, 1, 1)),
        (Type.STRING, Type.TIMESTAMP_NTZ, "infinity", None),
        (Type.TIMESTAMP, Type.DATE, datetime(2026, 1, 1, 23, tzinfo=UTC), date(2026, 1, 1)),
        (Type.DATE, Type.TIMESTAMP, date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
        (Type.STRING, Type.BINARY, "é\\x00", b"\xc3\xa9\\x00"),
        (Type.BINARY, Type.STRING, b"\xc3\xa9", "é"),
        (Type.BINARY, Type.STRING, b"\xff", None),
        (Type.BOOLEAN, Type.INT8, True, 1),
        (Type.INT64, Type.BOOLEAN, 2, True),
        (Type.array(Type.INT64.or_null), Type.array(Type.STRING.or_null), (1, None), ("1", None)),
    ],
)
def test_casts(source, target, value, expected):
    tree = cast(column("x"), target)
    found = evaluate(tree, {"x": value}, {"x": source})
    assert (found, type(found)) == (expected, type(expected))
    assert evaluate(tree, {"x": None}, {"x": source}) is None
    assert expected is not None or infer(tree, {"x": Column("x", source).value_type}).nullable


YEAR, DAY = Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL


@pytest.mark.parametrize(
    ("kind", "left", "right", "types", "expected"),
    [
        (exp.Add, date(2024, 1, 31), 1, (Type.DATE, YEAR), date(2024, 2, 29)),
        (exp.Sub, date(2024, 3, 31), 13, (Type.DATE, YEAR), date(2023, 2, 28)),
        (exp.Sub, date(1, 1, 1), 1, (Type.DATE, YEAR), None),
        (exp.Add, date(9999, 12, 31), 1, (Type.DATE, Type.INT32), None),
        (exp.Add, 2**31 - 1, 1, (YEAR, YEAR), None),
        (exp.Sub, 3, 5, (YEAR, YEAR), -2),
        (exp.Add, 100, 100, (Type.INT8, Type.INT8), -56),
        (exp.Mul, Decimal(10) ** 37, Decimal(10), (Type.decimal(38, 0), Type.decimal(2, 0)), None),
        (exp.Mul, Decimal(10) ** 36, Decimal(10), (Type.decimal(38, 0), Type.decimal(2, 0)), Decimal(10) ** 37),
    ],
)
def test_arithmetic_at_the_edges(kind, left, right, types, expected):
    columns = dict(zip("xy", types, strict=True))
    assert evaluate(kind(this=column("x"), expression=column("y")), {"x": left, "y": right}, columns) == expected


def test_a_time_moved_by_the_difference_to_another_is_the_other():
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
    types = {"x": Type.TIMESTAMP_NTZ, "y": Type.TIMESTAMP_NTZ, "d": DAY}
    difference = evaluate(exp.Sub(this=column("y"), expression=column("x")), {"x": first, "y": last}, types)
    assert evaluate(exp.Add(this=column("x"), expression=column("d")), {"x": first, "d": difference}, types) == last
    assert evaluate(exp.Add(this=column("y"), expression=column("d")), {"y": last, "d": difference}, types) is None

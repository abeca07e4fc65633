"""Expressions over whole columns against the reference's evaluation of one row: every operator, extreme values."""

from __future__ import annotations

import contextlib
import decimal
import math
import random
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from sqlglot import exp

from deltic.circuit.expressions import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    cast,
    column,
    is_null,
    null,
    show,
    type_of,
)
from deltic.circuit.expressions.meaning import evaluate
from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.operators.numbers import stored
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.interner import Interner
from deltic.errors import UnsupportedError
from deltic.values import from_arrow, in_order, to_arrow
from deltic.values.types import Column, Schema, Type
from tests.differential.expressions import EXTREME, SCHEMA, random_row, random_scalar

EXACT = decimal.Context(prec=50)
PAIR = Type.struct([Column("a", Type.INT64, True), Column("b", Type.STRING, True)])


def columns_with(rows: list[tuple], schema: Schema) -> Columns:
    """The rows as the engine's columns."""
    interner = Interner()
    values = {
        c.name: encode(to_arrow([row[i] for row in rows], c.type), c.type, interner) for i, c in enumerate(schema)
    }
    return Columns(values, schema.types, len(rows), interner)


def check(expression: exp.Expression, rows: list[tuple], columns: Columns) -> None:
    """That the columns' values are those of each row by itself."""
    type_ = type_of(expression, columns.types)
    array, nulls = scalar.evaluate(expression, columns)
    got = from_arrow(decode(stored(array, type_, columns.interner), nulls, type_, columns.interner), type_)
    for row, actual in zip(rows, got, strict=True):
        named = dict(zip(columns.types, row, strict=True))
        expected = evaluate(expression, named, columns.types)
        same = (actual is None) == (expected is None) and in_order(actual) == in_order(expected)
        assert same, f"{show(expression)} of {named}: {actual!r}, not {expected!r}"


@pytest.mark.parametrize("seed", range(24))
def test_columns_agree_with_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    rows = [random_row(rng, EXTREME) for _ in range(25)]
    columns = columns_with(rows, SCHEMA)
    for _ in range(120):
        check(random_scalar(rng, rng.choice(list(EXTREME))), rows, columns)


# Values of other types, extreme ones among them, as they stand in rows.
VALUES: dict[Type, tuple] = {
    **{
        t: tuple(dict.fromkeys((t.range[0], t.range[0] + 1, 0, 1, 3, 7, t.range[1])))
        for t in Type.simple()
        if t.is_integer
    },
    Type.FLOAT32: (
        0.0,
        -1.5,
        1.0,
        3.4028234663852886e38,
        1.401298464324817e-45,
        math.inf,
        -math.inf,
        math.nan,
        0.10000000149011612,
    ),
    Type.decimal(5, 2): tuple(map(Decimal, ("-999.99", "-0.01", "0.00", "1.50", "999.99"))),
    Type.decimal(18): tuple(map(Decimal, (1 - 10**18, -1, 0, 2, 10**18 - 1))),
    Type.decimal(20, 3): tuple(Decimal(n).scaleb(-3) for n in (1 - 10**20, -1, 0, 2500, 10**20 - 1)),
    Type.decimal(38, 10): tuple(EXACT.scaleb(Decimal(n), -10) for n in (1 - 10**38, -1, 0, 15 * 10**9, 10**38 - 1)),
    Type.BINARY: (b"", b"\0", b"a", b"\xff"),
    Type.DATE: (date(1, 1, 1), date(2024, 1, 31), date(2024, 2, 29), date(9999, 12, 31)),
    Type.TIMESTAMP: (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2024, 2, 29, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
    ),
    Type.TIMESTAMP_NTZ: (datetime(1, 1, 1), datetime(2024, 1, 31, 23, 59, 59, 999999), datetime(9999, 12, 31)),
    Type.TIME: (time(0), time(12, 30), time(23, 59, 59, 999999)),
    Type.YEAR_MONTH_INTERVAL: (-(2**31), -1, 0, 13, 2**31 - 1),
    Type.DAY_TIME_INTERVAL: tuple(timedelta(microseconds=n) for n in (-(2**61), -1, 0, 86400 * 10**6, 2**63 - 1)),
    Type.array(Type.FLOAT64.or_null): ((), (None,), (0.0,), (math.nan,), (1.0, None)),
    PAIR: ((None, "a"), (1, None), (1, "b")),
}
BINARY = (*COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, *ARITHMETIC, *BITWISE, exp.IntDiv)


def expressions_of(x: Column, y: Column, rng: random.Random) -> list[exp.Expression]:
    """Every operation on two columns; some are not defined for their types."""
    a, b = column(x.name), column(y.name)
    found = [kind(this=a.copy(), expression=b.copy()) for kind in BINARY]
    found += [kind(this=a.copy(), expressions=[b.copy()]) for kind in (exp.Least, exp.Greatest, exp.Coalesce)]
    found += [exp.Neg(this=a.copy()), exp.BitwiseNot(this=a.copy()), is_null(a.copy()), null(x.type)]
    found += [exp.Coalesce(this=null(x.type), expressions=[a.copy()])]
    branch = exp.If(this=exp.NullSafeEQ(this=a.copy(), expression=b.copy()), true=a.copy())
    unknown = exp.If(this=exp.EQ(this=a.copy(), expression=b.copy()), true=null(x.type))
    found += [exp.Case(ifs=[branch.copy()]), exp.Case(ifs=[unknown, branch], default=b.copy())]
    targets = [*rng.sample(list(VALUES), 6), Type.STRING, Type.INT64, Type.FLOAT64]
    return found + [cast(a.copy(), target) for target in targets]


@pytest.mark.parametrize("left", VALUES, ids=str)
def test_every_operation_on_every_type(left: Type) -> None:
    rng = random.Random(str(left))
    done = 0
    for right in [
        left,
        left,
        *rng.sample(list(VALUES), 4),
        Type.INT32,
        Type.YEAR_MONTH_INTERVAL,
        Type.DAY_TIME_INTERVAL,
    ]:
        schema = Schema((Column("x", left, True), Column("y", right, True)))
        rows = [tuple(rng.choice((None, *VALUES[t], *VALUES[t])) for t in (left, right)) for _ in range(12)]
        columns = columns_with(rows, schema)
        for expression in expressions_of(*schema, rng):
            try:
                type_of(expression, schema.types)
            except UnsupportedError:
                continue
            check(expression, rows, columns)
            done += 1
    assert done > 40


def test_a_column_of_nothing_but_null() -> None:
    """No value of it is interned, so there is nothing to look up."""
    schema = Schema.of(x=Type.STRING.or_null, y=Type.STRING.or_null)
    columns = columns_with([(None, None)] * 3, schema)
    for expression in expressions_of(*schema, random.Random(0)):
        with contextlib.suppress(UnsupportedError):
            type_of(expression, schema.types)
            check(expression, [(None, None)] * 3, columns)


def test_keep_takes_only_true() -> None:
    """A condition that is NULL does not hold."""
    from sqlglot import parse_one

    columns = Columns({"x": encode(pa.array([0, 1, 2]), Type.INT64, Interner())}, {"x": Type.INT64}, 3, Interner())
    assert scalar.keep((parse_one("4 // x > 2", dialect="duckdb"),), columns).tolist() == [False, True, False]

"""Programs over columns against the reference's evaluation of one row: NULLs, the ends of types, errors, decimals.

Catches a program that computes a wrong value where it should not fit, and one that fits nothing.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from sqlglot import exp

from deltic.circuit.expressions import COMPARISONS, cast, checked, column, conversion, is_null, literal, null, show
from deltic.circuit.expressions.meaning import evaluate
from deltic.engine.operators import scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.operators.programs import ColumnProgram
from deltic.engine.storage.codec import decode, encode
from deltic.engine.storage.interner import Interner
from deltic.errors import EvaluationError, UnsupportedError
from deltic.functions import call
from deltic.values import from_arrow, in_order, to_arrow
from deltic.values.types import Column, Schema, Type
from tests.differential.expressions import EXTREME, SCHEMA, random_row, random_scalar

MONEY, MEAN, WIDE = Type.decimal(7, 2), Type.decimal(21, 6), Type.decimal(38, 2)
VALUES = {
    Type.INT32: (0, 1, -1, 7, 2**31 - 1, -(2**31)),
    Type.INT64: (0, 1, -1, 3, -10, 10**12, 2**53 + 1, 2**63 - 1, -(2**63)),
    MONEY: tuple(map(Decimal, ("0.00", "0.01", "-0.01", "3.33", "-12.50", "99999.99"))),
    MEAN: tuple(map(Decimal, ("0.000000", "0.000001", "-7.123456", "12.500000", "999999999999999.999999"))),
    WIDE: tuple(map(Decimal, ("0.00", "-1.55", "123456789.25", "11529215046068469.76", "-99999999999999999999.00"))),
    Type.FLOAT64: (0.0, 1.5, -2.25, 1e300, float("nan"), float("inf")),
    Type.DATE: (date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29)),
    Type.STRING: ("", "a", "Friday"),
    Type.BOOLEAN: (False, True),
}
DECIMALS = (MONEY, MEAN, WIDE)
TABLE = Schema(
    tuple(
        Column(f"{'o' * optional}{type_.kind.value}{i}", type_, optional)
        for i, type_ in enumerate(VALUES)
        for optional in (False, True)
    )
)


def filled(rng: random.Random, count: int) -> tuple[list[dict], Columns]:
    """Random rows, and the columns that hold them."""
    rows = [
        {c.name: None if c.nullable and rng.random() < 0.3 else rng.choice(VALUES[c.type]) for c in TABLE}
        for _ in range(count)
    ]
    interner = Interner()
    values = {c.name: encode(to_arrow([row[c.name] for row in rows], c.type), c.type, interner) for c in TABLE}
    return rows, Columns(values, TABLE.types, count, interner)


def made(rng: random.Random, type_: Type, depth: int) -> exp.Expression:
    """A random expression of a type."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.15:
            return null(type_)
        if rng.random() < 0.2 and type_ is not Type.FLOAT64:
            return literal(rng.choice(VALUES[type_]), type_)
        return column(rng.choice([c.name for c in TABLE if c.type is type_]))

    def operand(of: Type = type_) -> exp.Expression:
        return made(rng, of, depth - 1)

    other = rng.choice(list(VALUES))
    ways = [
        lambda: exp.Case(ifs=[exp.If(this=operand(Type.BOOLEAN), true=operand()) for _ in range(2)], default=operand()),
        lambda: exp.Case(ifs=[exp.If(this=operand(Type.BOOLEAN), true=operand())]),
        lambda: exp.Coalesce(this=operand(), expressions=[operand(), operand()]),
        lambda: exp.Paren(this=operand()),
    ]
    if type_ is Type.BOOLEAN:
        decimals = rng.choice(DECIMALS), rng.choice(DECIMALS)
        kinds = (exp.EQ, exp.NEQ) if other in (Type.STRING, Type.BOOLEAN) else COMPARISONS
        ways += [
            lambda: rng.choice(kinds)(this=operand(other), expression=operand(other)),
            lambda: rng.choice(COMPARISONS)(this=operand(decimals[0]), expression=operand(decimals[1])),
            lambda: rng.choice((exp.And, exp.Or))(this=operand(), expression=operand()),
            lambda: rng.choice((exp.NullSafeEQ, exp.NullSafeNEQ))(this=operand(other), expression=operand(other)),
            lambda: exp.Not(this=operand()),
            lambda: is_null(operand(other)),
            lambda: exp.In(
                this=operand(Type.INT64),
                expressions=[literal(v, Type.INT64) for v in rng.sample(VALUES[Type.INT64], 3)],
            ),
        ]
    if type_ in (Type.INT32, Type.INT64):
        safe = rng.choice((exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply))
        plain = rng.choice((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod))
        for kind in (safe, plain):
            ways.append(lambda kind=kind: kind(this=operand(), expression=operand()))
            ways.append(lambda kind=kind: checked(kind(this=operand(), expression=operand())))
        source = rng.choice((Type.INT32, Type.INT64, *DECIMALS))
        ways += [lambda: exp.Neg(this=operand()), lambda: checked(conversion(operand(source), type_))]
    if type_ in DECIMALS:
        source = rng.choice((Type.INT32, Type.INT64, *DECIMALS))
        ways += [lambda: exp.Neg(this=operand()), lambda: cast(operand(source), type_)]
        kind, parts = rng.choice((exp.Add, exp.Sub, exp.Mul, exp.Div)), (rng.choice(DECIMALS), rng.choice(DECIMALS))
        check = checked if kind is exp.Div and rng.random() < 0.5 else lambda expression: expression
        ways += 2 * [lambda: cast(check(kind(this=operand(parts[0]), expression=operand(parts[1]))), type_)]
    if type_ is Type.FLOAT64:
        kind, source = rng.choice((exp.Add, exp.Sub, exp.Mul, exp.Div)), rng.choice((Type.INT64, MONEY, MEAN))
        ways += [lambda: kind(this=operand(), expression=operand()), lambda: cast(operand(source), type_)]
    return rng.choice(ways)()


def expected_of(expression: exp.Expression, row: dict) -> tuple[object, bool]:
    """The value by the reference, and whether it is an error."""
    try:
        return evaluate(expression, row, TABLE.types), False
    except EvaluationError:
        return None, True


@pytest.mark.parametrize("seed", range(12))
def test_programs_agree_with_the_reference_or_do_not_fit(seed: int) -> None:
    rng = random.Random(seed)
    rows, columns = filled(rng, 12)
    ones = [columns.where(np.arange(len(rows)) == place) for place in range(len(rows))]
    fitting = computed = 0
    for _ in range(150):
        type_ = rng.choice(list(VALUES))
        expression = made(rng, type_, 3)
        try:
            program = ColumnProgram([expression], columns)
        except UnsupportedError:
            continue
        for row, one in zip(rows, ones, strict=True):
            (result,) = program.run(one)
            computed += 1
            if result is None:
                continue
            fitting += 1
            (actual,) = from_arrow(decode(*result, type_, columns.interner), type_)
            expected, fails = expected_of(expression, row)
            same = not fails and (actual is None) == (expected is None) and in_order(actual) == in_order(expected)
            assert same, f"{show(expression)} of {row}: {actual!r}, not {expected!r}"
    assert fitting > computed / 2


@pytest.mark.parametrize("seed", range(4))
def test_programs_agree_at_the_ends_of_types(seed: int) -> None:
    rng = random.Random(seed)
    rows, interner = [random_row(rng, EXTREME) for _ in range(20)], Interner()
    values = {
        c.name: encode(to_arrow([row[i] for row in rows], c.type), c.type, interner) for i, c in enumerate(SCHEMA)
    }
    columns = Columns(values, SCHEMA.types, len(rows), interner)
    for _ in range(150):
        type_ = rng.choice((Type.INT64, Type.FLOAT64, Type.BOOLEAN))
        expression = random_scalar(rng, type_)
        program = ColumnProgram([expression], columns)
        for place, row in enumerate(rows):
            (result,) = program.run(columns.where(np.arange(len(rows)) == place))
            if result is not None:
                (actual,) = from_arrow(decode(*result, type_, interner), type_)
                expected = evaluate(expression, dict(zip(SCHEMA.types, row, strict=True)), SCHEMA.types)
                same = (actual is None) == (expected is None) and in_order(actual) == in_order(expected)
                assert same, f"{show(expression)} of {row}: {actual!r}, not {expected!r}"


def test_a_program_of_many_rows_computes_each_block() -> None:
    rng = random.Random(0)
    rows, columns = filled(rng, 1000)
    money = next(c.name for c in TABLE if c.type is MONEY and c.nullable)
    doubled = exp.Add(this=column(money), expression=column(money))
    condition = exp.GT(this=column(money), expression=literal(Decimal("0.00"), MONEY))
    sums, kept = ColumnProgram([doubled], columns).run(columns)[0], scalar.keep((condition,), columns)
    assert sums is not None
    got = from_arrow(decode(*sums, Type.decimal(8, 2), columns.interner), Type.decimal(8, 2))
    assert got == [None if row[money] is None else 2 * row[money] for row in rows]
    by_program = Columns(columns.values, columns.types, columns.count, columns.interner, programs={})
    assert scalar.keep((condition,), by_program).tolist() == kept.tolist()


def test_conditions_of_which_some_have_no_program_are_all_tested() -> None:
    rng = random.Random(1)
    _, columns = filled(rng, 200)
    money = next(c.name for c in TABLE if c.type is MONEY and c.nullable)
    text = next(c.name for c in TABLE if c.type is Type.STRING)
    positive = exp.GT(this=column(money), expression=literal(Decimal("0.00"), MONEY))
    short = exp.EQ(this=call("upper", column(text)), expression=literal("A", Type.STRING))
    by_program = replace(columns, programs={})
    for conditions in [(positive, short), (short, positive)]:
        assert scalar.keep(conditions, by_program).tolist() == scalar.keep(conditions, columns).tolist()

"""Arithmetic inside searches against expressions over whole columns: the same bits, wherever the domains begin."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from deltic.circuit.expressions import cast, column, columns_of, literal, show, type_of
from deltic.engine.kernels import arithmetic as kernel
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.binding import value_of
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.arithmetic import Assembler, is_arithmetic
from deltic.engine.storage.codec import encode
from deltic.engine.storage.columns import Values
from deltic.engine.storage.interner import Interner
from deltic.values.types import Type
from tests.differential.expressions import EXTREME, SCHEMA, random_row, random_scalar

INTERNER = Interner()
NAMES = [c.name for c in SCHEMA if c.type.is_integer and not c.nullable]
ANY = (-(1 << 63), (1 << 63) - 1)


def columns(rng: random.Random, count: int) -> Columns:
    """Rows of extreme integers."""
    rows = [random_row(rng, EXTREME) for _ in range(count)]
    by_name = {name: [row[SCHEMA.index(name)] for row in rows] for name in NAMES}
    values = {
        name: encode(pa.array(found, SCHEMA.types[name].arrow), SCHEMA.types[name], INTERNER)
        for name, found in by_name.items()
    }
    return Columns(values, SCHEMA.types, count, INTERNER)


def assembled(expression: exp.Expression, bases: Sequence[int]) -> tuple[list[list[int]], tuple[int, int], int]:
    """The program, where its result is, and the number of slots, for columns in the first slots."""
    slots = iter(range(len(NAMES), 1000))
    taken = [len(NAMES) - 1]

    def fresh() -> int:
        taken.append(next(slots))
        return taken[-1]

    def place(name: str) -> tuple[int, int]:
        return NAMES.index(name), bases[NAMES.index(name)]

    assembler = Assembler(SCHEMA.types, lambda e: value_of(e, INTERNER), place, fresh)
    source = assembler.assemble(expression)
    return assembler.code, source, taken[-1] + 1


def computed(expression: exp.Expression, read: Columns, bases: Sequence[int]) -> Values:
    """What the kernel makes of each row."""
    code, source, count = assembled(expression, bases)
    table = np.array(code, np.int64).reshape(-1, 6)
    row = np.array([*source, *ANY, 0, 0, count, 0, ANY[1], ANY[0], -1], np.int64)
    slots = np.zeros(count + 1, np.uint64)
    found = []
    for i in range(read.count):
        for slot, (name, base) in enumerate(zip(NAMES, bases, strict=True)):
            slots[slot] = (int(read.values[name][0][i]) - base) % (1 << 64)
        assert kernel.let(table, 0, len(table), row, slots) == kernel.FITS
        found.append(slots[count])
    return np.array(found, np.uint64).view(np.int64)


@pytest.mark.parametrize("seed", range(8))
def test_the_kernel_computes_what_columns_do(seed: int) -> None:
    rng = random.Random(seed)
    tried = 0
    operations = set()
    while tried < 150:
        type_ = rng.choice((Type.INT64, Type.UINT64))
        expression = random_scalar(rng, type_)
        if not is_arithmetic(expression, SCHEMA.value_types) or not set(columns_of(expression)) <= set(NAMES):
            continue
        tried += 1
        read = columns(rng, 25)
        bases = [rng.choice(EXTREME[Type.INT64]) for _ in NAMES]
        array, nulls = scalar.evaluate(expression, read)
        assert nulls is None or not nulls.any()
        actual, expected = computed(expression, read, bases), numbers.stored(array, type_, INTERNER)
        assert actual.tolist() == np.broadcast_to(expected, actual.shape).tolist(), show(expression)
        operations |= {row[kernel.OPERATION] for row in assembled(expression, bases)[0]}
    assert len(operations) > 8


BINARY = (exp.Add, exp.Sub, exp.Mul, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
SHIFTS = (exp.BitwiseLeftShift, exp.BitwiseRightShift)
EXTREMES = (exp.Least, exp.Greatest)
DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)
X, Y, U, ZERO = column("i"), column("j"), column("u"), literal(0, Type.INT64)
NOT_U = exp.BitwiseNot(this=U)
PRODUCT = exp.Paren(this=exp.Mul(this=X, expression=Y))
EXPRESSIONS = [
    *(kind(this=a, expression=b) for kind in (*BINARY, *SHIFTS) for a, b in ((X, Y), (U, NOT_U), (ZERO, X))),
    *(kind(this=a, expressions=b) for kind in EXTREMES for a, b in ((X, [Y, ZERO]), (U, [NOT_U]), (NOT_U, []))),
    *(kind(this=a, expression=literal(d, Type.INT64)) for kind in DIVISIONS for a in (X, PRODUCT) for d in (2, -3, -1)),
    *(kind(this=U, expression=literal(d, Type.UINT64)) for kind in DIVISIONS for d in (3, 2**63, 2**64 - 1)),
    *(exp.Neg(this=PRODUCT), exp.BitwiseNot(this=X), exp.Neg(this=U)),
    *(cast(PRODUCT, Type.UINT64), cast(exp.Add(this=U, expression=NOT_U), Type.INT64), cast(U, Type.INT64)),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=show)
def test_each_operation_on_extremes(expression: exp.Expression) -> None:
    assert is_arithmetic(expression, SCHEMA.value_types)
    read = columns(random.Random(1), 200)
    array, nulls = scalar.evaluate(expression, read)
    assert nulls is None or not nulls.any()
    expected = numbers.stored(array, type_of(expression, SCHEMA.types), INTERNER)
    assert computed(expression, read, [5, -7, 11]).tolist() == expected.tolist()


NOT_ARITHMETIC = [
    "i // j",
    "i % 0",
    "i // 0",
    "f + 1.5",
    "pow(i, 2)",
    "SPARK_LENGTH(s)",
    "s",
    "1.5",
    "i < j",
    "p",
    "i + CAST(SPARK_LENGTH(s) AS BIGINT)",
]


@pytest.mark.parametrize("text", NOT_ARITHMETIC)
def test_what_searches_leave_to_vectors(text: str) -> None:
    expression = parse_one(text, dialect="duckdb")
    assert isinstance(expression, exp.Expression)
    assert not is_arithmetic(expression, SCHEMA.value_types)


def test_a_value_has_a_place_or_none() -> None:
    code = np.empty((0, 6), np.int64)
    slots = np.zeros(3, np.uint64)
    row = np.array([0, -5, 10, 20, 10, 0, 2, 0, ANY[1], ANY[0], -1], np.int64)
    outcomes = []
    for value in (9, 10, 20, 21, 30, -3):
        slots[0], slots[2] = (value + 5) % (1 << 64), 77
        outcomes.append((kernel.let(code, 0, 0, row, slots), int(slots[2])))
    fits, strays = kernel.FITS, (kernel.STRAYS, 77)
    assert outcomes == [strays, (fits, 0), (fits, 10), strays, strays, strays]
    assert row[[kernel.LEAST, kernel.GREATEST]].tolist() == [-3, 30]
    row[kernel.SOUGHT], slots[0] = 1, 100
    assert kernel.let(code, 0, 0, row, slots) == kernel.MISSES
    assert row[kernel.GREATEST] == 30

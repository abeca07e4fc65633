"""Conditions that a search decides, against conditions over whole columns: the same rows, with NULLs, of every type."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from deltic.circuit.expressions import cast, column, is_null, literal, show
from deltic.engine.kernels import arithmetic as kernel
from deltic.engine.operators import scalar
from deltic.engine.operators.binding import value_of
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.arithmetic import Operand
from deltic.engine.plan.conditions import TRUE, is_decided
from deltic.engine.plan.values import ValueAssembler
from deltic.engine.storage.codec import encode
from deltic.engine.storage.columns import signed
from deltic.engine.storage.interner import Interner
from deltic.values.types import Type, ValueType

CENTS, TENTHS = Type.decimal(7, 2), Type.decimal(3, 1)
VALUES: dict[Type, Sequence[Any]] = {
    Type.INT64: [-(2**63), -2, -1, 0, 1, 2, 7, 2**63 - 1],
    Type.UINT64: [0, 1, 2, 2**63, 2**64 - 1],
    Type.FLOAT64: [float("-inf"), -1.5, 0.0, 1.0, 2.5, float("inf"), float("nan")],
    Type.STRING: ["", "a", "b", "ab", "é"],
    Type.BOOLEAN: [True, False],
    CENTS: [Decimal(c).scaleb(-2) for c in (-99999, -150, 0, 50, 150, 151, 99999)],
    TENTHS: [Decimal(c).scaleb(-1) for c in (-999, -15, 0, 5, 15, 999)],
}
NAMES = {
    f"{'n' if nullable else 'c'}{number}": ValueType(t, nullable)
    for number, t in enumerate(VALUES)
    for nullable in (0, 1)
}
TYPES = {name: value.type for name, value in NAMES.items()}
NULL_TEST_OF_CERTAIN = is_null(column("c0"))
ANY = (-(1 << 63), (1 << 63) - 1)
MARK = -0x123456789ABCDEF
"""A base that no value has: the offset 0 is that of NULL."""


def random_condition(rng: random.Random, depth: int) -> exp.Expression:
    """A condition over the columns, of every form."""
    if depth and rng.random() < 0.7:
        if rng.random() < 0.3:
            return exp.Not(this=exp.Paren(this=random_condition(rng, depth - 1)))
        parts = [exp.Paren(this=random_condition(rng, depth - 1)) for _ in range(2)]
        return rng.choice((exp.And, exp.Or))(this=parts[0], expression=parts[1])
    name = rng.choice(list(NAMES))
    type_ = TYPES[name]
    match rng.randrange(5):
        case 0:
            return is_null(column(name))
        case 1 if type_ is Type.BOOLEAN:
            return column(name)
        case 2 if not type_.is_float and type_ is not Type.BOOLEAN:
            listed = rng.choices(VALUES[type_], k=rng.randint(1, 4))
            return exp.In(this=column(name), expressions=[literal(value, type_) for value in listed])
    compare = rng.choice((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE))
    return compare(this=column(name), expression=random_other(rng, type_))


def random_other(rng: random.Random, type_: Type) -> exp.Expression:
    """Something that a value of this type can be compared with."""
    if type_ in (CENTS, TENTHS) and rng.random() < 0.5:
        return column(rng.choice([name for name, other in TYPES.items() if other in (CENTS, TENTHS)]))
    if type_ is Type.INT64 and rng.random() < 0.5:
        return exp.Add(this=column("c0"), expression=literal(1, Type.INT64))
    if rng.random() < 0.5:
        return column(rng.choice([name for name, other in TYPES.items() if other is type_]))
    return literal(rng.choice(VALUES[type_]), type_)


class Trial:
    """Rows of all columns, in slots whose offsets begin anywhere."""

    def __init__(self, rng: random.Random, count: int) -> None:
        self.interner = Interner()
        self.columns = Columns({}, TYPES, count, self.interner)
        for name, value in NAMES.items():
            choices = [*VALUES[value.type], *[None] * (2 * value.nullable)]
            rows = pa.array(rng.choices(choices, k=count), value.type.arrow)
            self.columns.values[name] = encode(rows, value.type, self.interner)
        taken = {name: set(values.tolist()) for name, (values, _) in self.columns.values.items()}
        self.bases = {
            name: next(b for b in iter(partial(rng.randint, -9, 99), None) if b not in taken[name]) for name in NAMES
        }
        self.count = count

    def decided(self, condition: exp.Expression) -> list[bool]:
        """Return what the program of a condition says of each row."""
        found = self.held(condition, lambda assembler: (assembler.decide(condition), TRUE))
        assert set(found) <= {0, -1}
        return [truth == -1 for truth in found]

    def held(
        self, expression: exp.Expression, assemble: Callable[[ValueAssembler], tuple[Operand, Operand]]
    ) -> list[int | None]:
        """Return the value of each row by the program of an expression, as relations store it, or None."""
        arrays: list[Any] = []
        literals: dict[int, int] = {}
        slots = [len(NAMES)]

        def fresh() -> int:
            slots[0] += 1
            return slots[0] - 1

        def address(array: Any) -> int:
            arrays.append(array)
            literals[slot := fresh()] = array.ctypes.data
            return slot

        def place(name: str) -> Operand:
            return list(NAMES).index(name), self.bases[name]

        def label(side: exp.Expression, type_: Type) -> Operand:
            labels = self.interner[type_].order.labels()
            target = fresh()
            assembler.code.append([kernel.LOOK_UP, target, *assembler.operand(side), address(labels), 0])
            return target, 0

        def null(name: str) -> Operand | None:
            return (list(NAMES).index(name), 0) if NAMES[name].nullable else None

        def value(constant: exp.Expression) -> int:
            return value_of(constant, self.interner)

        for constant in expression.find_all(exp.Literal):  # labels of all texts are there before one is looked up
            if constant.is_string and not isinstance(constant.parent, exp.TryCast):
                value(constant)
        assembler = ValueAssembler(TYPES, value, place, fresh, null, label, address)
        source, known = assemble(assembler)
        known = assembler.apply(kernel.AND, known, TRUE)
        code = np.array(assembler.code, np.int64).reshape(-1, 6)
        row = np.array([*source, *ANY, MARK, 0, slots[0], 0, ANY[1], ANY[0], known[0]], np.int64)
        result: list[int | None] = []
        for i in range(self.count):
            held = np.zeros(slots[0] + 1, np.uint64)
            for slot, pointer in literals.items():
                held[slot] = pointer
            for slot, name in enumerate(NAMES):
                values, nulls = self.columns.values[name]
                is_null = nulls is not None and bool(nulls[i])
                held[slot] = 0 if is_null else (int(values[i]) - self.bases[name]) % (1 << 64)
            assert kernel.let(code, 0, len(code), row, held) == kernel.FITS
            offset = int(held[slots[0]])
            result.append(signed(offset + MARK) if offset else None)
        return result


@pytest.mark.parametrize("seed", range(8))
def test_a_search_decides_what_columns_do(seed: int) -> None:
    rng = random.Random(seed)
    tried, kept = 0, 0
    while tried < 60:
        condition = random_condition(rng, 3)
        if not is_decided(condition, NAMES):
            continue
        tried += 1
        trial = Trial(rng, 25)
        rows = scalar.keep((condition,), trial.columns)
        expected = np.zeros(25, np.bool_)
        expected[rows] = True
        assert trial.decided(condition) == expected.tolist(), show(condition)
        kept += int(expected.sum())
    assert tried * 5 < kept < tried * 20


NOT_DECIDED = [
    NULL_TEST_OF_CERTAIN,
    parse_one("n3 LIKE 'a%'", dialect="duckdb"),
    exp.Or(this=column("c4"), expression=exp.LT(this=column("n3"), expression=exp.Literal.string("a"))),
    exp.EQ(this=cast(column("c2"), Type.INT64), expression=literal(1, Type.INT64)),
    exp.EQ(this=column("c5"), expression=cast(exp.Literal.string("1.0000000000000000000"), Type.decimal(20, 19))),
]


@pytest.mark.parametrize("condition", NOT_DECIDED, ids=show)
def test_what_searches_leave_to_vectors(condition: exp.Expression) -> None:
    assert not is_decided(condition, NAMES)


def test_a_condition_of_many_parts_is_left_to_vectors() -> None:
    condition = is_null(column("n0"))
    for _ in range(64):
        condition = exp.Or(this=condition, expression=column("c4"))
    assert not is_decided(condition, NAMES)
    assert is_decided(condition.this, NAMES)

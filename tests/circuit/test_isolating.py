"""Solving for a variable: on random integers, extremes among them, the solution gives back what was put in."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sqlglot import exp, parse_one

from deltic.circuit.expressions import column, columns_of, literal, show
from deltic.circuit.isolating import solve
from deltic.engine.operators import numbers, scalar
from deltic.engine.operators.columns import Columns
from deltic.engine.plan.arithmetic import is_arithmetic
from deltic.values.types import Type
from tests.differential.expressions import SCHEMA, random_scalar
from tests.engine.plan.test_arithmetic import INTERNER, NAMES, columns

OF_TYPE = {Type.INT64: ["i", "j"], Type.UINT64: ["u"]}


def sum_like(rng: random.Random, type_: Type, depth: int) -> exp.Expression:
    """An expression of integers in which sums, differences and complements are frequent."""
    if not depth:
        return column(rng.choice(OF_TYPE[type_])) if rng.random() < 0.7 else literal(rng.randrange(2**62), type_)
    kind = rng.choice([exp.Add, exp.Sub, exp.BitwiseXor, exp.Neg, exp.BitwiseNot, exp.Paren, None])
    if kind is None:
        return random_scalar(rng, type_)
    first = sum_like(rng, type_, depth - 1)
    if kind in (exp.Neg, exp.BitwiseNot, exp.Paren):
        return kind(this=first)
    return kind(this=first, expression=sum_like(rng, type_, rng.randrange(depth)))


@pytest.mark.parametrize("type_", OF_TYPE)
def test_solutions_give_back_what_was_put_in(type_: Type) -> None:
    rng = random.Random(3)
    solved = 0
    while solved < 150:
        expression = sum_like(rng, type_, rng.randrange(1, 5))
        name = rng.choice(OF_TYPE[type_])
        read_columns = set(columns_of(expression))
        if (
            name not in read_columns
            or not read_columns <= set(NAMES)
            or not is_arithmetic(expression, SCHEMA.value_types)
        ):
            continue
        types = {**SCHEMA.types, "value": type_}
        before = show(expression)
        solution = solve(column("value"), expression, name, types)
        assert show(expression) == before
        if solution is None:
            continue
        solved += 1
        assert name not in columns_of(solution)
        read = columns(rng, 20)
        value = np.broadcast_to(numbers.stored(scalar.evaluate(expression, read)[0], type_, INTERNER), read.count)
        there = Columns({**read.values, "value": (value.astype(np.int64), None)}, types, read.count, INTERNER)
        found = np.broadcast_to(numbers.stored(scalar.evaluate(solution, there)[0], type_, INTERNER), read.count)
        assert found.tolist() == read.values[name][0].tolist(), f"{before}: {show(solution)}"


@pytest.mark.parametrize(
    ("text", "solution"),
    [
        ("i + 1", "value - 1"),
        ("5 - (i - j)", "5 - value + j"),
        ("-i", "-value"),
        ("i + i", None),
        ("i * 3", None),
        ("i / 2", None),
        ("TRY_CAST(u AS BIGINT) + 1", None),
    ],
)
def test_what_has_a_solution(text: str, solution: str | None) -> None:
    name = "u" if "u" in text else "i"
    found = solve(column("value"), parse_one(text, dialect="duckdb"), name, {**SCHEMA.types, "value": Type.INT64})
    assert (None if found is None else show(found)) == solution

"""Random typed expressions of the closed core, and rows for them to read.

`portable` keeps to the part where DuckDB's semantics coincide with ours: no value wraps around, no float becomes an
integer (DuckDB rounds), and nothing is raised to a power (DuckDB's powers of integers are floats).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import BITWISE, COMPARISONS, cast, column, literal
from deltic.values.types import Column, Schema, Type

SCHEMA = Schema(
    tuple(
        Column(name, type_, nullable)
        for name, type_, nullable in (
            ("i", Type.INT64, False),
            ("j", Type.INT64, False),
            ("k", Type.INT64, True),
            ("u", Type.UINT64, False),
            ("v", Type.UINT64, True),
            ("f", Type.FLOAT64, False),
            ("g", Type.FLOAT64, True),
            ("s", Type.STRING, False),
            ("t", Type.STRING, True),
            ("p", Type.BOOLEAN, True),
        )
    )
)
SMALL: dict[Type, tuple[Any, ...]] = {
    Type.INT64: tuple(range(-9, 10)),
    Type.UINT64: tuple(range(10)),
    Type.FLOAT64: (0.0, 1.0, -1.0, 0.5, -2.25, 3.0, 7.75),
    Type.STRING: ("", "a", "ab", "b", "B", "é", "✓", "it's", " "),
    Type.BOOLEAN: (False, True),
}
EXTREME: dict[Type, tuple[Any, ...]] = {
    **SMALL,
    Type.INT64: (*range(-2, 4), 63, 64, 2**31, -(2**31) - 1, 2**32, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1),
    Type.UINT64: (*range(4), 63, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1),
    Type.FLOAT64: (
        *SMALL[Type.FLOAT64],
        1e-300,
        -1e300,
        1e300,
        2.0**53 + 2,
        -(2.0**63),
        2.0**63,
        2.0**64,
        0.1,
        math.inf,
        -math.inf,
        math.nan,
    ),
}
_PORTABLE = {
    Type.INT64: (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
    Type.UINT64: (exp.Add, exp.Mul, exp.IntDiv, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor),
    Type.FLOAT64: (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod),
}
_INTEGER = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, *BITWISE)
_FULL = {Type.INT64: _INTEGER, Type.UINT64: _INTEGER, Type.FLOAT64: _PORTABLE[Type.FLOAT64]}
_NUMBERS = (Type.INT64, Type.UINT64, Type.FLOAT64)

Make = Callable[[], exp.Expression]


def random_row(rng: random.Random, values: Mapping[Type, tuple[Any, ...]]) -> tuple[Any, ...]:
    """A row of SCHEMA; nullable columns are NULL one time in four."""
    return tuple(None if c.nullable and rng.random() < 0.25 else rng.choice(values[c.type]) for c in SCHEMA)


def random_scalar(rng: random.Random, type_: Type, depth: int = 3, *, portable: bool = False) -> exp.Expression:
    """An expression of a type over the columns of SCHEMA."""
    if depth == 0 or rng.random() < 0.15:
        return _leaf(rng, type_, portable)
    return rng.choice(_makers(rng, type_, depth - 1, portable))()


def _leaf(rng: random.Random, type_: Type, portable: bool) -> exp.Expression:
    if rng.random() < 0.3:
        return literal(rng.choice((SMALL if portable else EXTREME)[type_]), type_)
    return column(rng.choice([c.name for c in SCHEMA if c.type is type_]))


def _makers(rng: random.Random, type_: Type, depth: int, portable: bool) -> list[Make]:
    """The ways to make an expression of this type, from operands of this depth."""

    def operand(of: Type = type_) -> exp.Expression:
        return random_scalar(rng, of, depth, portable=portable)

    def binary(kinds: tuple[type[exp.Expression], ...], of: Type = type_) -> Make:
        return lambda: rng.choice(kinds)(this=operand(of), expression=operand(of))

    if type_ is Type.BOOLEAN:
        of = rng.choice(tuple(SMALL))
        return [
            binary(COMPARISONS, of),
            binary(COMPARISONS, of),
            binary((exp.And, exp.Or)),
            lambda: exp.Not(this=operand()),
            lambda: exp.Is(this=operand(of), expression=exp.Null()),
        ]
    kinds = (_PORTABLE if portable else _FULL).get(type_)
    extremes: list[Make] = [
        lambda: rng.choice((exp.Least, exp.Greatest))(this=operand(), expressions=[operand()]),
    ]
    if kinds is None:
        return extremes
    unary = [exp.Neg] * (type_ is not Type.UINT64 or not portable) + [exp.BitwiseNot] * (type_ is Type.INT64)
    casts = [t for t in _NUMBERS if t is not type_ and (not portable or type_ is Type.FLOAT64)]
    makers = [*extremes, binary(kinds), binary(kinds), binary(kinds)]
    if unary:
        makers.append(lambda: rng.choice(unary)(this=operand()))
    if casts:
        makers.append(lambda: cast(operand(rng.choice(casts)), type_))
    return makers

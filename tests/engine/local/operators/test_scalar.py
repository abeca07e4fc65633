"""Expressions over whole columns against the reference's evaluation of one row: every operator, extreme values."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

from deltic.circuit.expressions import columns_of, show
from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Type
from deltic.engine.local.operators import scalar
from deltic.engine.local.storage.codec import Interner, decode, encode
from tests.differential.expressions import EXTREME, SCHEMA, random_row, random_scalar


@pytest.mark.parametrize("seed", range(24))
def test_columns_agree_with_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    rows = [random_row(rng, EXTREME) for _ in range(25)]
    names = [c.name for c in SCHEMA if not c.nullable]
    interner = Interner()
    values = {
        c.name: encode(pa.array([row[i] for row in rows], c.type.arrow), c.type, interner)
        for i, c in enumerate(SCHEMA)
        if not c.nullable
    }
    columns = scalar.Columns(values, SCHEMA.types, len(rows), interner)
    tried = 0
    while tried < 120:
        type_ = rng.choice(list(EXTREME))
        expression = random_scalar(rng, type_)
        if not set(columns_of(expression)) <= set(names):
            continue
        tried += 1
        array, nulls = scalar.evaluate(expression, columns)
        got = decode(scalar.stored(array, type_), type_, interner).to_pylist()
        for i, row in enumerate(rows):
            expected = evaluate(expression, dict(zip(SCHEMA.names, row, strict=True)), SCHEMA.types)
            actual = None if nulls is not None and nulls[i] else got[i]
            same = actual == expected or _both_nan(actual, expected)
            assert same, f"{show(expression)} of {dict(zip(SCHEMA.names, row, strict=True))}: {actual}, not {expected}"


def _both_nan(a: object, b: object) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)


def test_keep_takes_only_true() -> None:
    """A condition that is NULL does not hold."""
    from sqlglot import parse_one

    columns = scalar.Columns(
        {"x": encode(pa.array([0, 1, 2]), Type.INT64, Interner())}, {"x": Type.INT64}, 3, Interner()
    )
    assert scalar.keep((parse_one("4 // x > 2", dialect="duckdb"),), columns).tolist() == [False, True, False]


def test_a_bad_pattern_from_data_is_undefined() -> None:
    """A regular expression is checked when it is a literal; one that comes from a row may be wrong."""
    from sqlglot import exp

    interner = Interner()
    values = {n: encode(pa.array(v), Type.STRING, interner) for n, v in {"t": ["ab", "ab"], "p": ["a.", "("]}.items()}
    columns = scalar.Columns(values, {"t": Type.STRING, "p": Type.STRING}, 2, interner)
    match = exp.RegexpFullMatch(this=exp.column("t"), expression=exp.column("p"))
    assert scalar.keep((match,), columns).tolist() == [True, False]
    _, nulls = scalar.evaluate(match, columns)
    assert nulls is not None
    assert nulls.tolist() == [False, True]

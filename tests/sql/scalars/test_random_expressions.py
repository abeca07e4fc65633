"""Random expressions over all types: by vectors as in the reference interpreter, row by row, and as DuckDB has them.

Catches a type that is derived wrongly, NULL that comes up where the type says that there is none, an error on one side
only, and a meaning that a function has by itself and loses inside of another.
"""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from deltic.circuit.expressions import column
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError, ProgramError
from deltic.sql.dialect import Deltic
from deltic.sql.scalars import Typed, settled, typed
from deltic.sql.text import SourceText
from deltic.values.types import Column, Schema
from tests.engine.operators.test_scalar import check, columns_with
from tests.sql.scalars.random_expressions import COLUMNS, OF_TYPE, random_expression, random_rows

SCHEMA = Schema(tuple(Column(name, type_, True) for name, (type_, _) in COLUMNS.items()))


def translated(expression: str) -> Typed:
    text = f"SELECT {expression}"
    tree = sqlglot.parse_one(text, dialect=Deltic).expressions[0]
    return settled(typed(tree, lambda c: Typed(column(c.name), SCHEMA.value_types[c.name]), SourceText(text)))


def values_of(found: Typed, rows: list[tuple]) -> list:
    """The value for each row, or the error's class."""
    values = []
    for row in rows:
        try:
            value = evaluate(found.expression, dict(zip(SCHEMA.names, row, strict=True)), SCHEMA.types)
            assert value is not None or found.type.nullable
            values.append(value)
        except EvaluationError:
            values.append(EvaluationError)
    return values


def against_vectors(seed: int, count: int) -> Counter:
    rng, told = random.Random(seed), Counter()
    rows = random_rows(rng, 25)
    for _ in range(count):
        text = random_expression(rng, rng.choice(list(OF_TYPE)), rng.randint(1, 3), shared=False)
        try:
            found = translated(text)
        except ProgramError:
            told["refused"] += 1
            continue
        values = values_of(found, rows)
        defined = [row for row, value in zip(rows, values, strict=True) if value is not EvaluationError]
        failing = next((row for row, value in zip(rows, values, strict=True) if value is EvaluationError), None)
        check(found.expression, defined, columns_with(defined, SCHEMA))
        if failing is not None:
            with pytest.raises(EvaluationError):
                check(found.expression, [failing], columns_with([failing], SCHEMA))
        told["compared"] += 1
    return told


def against_duckdb(seed: int, count: int) -> Counter:
    rng, told = random.Random(seed), Counter()
    rows = random_rows(rng, 25)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    arrays = [pa.array([row[i] for row in rows], c.type.arrow) for i, c in enumerate(SCHEMA)]
    connection.register("t", pa.table(arrays, names=list(SCHEMA.names)))
    for _ in range(count):
        text = random_expression(rng, rng.choice(list(OF_TYPE)), rng.randint(1, 3), shared=True)
        found = translated(text)
        query = sqlglot.transpile(f"SELECT {text} AS r FROM t", read="spark", write="duckdb")[0]
        wanted = [row[0] for row in connection.execute(query).fetchall()]
        for row, ours, theirs in zip(rows, values_of(found, rows), wanted, strict=True):
            assert same(ours, theirs), f"{text}\n{query}\n{row}: {ours!r}, DuckDB {theirs!r}"
        told["compared"] += 1
    return told


def same(ours, theirs) -> bool:
    if isinstance(ours, float | Decimal) and theirs is not None:
        return float(ours) == pytest.approx(float(theirs), rel=1e-12, abs=1e-12)
    return ours == theirs


@pytest.mark.parametrize("seed", range(2))
def test_vectors_agree_with_the_reference(seed):
    assert against_vectors(seed, 50)["compared"] >= 40


@pytest.mark.parametrize("seed", range(2))
def test_duckdb_agrees(seed):
    assert against_duckdb(seed, 120)["compared"] == 120


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 103))
def test_more_of_both(seed):
    assert against_vectors(seed, 150)["compared"] >= 100
    assert against_duckdb(seed, 600)["compared"] == 600

"""Random expressions over values at the ends of their types: computed by whole columns and one row at a time.

As computed columns (a row whose value is undefined disappears) and as conditions of a filter. Wrap-around, shifts,
division by zero, conversions between numbers, text in any order, and floats that overflow are where they could differ.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.expressions import cast, column, show
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.oracle.pointwise import Rows
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine, from_arrow, to_arrow
from deltic.values.types import Column, Schema, Type
from tests.differential.expressions import EXTREME, SCHEMA, random_row, random_scalar

TABLE = Schema(tuple(Column(c.name, c.type) for c in SCHEMA))
EXPRESSIONS, ROWS = 12, 40


def computed(rng: random.Random, type_: Type) -> tuple[Circuit, list[str]]:
    """A view for each of some random expressions: the row's first column and the value; the expressions as text."""
    builder = CircuitBuilder()
    table = builder.add(ops.Source("t", TABLE))
    texts = []
    for n in range(EXPRESSIONS):
        value = random_scalar(rng, type_)
        columns = (TABLE.columns[0], Column("value", type_))
        builder.add(ops.Sink(f"v{n}"), builder.add(ops.Map.of_defined(columns, (column("i"), value), TABLE), table))
        texts.append(show(value))
    return builder.build(), texts


def filtered(rng: random.Random) -> tuple[Circuit, list[str]]:
    """A view for each of some random conditions."""
    builder = CircuitBuilder()
    table = builder.add(ops.Source("t", TABLE))
    predicates = [random_scalar(rng, Type.BOOLEAN) for _ in range(EXPRESSIONS)]
    for n, predicate in enumerate(predicates):
        builder.add(ops.Sink(f"v{n}"), builder.add(ops.Filter(predicate), table))
    return builder.build(), [show(p) for p in predicates]


def random_table(rng: random.Random) -> Rows:
    rows = (random_row(rng, EXTREME) for _ in range(4 * ROWS))
    return ZSet.of([row for row in dict.fromkeys(rows) if None not in row][:ROWS])


def comparable(rows: Rows) -> set[Any]:
    """Rows and weights with a NaN that equals itself."""
    return {(tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row), w) for row, w in rows}


def check(circuit: Circuit, texts: list[str], tables: list[Rows]) -> None:
    engines = IncrementalEngine(circuit), ReferenceEngine(circuit)
    old: Rows = ZSet()
    for table in tables:
        batch = {"t": to_arrow(table - old, TABLE)}
        actual, expected = (engine.apply(batch).changes for engine in engines)
        for n, text in enumerate(texts):
            found, wanted = (comparable(from_arrow(c[f"v{n}"])) if f"v{n}" in c else set() for c in (actual, expected))
            assert found == wanted, text
        old = table


@pytest.mark.parametrize("batch", range(6))
@pytest.mark.parametrize("type_", [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN])
def test_computed_columns(type_, batch):
    rng = random.Random(f"{type_}{batch}")
    circuit, texts = computed(rng, type_)
    check(circuit, texts, [random_table(rng), random_table(rng)])


@pytest.mark.parametrize("batch", range(12))
def test_conditions(batch):
    rng = random.Random(batch)
    circuit, texts = filtered(rng)
    check(circuit, texts, [random_table(rng), random_table(rng)])


@pytest.mark.parametrize("name", ["i", "u", "f", "s"])
@pytest.mark.parametrize("target", [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING])
def test_casts(name, target):
    builder = CircuitBuilder()
    table = builder.add(ops.Source("t", TABLE))
    columns = (*TABLE.columns, Column("value", target))
    values = (*(column(c.name) for c in TABLE), cast(column(name), target))
    builder.add(ops.Sink("v0"), builder.add(ops.Map.of_defined(columns, values, TABLE), table))
    check(builder.build(), [f"{name} as {target}"], [random_table(random.Random(1)), ZSet()])

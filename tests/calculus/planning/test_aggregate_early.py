"""Aggregates of parts of random joins, aggregated again after the join, are those of the whole join.

These tests catch a multiplicity that a partial aggregate loses or counts twice, an aggregate of a part that does not
tell what is asked of the whole, a group of NULLs alone, and a group that comes or goes with a part of it.
"""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus.planning.aggregate_early import aggregate_early
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.engine.engine import IncrementalEngine
from deltic.engine.plan.plans import Plans
from deltic.values.types import Column, Schema, Type
from tests.calculus.planning.test_plan import EAGER, Beliefs
from tests.differential.compare import first_disagreement

EAGERLY = Plans(costs=EAGER, growth=1.1, small=1, gain=float("inf"))
TABLES = {"r": "xy", "s": "xy", "t": "xyz"}
FUNCTIONS = ("sum", "sum", "count", "min", "max", "mean", "count_distinct")


def aggregated(rng: random.Random) -> Circuit:
    """Two views, each some aggregates by some columns of a join of two to four tables."""
    builder = CircuitBuilder()
    tables = {
        name: builder.add(ops.Source(name, Schema(tuple(Column(c, Type.INT64, c != "x") for c in columns))))
        for name, columns in TABLES.items()
    }
    for view in range(2):
        atoms = [_renamed(rng, builder, tables[name]) for name in rng.choices(list(tables), k=rng.randint(2, 4))]
        joined = builder.add(ops.Join(), *atoms)
        names = sorted(builder.type_of(joined).schema.names)
        favourite = rng.choice(names)
        calls = [
            ops.AggregateCall(function, rng.choice((favourite, favourite, rng.choice(names))), f"n{i}")
            for i, function in enumerate(rng.choices(FUNCTIONS, k=rng.randint(1, 3)))
        ]
        calls += [ops.AggregateCall("count", "", "rows")] * rng.randint(0, 1)
        if rng.random() < 0.15:
            calls.append(ops.AggregateCall("count", favourite, "both", (rng.choice(names),)))
        grouped = builder.add(ops.Aggregate(tuple(rng.sample(names, rng.randint(0, 2))), tuple(calls)), joined)
        builder.add(ops.Sink(f"v{view}"), grouped)
    return builder.build()


def _renamed(rng: random.Random, builder: CircuitBuilder, table: int) -> int:
    """The table with other names for its columns."""
    columns = builder.type_of(table).schema.columns
    names = rng.sample("abcdef", len(columns))
    renamed = tuple(Column(name, c.type, c.nullable) for name, c in zip(names, columns, strict=True))
    return builder.add(ops.Map(renamed, tuple(column(c.name) for c in columns)), table)


def contents(rng: random.Random) -> dict[str, frozenset[tuple[int | None, ...]]]:
    """Some rows of the tables; the first column is never NULL."""
    return {
        name: frozenset(
            (rng.randrange(3), *(rng.choice((None, 0, 1, 2)) for _ in columns[1:])) for _ in range(rng.randint(0, 6))
        )
        for name, columns in TABLES.items()
    }


@pytest.mark.parametrize("batch", range(4))
def test_random_aggregates_are_equal(batch):
    decided = 0
    for seed in range(batch * 40, (batch + 1) * 40):
        rng = random.Random(seed)
        before = aggregated(rng)
        after, decisions = aggregate_early(before, Beliefs(rng), EAGER)
        decided += len(decisions)
        one, other = Interpreter(push(surround(before))), Interpreter(push(surround(after)))
        old = dict.fromkeys(TABLES, ZSet())
        for _ in range(3):
            new = {name: ZSet.of(rows) for name, rows in contents(rng).items()}
            assert run(after, new) == run(before, new), f"seed {seed}\n{before}\n{after}"
            change = {name: new[name] - old[name] for name in TABLES}
            assert other.step(change) == one.step(change), f"seed {seed}\n{before}\n{after}"
            old = new
    assert decided > 10


@pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))])
def test_random_epochs(batch):
    """The local engine that plans eagerly puts out the changes of the reference."""
    for seed in range(batch * 15, (batch + 1) * 15):
        rng = random.Random(seed)
        circuit = aggregated(rng)
        found = first_disagreement(
            circuit, [contents(rng) for _ in range(4)], lambda c: IncrementalEngine(c, plans=EAGERLY)
        )
        assert found is None, f"seed {seed}: {found}\n{circuit}"

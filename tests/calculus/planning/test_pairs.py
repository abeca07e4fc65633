"""What becomes of circuits by each rewrite of a plan, as texts before and after; both sides run.

The texts show a variable that goes too early or stays too long, an aggregate that is taken of the wrong part, and what
is kept for several readers; random tables show a multiplicity or a NULL that is lost.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus.passes import optimize
from deltic.calculus.planning.aggregate_early import aggregate_early
from deltic.calculus.planning.eliminate import eliminate
from deltic.calculus.planning.share import share
from deltic.catalog import Catalog
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, define, parse
from deltic.values.types import Column, Kind, Schema, Type
from tests.calculus.planning.test_plan import EAGER

TABLES = {"e": 2, "f": 2, "g": 3, "i": 1}
DECLARED = "".join(
    f".decl {name}({', '.join(f'{c}: number' for c in 'xyz'[:width])})\n.input {name}\n"
    for name, width in TABLES.items()
)
O1, O2, O3 = (f".decl o({', '.join(f'{c}: number' for c in 'abc'[:width])})\n" for width in (1, 2, 3))
HIDDEN = '.decl r(x: number, y: number)\n.pragma "hidden" "r"\nr(x, y) :- e(x, y).\n'

ELIMINATE = {
    "a projection": O1 + "o(x) :- e(x, y), f(y, z).",
    "a test": O1 + "o(x) :- i(x), e(a, b).",
    "a join that is a test": O1 + "o(x) :- i(x), e(a, b), f(b, c).",
    "a join of three": O2 + "o(x, w) :- e(x, y), f(y, z), e(z, w).",
    "with conditions": O1 + "o(x) :- e(x, y), f(y, z), z > y, !i(z).",
    "a count": O2 + "o(x, n) :- i(x), n = count : { g(x, y, a), e(y, z) }.",
    "a greatest value": O2 + "o(x, n) :- i(x), n = max a : { g(x, y, a), e(y, z) }.",
    "in a recursion": O2 + HIDDEN + "r(x, w) :- r(x, y), r(y, z), r(z, w).\no(x, y) :- r(x, y).",
    "in a recursion with tables": O2 + HIDDEN + "r(x, z) :- r(x, y), e(y, z), f(z, w).\no(x, y) :- r(x, y).",
}
RESTRICT = {
    "the end of a path": O2 + "o(x, w) :- i(x), e(x, y), f(y, z), e(z, w), i(w).",
    "with conditions": O2 + "o(x, y) :- i(x), e(x, y), f(y, z), e(z, w), i(w), w > z, !i(z).",
}
AGGREGATE = {
    "a sum": O2 + "o(x, n) :- i(x), n = sum z : { e(x, y), f(y, z) }.",
    "a sum of all": O1 + "o(n) :- n = sum z : { e(x, y), f(y, z) }.",
    "a least value": O2 + "o(x, n) :- i(x), n = min z : { e(x, y), f(y, z) }.",
    "of paths": O2 + "o(x, n) :- i(x), n = sum w : { e(x, y), f(y, z), e(z, w) }.",
    "of parts that nothing connects": O1 + "o(n) :- n = sum z : { f(y, z), e(a, b) }.",
    "with a condition": O2 + "o(x, n) :- i(x), n = sum w : { e(x, y), f(y, w), w > y, !i(w) }.",
}
TRIANGLES = ".decl t(x: number, y: number, z: number)\nt(x, y, z) :- e(x, y), f(y, z), e(x, z).\n"
P3, Q3 = O3.replace("o(", "p("), O3.replace("o(", "q(")
SHARE = {
    "three readers": TRIANGLES
    + f'.pragma "hidden" "t"\n{O3}{P3}{Q3}'
    + "o(y, z, x) :- t(x, y, z).\np(z, x, y) :- t(x, y, z).\nq(z, y, x) :- t(x, y, z).",
    "a view that others read": TRIANGLES + P3 + Q3 + "p(z, x, y) :- t(x, y, z).\nq(z, y, x) :- t(x, y, z).",
}


class Large:
    """All tables have a million rows but `i`, all columns so many values; of recursive relations nothing is known."""

    def __init__(self, tables, values=1e3, marks=1e6):
        self.tables, self.values, self.marks = tables, values, marks

    def rows(self, relation):
        return (self.marks if relation == "i" else 1e6) if relation in self.tables else None

    def distinct(self, relation, columns):
        return min(self.rows(relation), self.values ** len(columns))

    def meeting(self, one, other):
        return self.rows(one[0]) * self.rows(other[0]) / self.values

    def joined(self, tables):
        variables = [v for _, columns in tables for v in columns]
        return math.prod(self.rows(name) for name, _ in tables) / self.values ** (len(variables) - len(set(variables)))

    def passing(self, relation, conditions, guess):
        return guess

    def sampled(self, tables, kept, rows):
        return None


def circuit_of(text):
    return optimize(Catalog((define(check([parse(text)])),)).circuit)


def checked(name, before, rewrite, golden, values=1e3, marks=1e6):
    """The rewrite does something, which the golden file shows, and both sides are equal on random tables."""
    tables = {op.name: op for op in before.operators if isinstance(op, ops.Source)}
    after, decisions = rewrite(before, Large(tables, values, marks))
    assert decisions
    message = "\n".join(map(str, decisions))
    golden(f"calculus/planning/{name.replace(' ', '-')}.txt", f"before:\n{before}\n\nafter:\n{after}\n\n{message}")
    for seed in range(12):
        rng = random.Random(seed)
        drawn = {table: rows(rng, source) for table, source in tables.items()}
        assert run(after, drawn) == run(before, drawn)


def rows(rng, source):
    """Some rows of a table, with NULLs where they may be."""
    found = {tuple(value(rng, column) for column in source.schema) for _ in range(rng.randint(0, 8))}
    return ZSet.of(found)


def value(rng, column):
    if column.nullable and rng.random() < 0.3:
        return None
    drawn = rng.randint(0, 3)
    return float(drawn) if column.type.is_float else Decimal(drawn) if column.type.kind is Kind.DECIMAL else drawn


@pytest.mark.parametrize("name", ELIMINATE)
def test_eliminate(name, golden):
    checked(f"eliminate-{name}", circuit_of(DECLARED + ELIMINATE[name]), eliminate, golden)


@pytest.mark.parametrize("name", RESTRICT)
def test_restrict(name, golden):
    checked(f"restrict-{name}", circuit_of(DECLARED + RESTRICT[name]), eliminate, golden, values=1e5, marks=1e3)


@pytest.mark.parametrize("name", AGGREGATE)
def test_aggregate_early(name, golden):
    checked(f"aggregate_early-{name}", circuit_of(DECLARED + AGGREGATE[name]), aggregate_early, golden)


def aggregated(*calls):
    """The join of two tables, grouped by a column of the first."""
    builder = CircuitBuilder()
    e = builder.add(ops.Source("e", Schema.of(k=Type.INT64, x=Type.INT64, y=Type.INT64)))
    columns = (
        Column("y", Type.INT64),
        Column("v", Type.INT64, nullable=True),
        Column("w", Type.INT32),
        Column("f", Type.FLOAT64),
        Column("d", Type.decimal(9, 2)),
    )
    n = builder.add(ops.Source("n", Schema(columns)))
    calls = tuple(ops.AggregateCall(call[0], call[1], "_".join(call), call[2:]) for call in calls)
    builder.add(ops.Sink("o"), builder.add(ops.Aggregate(("k",), calls), builder.add(ops.Join(), e, n)))
    return optimize(builder.build())


def test_aggregates_of_one_part(golden):
    calls = [("count", ""), ("count", "v"), ("sum", "v"), ("sum", "w"), ("max", "v"), ("min", "x")]
    checked("aggregate_early-several", aggregated(*calls), aggregate_early, golden)


@pytest.mark.parametrize("name", SHARE)
def test_share(name, golden):
    checked(f"share-{name}", circuit_of(DECLARED + SHARE[name]), share, golden, values=1e6)


@pytest.mark.parametrize(
    "calls",
    [
        [("mean", "v")],
        [("count_distinct", "v")],
        [("sum", "f")],
        [("sum", "d")],
        [("sum", "v"), ("sum", "x")],
        [("count", "v", "x")],
        [("count", "v", "w")],
    ],
    ids=str,
)
def test_what_is_not_aggregated_early(calls):
    circuit = aggregated(*calls)
    assert aggregate_early(circuit, Large({"e", "n"}), EAGER) == (circuit, [])

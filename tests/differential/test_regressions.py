"""Failures that random programs found, made small; each says what was wrong."""

from __future__ import annotations

import pytest
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.datalog import check, lower, parse
from deltic.values.types import Schema, Type
from tests.differential.compare import first_disagreement

PROGRAMS = {
    "a table that no rule reads": (
        """
        .decl r(x: number)
        .input r
        .decl v(x: number)
        v(1).
        """,
        [{"r": {(1,)}}, {"r": set()}],
    ),
    "an undefined value that nothing reads": (
        """
        .decl p(x: number, y: number)
        .input p
        .decl r(x: number)
        r(x) :- p(x, y), z = x / y.
        """,
        [{"p": {(1, 0), (2, 1)}}],
    ),
    "computed values in a domain with NULL, the least and the greatest number": (
        """
        .decl t(x: number, y: number)
        .input t
        .decl least(x: number)
        least(m) :- m = min y : { t(_, y) }.
        .decl next(x: number)
        next(x) :- t(x - 1, x).
        next(x) :- least(x), t(_, x + 1).
        """,
        [{"t": {(4, -(2**63)), (2**63 - 1, 1)}}, {"t": {(4, 5), (2**63 - 1, -(2**63))}}, {"t": {(4, 5)}}],
    ),
    "conversions of constants that have no value": (
        """
        .decl r(x: number)
        .input r
        .decl v(x: number)
        v(to_number("abc")) :- r(_).
        .decl w(x: unsigned)
        w(ftou(-1.0)) :- r(_).
        .decl z(x: number)
        z(x) :- r(x), x = to_number("abc").
        """,
        [{"r": {(0,), (1,)}}],
    ),
    "rows that only changed iterations": (
        """
        .decl t(x: number, y: number)
        .input t
        .decl s(x: number, y: number)
        .input s
        .decl d(x: number, y: number)
        d(x, x) :- s(x, x).
        d(x, y) :- t(x, y), d(y % x, _).
        """,
        [
            {"s": {(0, 0)}, "t": {(1, 1), (2, 1)}},
            {"s": {(0, 0), (1, 1)}, "t": {(2, 1)}},
            {"s": set(), "t": set()},
        ],
    ),
    "a fact of zero before the first value": (
        """
        .decl t(x: float, s: symbol)
        .input t
        t(0.0, "").
        """,
        [{"t": set()}, {"t": {(-1.5, "")}}],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    program, run = PROGRAMS[name]
    states = [{table: frozenset(rows) for table, rows in contents.items()} for contents in run]
    assert first_disagreement(lower(check([parse(program)])), states) is None


AC = Schema.of(a=Type.INT64, c=Type.STRING)
A, C = Schema.of(a=Type.INT64), Schema.of(c=Type.STRING)
EMPTY = exp.EQ(this=column("c"), expression=literal("", Type.STRING))
SMALL = exp.LT(this=column("a"), expression=literal(1, Type.INT64))


def antijoin_of_selected(predicate: exp.Expression) -> Circuit:
    """s ▷ σ(s)."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", AC))
    selected = builder.add(ops.Filter(predicate), source)
    builder.add(ops.Sink("v"), builder.add(ops.Antijoin(), source, selected))
    return builder.build()


def antijoin_of_repeated() -> Circuit:
    """s ▷ σ(a = b)(s)."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", Schema.of(a=Type.INT64, b=Type.INT64)))
    equal = builder.add(ops.Filter(exp.EQ(this=column("a"), expression=column("b"))), source)
    builder.add(ops.Sink("v"), builder.add(ops.Antijoin(), source, equal))
    return builder.build()


def negation_of_a_set_inside_a_body() -> Circuit:
    """p(a, c) :- s(a, c), !t(a), with t the set of a projection that is computed in the body."""
    body = CircuitBuilder(1)
    rows = body.add(ops.Import(0, ZSetType(AC, is_set=True)))
    others = body.add(ops.Import(1, ZSetType(AC, is_set=True)))
    projected = body.add(ops.Distinct(), body.add(ops.Map(A.columns, (column("a"),)), others))
    kept = body.add(ops.Antijoin(), rows, projected)
    both = body.add(ops.Plus(), kept, body.add(ops.Join(), kept, body.add(ops.Feedback("p", AC))))
    body.add(ops.Sink("p"), body.add(ops.Distinct(), both))
    builder = CircuitBuilder()
    sources = [builder.add(ops.Source(name, AC)) for name in "st"]
    bundle = builder.add(ops.Fixpoint(body.build()), *sources)
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("p"), bundle))
    return builder.build()


ROWS = [{(0, ""), (1, ""), (1, "x")}, {(1, ""), (0, "x")}, {(1, "x")}, set()]


@pytest.mark.parametrize("predicate", [EMPTY, SMALL], ids=["equality", "comparison"])
def test_antijoin_with_a_selection(predicate):
    assert first_disagreement(antijoin_of_selected(predicate), [{"s": frozenset(rows)} for rows in ROWS]) is None


def test_antijoin_with_a_repeated_column():
    states = [{"s": frozenset(rows)} for rows in ({(0, 0), (0, 1), (1, 0)}, {(0, 1), (1, 1)}, {(1, 0)})]
    assert first_disagreement(antijoin_of_repeated(), states) is None


def test_negation_of_a_set_inside_a_body():
    states = [{"s": frozenset(s), "t": frozenset(t)} for s in ROWS for t in ROWS]
    assert first_disagreement(negation_of_a_set_inside_a_body(), states) is None

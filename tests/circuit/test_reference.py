"""The reference interpreter on examples that a reader can compute by hand."""

from __future__ import annotations

import pytest
from sqlglot import exp

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle import interpreter as reference
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.errors import UnsupportedError
from deltic.values.types import Column, Schema, Type
from tests.circuit.examples import XY, YZ, X, Y, arithmetic, unreachable

S = ops.Source("s", XY, is_set=False)
T = ops.Source("t", YZ, is_set=False)
U = ops.Source("u", Y)


def result(operator: ops.Operator, *tables: tuple[ops.Source, dict]) -> dict:
    """The operator's output for the contents of its inputs, as {row: weight}."""
    builder = CircuitBuilder()
    inputs = [builder.add(source) for source, _ in tables]
    builder.add(ops.Sink("v"), builder.add(operator, *inputs))
    return dict(run(builder.build(), {source.name: ZSet(rows) for source, rows in tables})["v"])


def test_map_adds_the_weights_of_rows_that_become_equal():
    rows = {(1, 2): 1, (1, 3): 2, (2, 2): 1}
    assert result(ops.Map(X.columns, (column("x"),)), (S, rows)) == {(1,): 3, (2,): 1}
    assert result(ops.Map((), ()), (S, rows)) == {(): 4}


def test_map_drops_rows_whose_value_is_undefined():
    quotient = exp.IntDiv(this=column("x"), expression=column("y"))
    rows = {(7, 2): 1, (7, 0): 5}
    assert result(ops.Map(X.columns, (quotient,), partial=True), (S, rows)) == {(3,): 1}
    nullable = (Column("x", Type.INT64, nullable=True),)
    assert result(ops.Map(nullable, (quotient,)), (S, rows)) == {(3,): 1, (None,): 5}


def test_filter_keeps_what_is_true_and_not_what_is_null():
    quotient = exp.IntDiv(this=column("x"), expression=column("y"))
    positive = exp.GT(this=quotient, expression=literal(0, Type.INT64))
    assert result(ops.Filter(positive), (S, {(4, 2): 3, (0, 1): 1, (4, 0): 1})) == {(4, 2): 3}


def test_join_multiplies_weights():
    s, t = {(1, 2): 2, (5, 6): 1}, {(2, 3): -3, (2, 4): 1, (9, 9): 1}
    assert result(ops.Join(), (S, s), (T, t)) == {(1, 2, 3): -6, (1, 2, 4): 2}


def test_join_of_three_inputs_and_of_none_shared():
    t = (ops.Source("t", Schema.of(z=Type.INT64)), {(8,): 1, (9,): 2})
    assert result(ops.Join(), (S, {(1, 2): 1, (3, 4): 1}), t, (U, {(4,): 1})) == {(3, 4, 8): 1, (3, 4, 9): 2}


def test_antijoin_matches_the_second_input_s_columns_wherever_they_stand():
    assert result(ops.Antijoin(), (S, {(1, 2): 3, (1, 3): -1}), (U, {(2,): 1})) == {(1, 3): -1}
    swapped = ops.Source("u", Schema.of(y=Type.INT64, x=Type.INT64))
    assert result(ops.Antijoin(), (S, {(1, 2): 1, (2, 1): 1}), (swapped, {(2, 1): 1})) == {(2, 1): 1}


def test_antijoin_with_a_nullary_set_is_a_switch():
    switch = ops.Source("u", Schema(()))
    assert result(ops.Antijoin(), (S, {(1, 2): 1}), (switch, {})) == {(1, 2): 1}
    assert result(ops.Antijoin(), (S, {(1, 2): 1}), (switch, {(): 1})) == {}


def test_plus_negate_distinct_constant():
    other = ops.Source("o", XY, is_set=False)
    assert result(ops.Plus(), (S, {(1, 1): 1, (2, 2): 1}), (other, {(1, 1): 2, (2, 2): -1})) == {(1, 1): 3}
    assert result(ops.Negate(), (S, {(1, 1): 2})) == {(1, 1): -2}
    assert result(ops.Distinct(), (S, {(1, 1): 2, (2, 2): -1, (3, 3): 1})) == {(1, 1): 1, (3, 3): 1}
    assert result(ops.Constant(X, ((1,), (2,), (1,)))) == {(1,): 2, (2,): 1}


def test_recursion_and_negation():
    views = run(unreachable(), {"edge": ZSet.of([(1, 2), (2, 3), (3, 2)]), "node": ZSet.of([(1,), (2,), (3,)])})
    assert views["path"] == ZSet.of([(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)])
    assert views["unreachable"] == ZSet.of([(2, 1), (3, 1)])


def test_mutual_recursion():
    """even(0). odd(n + 1) :- even(n), n < 5. even(n + 1) :- odd(n), n < 5."""
    body = CircuitBuilder(1)
    zero = body.add(ops.Import(0, ZSetType(X, is_set=True)))
    following = exp.Add(this=column("x"), expression=literal(1, Type.INT64))
    small = exp.LT(this=column("x"), expression=literal(5, Type.INT64))
    steps = {
        name: body.add(ops.Map(X.columns, (following,)), body.add(ops.Filter(small), body.add(ops.Feedback(name, X))))
        for name in ("even", "odd")
    }
    body.add(ops.Sink("even"), body.add(ops.Distinct(), body.add(ops.Plus(), zero, steps["odd"])))
    body.add(ops.Sink("odd"), body.add(ops.Distinct(), steps["even"]))
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(body.build()), builder.add(ops.Constant(X, ((0,),))))
    for name in ("even", "odd"):
        builder.add(ops.Sink(name), builder.add(ops.BundleRelation(name), bundle))
    views = run(builder.build(), {})
    assert views == {"even": ZSet.of([(0,), (2,), (4,)]), "odd": ZSet.of([(1,), (3,), (5,)])}


def test_a_fixpoint_that_never_ends_is_cut_off(monkeypatch):
    monkeypatch.setattr(reference, "ITERATION_LIMIT", 20)
    body = CircuitBuilder(1)
    numbers = body.add(ops.Feedback("n", X))
    one_more = body.add(ops.Map(X.columns, (exp.Add(this=column("x"), expression=literal(1, Type.INT64)),)), numbers)
    start = body.add(ops.Import(0, ZSetType(X, is_set=True)))
    body.add(ops.Sink("n"), body.add(ops.Distinct(), body.add(ops.Plus(), start, one_more)))
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(body.build()), builder.add(ops.Constant(X, ((0,),))))
    builder.add(ops.Sink("n"), builder.add(ops.BundleRelation("n"), bundle))
    with pytest.raises(UnsupportedError, match="no end after 20 iterations"):
        run(builder.build(), {})


def test_signed_weights_and_computed_columns():
    views = run(arithmetic(), {"s": ZSet({(1, 2): 3, (4, 0): 1})})
    assert views["computed"] == ZSet({(0, 3, "it's"): 2, (None, 4, "it's"): 1, (0, -15, "it's"): -1})
    assert views["some"] == ZSet({(): 1})


def stream(operator: ops.Operator, *values: dict) -> list[dict]:
    """The stream that a stream operator makes of this one."""
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(operator, builder.add(S)))
    machine = Interpreter(builder.build())
    return [dict(machine.step({"s": ZSet(value)})["v"]) for value in values]


def test_stream_operators():
    a, b = {(1, 1): 1}, {(1, 1): -1, (2, 2): 3}
    assert stream(ops.Integrate(), a, b, {}) == [a, {(2, 2): 3}, {(2, 2): 3}]
    assert stream(ops.Differentiate(), a, b, {}) == [a, {(1, 1): -2, (2, 2): 3}, {(1, 1): 1, (2, 2): -3}]
    assert stream(ops.Delay(), a, b, {}) == [{}, a, b]


def test_distinct_delta_looks_at_the_threshold_only():
    old, delta = ops.Source("old", X, is_set=False), ops.Source("delta", X, is_set=False)
    before = {(1,): 1, (2,): 1, (3,): 2, (4,): -1}
    change = {(1,): -1, (2,): 1, (3,): -1, (4,): 1, (5,): 1, (6,): -1}
    assert result(ops.DistinctDelta(), (old, before), (delta, change)) == {(1,): -1, (5,): 1}

"""Recursions that compute values for ever: the epoch is rejected, with the rules that do it, and leaves no trace."""

from __future__ import annotations

import pytest
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.iterations import computing_rules
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.reference import ReferenceEngine
from deltic.errors import DelticError, IterationLimitError
from deltic.pipeline.options import Recursion
from deltic.pipeline.session import Pipeline
from deltic.values.types import Schema, Type
from tests.conformance.engines import Driver

PROGRAM = """
    .decl start(x: number)
    .input start
    .decl limit(x: number)
    .input limit
    .decl n, m(x: number)
    n(x) :- start(x).
    n(x + 1) :- m(x), !limit(x).
    m(x) :- n(x).
    m(y) :- n(x), y = x * 2, x > 0, x < 3.
    .decl far(x: number)
    far(x) :- n(x), x > 3.
"""
ENGINES = {
    "reference": lambda circuit: ReferenceEngine(circuit, 60),
    **{
        strategy.value: lambda circuit, strategy=strategy: IncrementalEngine(circuit, strategy, iteration_limit=60)
        for strategy in Strategy
    },
}


def circuit() -> Circuit:
    return lower(check([parse(PROGRAM)]))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_runaway_recursion_leaves_no_trace(engine):
    driver = Driver(ENGINES[engine](circuit()), circuit())
    driver.insert(limit=[(20,)])
    driver.insert(start=[(-3,)])
    assert driver.rows("n") == {(i,) for i in range(-3, 21)}
    before = driver.everything()
    for change in ({"start": [((30,), 1)]}, {"limit": [((20,), -1)]}):
        with pytest.raises(IterationLimitError) as caught:
            driver.apply(change)
        assert driver.everything() == before
        assert caught.value.relations == ("m", "n")
    driver.apply({"start": [((19,), 1)], "limit": [((60,), 1)]})
    assert driver.rows("far") == {(i,) for i in range(4, 21)}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_error_names_relations_and_rules(engine):
    driver = Driver(ENGINES[engine](circuit()), circuit())
    with pytest.raises(IterationLimitError) as caught:
        driver.insert(start=[(1,)])
    message = str(caught.value)
    assert message.startswith("the recursion through m, n has no end after 60 iterations; nothing was changed.")
    assert "n(x + 1) :- m" in message
    assert "x * 2" in message
    assert "iteration_limit" in message


CHAIN = """
    .decl edge(x: number, y: number)
    .input edge
    .decl reach(x: number)
    reach(0).
    reach(y) :- reach(x), edge(x, y).
"""


def test_recursions_that_compute_nothing_have_an_end_and_no_limit():
    chain = lower(check([parse(CHAIN)]))
    driver = Driver(IncrementalEngine(chain, iteration_limit=10), chain)
    driver.insert(edge=[(i, i + 1) for i in range(200)])
    assert len(driver.rows("reach")) == 201


def test_as_many_iterations_as_allowed():
    counting = lower(check([parse(".decl n(x: number)\nn(1).\nn(x + 1) :- n(x), x < 50.")]))
    for make in (ReferenceEngine, lambda c, limit: IncrementalEngine(c, iteration_limit=limit)):
        driver = Driver(make(counting, 50), counting)
        driver.apply({})
        assert driver.rows("n") == {(i,) for i in range(1, 51)}
        with pytest.raises(IterationLimitError):
            make(counting, 40).apply({})


def test_the_rules_of_a_body_that_compute():
    (body,) = (op.body for op in circuit().operators if isinstance(op, ops.Fixpoint))
    assert computing_rules(body) == ["m(y) :- n, y = x * 2", "n(x + 1) :- m"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_error_names_ranges(engine):
    counting = lower(check([parse(".decl n(x: number)\nn(1).\nn(y) :- n(x), y = range(x, x + 2).")]))
    with pytest.raises(IterationLimitError, match=r"What computes new values in it: .*range\(x, x \+ 2"):
        ENGINES[engine](counting).apply({})


def test_what_depends_on_the_past_does_not_see_a_rejected_epoch():
    """A delay beside the recursion keeps what it had before, though the epoch had passed it already."""
    x = Schema.of(x=Type.INT64)
    builder = CircuitBuilder()
    source = builder.add(ops.Source("start", x))
    builder.add(ops.Sink("before"), builder.add(ops.Delay(), source))
    body = CircuitBuilder(1)
    following = exp.Add(this=column("x"), expression=literal(1, Type.INT64))
    more = body.add(ops.Map(x.columns, (following,)), body.add(ops.Feedback("n", x)))
    few = body.add(ops.Filter(exp.NEQ(this=column("x"), expression=literal(10, Type.INT64))), more)
    start = body.add(ops.Import(0, ZSetType(x, is_set=True)))
    body.add(ops.Sink("n"), body.add(ops.Distinct(), body.add(ops.Plus(), start, few)))
    bundle = builder.add(ops.Fixpoint(body.build()), source)
    builder.add(ops.Sink("n"), builder.add(ops.BundleRelation("n"), bundle))
    driver = Driver(ReferenceEngine(builder.build(), 30), builder.build())
    driver.insert(start=[(8,)])
    with pytest.raises(IterationLimitError):
        driver.insert(start=[(11,)])
    driver.insert(start=[(9,)])
    assert driver.rows("before") == {(8,)}
    assert driver.rows("n") == {(8,), (9,)}


def test_a_pipeline_takes_a_limit():
    pipeline = Pipeline(recursion=Recursion(iteration_limit=20))
    pipeline.datalog(".decl n(x: number)\n.decl s(x: number)\nn(x) :- s(x).\nn(x + 1) :- n(x).")
    with pytest.raises(IterationLimitError, match="after 20 iterations"), pipeline.transaction() as change:
        change.insert("s", [(1,)])
    assert pipeline["n"].to_arrow().num_rows == 0
    with pytest.raises(DelticError, match="iteration_limit is 0"):
        Pipeline(recursion=Recursion(iteration_limit=0))

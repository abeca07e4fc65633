"""The rows of the derivative table for operators that have a past.

At top level, under changes in their own time, they are checked as they are. Catches an I that is taken for one of
another time, and a back-edge whose two ends carry different things.
"""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.calculus import DERIVATIVES
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from tests.calculus.mutations import SECOND
from tests.calculus.streams import check
from tests.calculus.test_derivatives import AB, CASES, SOURCES, circuit, streams
from tests.differential.circuits import random_epochs


def back_edge(*applied: ops.Operator, is_set: bool = False) -> Circuit:
    """fix α. Q(x + z⁻¹(α)) for operators one after the other."""
    builder = CircuitBuilder()
    before = builder.add(ops.BackEdge("r", AB, is_set))
    number = builder.add(ops.Plus(), builder.add(SOURCES["x"]), before)
    for operator in applied:
        number = builder.add(operator, number)
    builder.add(ops.Close("r"), number)
    builder.add(ops.Sink("v"), number)
    return builder.build()


def call(called: Circuit) -> Circuit:
    """The circuit as an operator."""
    builder = CircuitBuilder()
    inputs = [builder.add(op) for op in called.operators if isinstance(op, ops.Source)]
    builder.add(ops.Sink("v"), builder.add(ops.BundleRelation("v"), builder.add(ops.Call(called), *inputs)))
    return builder.build()


def changes_of(operator: ops.Operator, *tables: str) -> Circuit:
    """The change of an operator's value from one step to the next: its inputs are z⁻¹(a) and D(a)."""
    builder = CircuitBuilder()
    sources = [builder.add(SOURCES[table]) for table in tables]
    pairs = [(builder.add(ops.Delay(), n), builder.add(ops.Differentiate(), n)) for n in sources]
    builder.add(ops.Sink("v"), builder.add(operator, *(number for pair in pairs for number in pair)))
    return builder.build()


STREAM_CASES: dict[type[ops.Operator], list[Circuit]] = {
    ops.Delay: [circuit(ops.Delay(), "x"), circuit(ops.Delay(), "s")],
    ops.Integrate: [circuit(ops.Integrate(), "x")],
    ops.Differentiate: [circuit(ops.Differentiate(), "x")],
    ops.JoinDelta: [
        changes_of(ops.JoinDelta(), "x", "y"),
        changes_of(ops.JoinDelta(), "x", "y", "s"),
        circuit(ops.JoinDelta(), "x", "x", "y", "y"),
    ],
    ops.AntijoinDelta: [changes_of(ops.AntijoinDelta(), "x", "t"), changes_of(ops.AntijoinDelta(), "s", "s")],
    ops.DistinctDelta: [circuit(ops.DistinctDelta(), "x", "x"), circuit(ops.DistinctDelta(), "s", "x")],
    ops.Call: [call(circuit(ops.Delay(), "x")), call(circuit(ops.Join(), "x", "y")), call(back_edge())],
    ops.BackEdge: [back_edge(), back_edge(ops.Negate()), back_edge(ops.Distinct(), is_set=True)],
}
ROWS = [pytest.param(c, id=f"{op.keyword}-{i}") for op, cases in STREAM_CASES.items() for i, c in enumerate(cases)]


def test_every_row_of_the_table_has_a_case():
    assert {*CASES, *STREAM_CASES} == set(DERIVATIVES)


@pytest.mark.law("DBSP Thm 4.4", "DBSP Prop 4.2", "DBSP Lemma 4.3")
@pytest.mark.parametrize("of", ROWS)
@given(data=st.data())
def test_derivative_is_differentiate_after_query_after_integrate(of, data):
    check(of, data.draw(streams(of)))


SECOND_CHANGES = changes_of(ops.AntijoinDelta(), "s", "t"), changes_of(ops.AntijoinDelta(), "x", "t")


def test_the_second_change_of_an_antijoin():
    """Rows and keys change together, in each of several steps."""
    for of, seed in product(SECOND_CHANGES, range(8)):
        check(of, random_epochs(random.Random(seed), of, 5))


@pytest.mark.parametrize("mutation", SECOND, ids=lambda m: m.name)
def test_a_wrong_second_change_of_an_antijoin_is_noticed(mutation, monkeypatch):
    monkeypatch.setitem(DERIVATIVES, mutation.operator, mutation.row())
    with pytest.raises(AssertionError):
        test_the_second_change_of_an_antijoin()


def test_a_back_edge_that_is_read_as_it_is_too():
    """Where no D stands before a reader, it gets I of the changes that the back-edge carries."""
    looped = back_edge(ops.Distinct(), is_set=True)
    builder = CircuitBuilder()
    numbers: list[int] = []
    for node in surround(looped).nodes:
        if isinstance(node.operator, ops.Sink):
            before = builder.add(ops.BackEdge("r", AB, True))
            builder.add(ops.Sink("before"), before)
        numbers.append(builder.add(node.operator, *(numbers[i] for i in node.inputs)))
    both = builder.build()
    pushed = push(both)
    for seed in range(10):
        one, other = Interpreter(both), Interpreter(pushed)
        for epoch in random_epochs(random.Random(seed), looped, 5, signed=True):
            assert one.step(epoch) == other.step(epoch)


def test_a_back_edge_that_no_difference_reaches_stays():
    looped = back_edge(ops.Distinct(), is_set=True)
    assert set(push(looped).operators) == set(looped.operators)

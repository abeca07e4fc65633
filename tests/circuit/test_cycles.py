"""Back-edges, brackets and circuits inside circuits: catches a cycle read too early, a memory that outlives its loop,
an ∫ that ends at the first zero, and a delay that counts the wrong time."""

from __future__ import annotations

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reference import Interpreter
from deltic.circuit.types import ZSetType
from deltic.errors import UnsupportedError
from tests.circuit.examples import X, naive_closure, within

STREAM = ZSetType(X, is_set=True)


def bag(*values):
    return ZSet.of((value,) for value in values)


def steps(circuit, *epochs):
    """The outputs of the reference interpreter."""
    machine = Interpreter(circuit)
    return [machine.step({"s": rows}) for rows in epochs]


def integral_by_a_cycle():
    """I as the paper draws it: + with z⁻¹ in its cycle."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", X, is_set=False))
    total = builder.add(ops.Plus(), source, builder.add(ops.BackEdge("total", X)))
    builder.add(ops.Close("total"), total)
    builder.add(ops.Sink("v"), total)
    return builder.build()


def bracket(*chain):
    """The operators one after the other, from δ₀ to ∫."""
    builder = CircuitBuilder(1)
    number = builder.add(ops.Import(0, STREAM))
    for operator in chain:
        number = builder.add(operator, number)
    builder.add(ops.Sink("v"), number)
    return within(ops.Bracket(builder.build()), s=X)


@pytest.mark.law("DBSP §9.4.4")
def test_a_cycle_through_a_delay_is_an_integral():
    assert steps(integral_by_a_cycle(), bag(1), bag(2, 2), bag()) == [{"v": bag(1)}] + 2 * [{"v": bag(1, 2, 2)}]


@pytest.mark.law("DBSP §9.4.6")
def test_what_comes_late_is_added_up():
    assert steps(bracket(ops.Delay(), ops.Delay()), bag(1), bag(2)) == [{"v": bag(1)}, {"v": bag(2)}]


@pytest.mark.law("DBSP §9.4.6")
def test_an_iteration_to_a_fixpoint():
    edges = ZSet.of([(1, 2), (2, 3), (3, 1)])
    machine = Interpreter(naive_closure())
    all_pairs = {"path": ZSet.of((x, y) for x in (1, 2, 3) for y in (1, 2, 3))}
    assert machine.step({"edge": edges}) == all_pairs
    assert machine.step({"edge": ZSet.of([(3, 1)])}) == {"path": ZSet.of([(3, 1)])}
    assert machine.step({"edge": edges}) == all_pairs


@pytest.mark.parametrize(
    ("operator", "expected"), [(ops.Delay(), [bag(1), bag(2)]), (ops.Delay(outer=1), [bag(), bag(1)])], ids=str
)
def test_which_time_a_delay_counts(operator, expected):
    assert steps(bracket(operator), bag(1), bag(2)) == [{"v": rows} for rows in expected]


@pytest.mark.law("DBSP Def. 5.2")
def test_an_integral_without_end_is_told():
    with pytest.raises(UnsupportedError, match=r"∫ of sink v has no end, it rests at ZSet\(\{\(1,\): 1\}\)"):
        steps(bracket(ops.Integrate()), bag(1))


@pytest.mark.law("DBSP §9.4.5")
def test_a_circuit_is_an_operator():
    builder = CircuitBuilder(1)
    called = builder.add(ops.Call(integral_by_a_cycle()), builder.add(ops.Import(0, STREAM)))
    difference = builder.add(ops.Differentiate(), builder.add(ops.Component("v"), called))
    builder.add(ops.Sink("v"), difference)
    circuit = within(ops.Bracket(builder.build()), s=X)
    assert steps(circuit, bag(1), bag(2)) == [{"v": bag(1)}, {"v": bag(2)}]

"""Back-edges, brackets and circuits inside circuits: catches a cycle read too early, a memory that outlives its loop,
an ∫ that ends at the first zero, and a delay that counts the wrong time."""

from __future__ import annotations

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.errors import UnsupportedError
from tests.circuit.examples import X, naive_closure, within
from tests.circuit.meanings import by_interpreter

STREAM = ZSetType(X, is_set=True)


def bag(*values):
    return ZSet.of((value,) for value in values)


def on(*values):
    """Steps in which the source s has these values."""
    return [{"s": rows} for rows in values]


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
def test_a_cycle_through_a_delay_is_an_integral(run):
    total = {"v": bag(1, 2, 2)}
    assert run(integral_by_a_cycle(), on(bag(1), bag(2, 2), bag())) == [{"v": bag(1)}, total, total]


@pytest.mark.law("DBSP §9.4.6")
def test_what_comes_late_is_added_up(run):
    assert run(bracket(ops.Delay(), ops.Delay()), on(bag(1), bag(2))) == [{"v": bag(1)}, {"v": bag(2)}]


@pytest.mark.law("DBSP §9.4.6")
def test_an_iteration_to_a_fixpoint(run):
    edges = ZSet.of([(1, 2), (2, 3), (3, 1)])
    all_pairs = {"path": ZSet.of((x, y) for x in (1, 2, 3) for y in (1, 2, 3))}
    one = ZSet.of([(3, 1)])
    results = run(naive_closure(), [{"edge": edges}, {"edge": one}, {"edge": edges}])
    assert results == [all_pairs, {"path": one}, all_pairs]


@pytest.mark.parametrize(
    ("operator", "expected"), [(ops.Delay(), [bag(1), bag(2)]), (ops.Delay(outer=1), [bag(), bag(1)])], ids=str
)
def test_which_time_a_delay_counts(run, operator, expected):
    assert run(bracket(operator), on(bag(1), bag(2))) == [{"v": rows} for rows in expected]


@pytest.mark.law("DBSP §9.4.6")
def test_iterations_go_on_until_those_of_the_step_before_have_ended(run):
    """In the second step nothing comes in, and for three iterations nothing comes from the first one either."""
    circuit = bracket(ops.Delay(), ops.Delay(), ops.Delay(), ops.Delay(outer=1))
    assert run(circuit, on(bag(1), bag())) == [{"v": bag()}, {"v": bag(1)}]


@pytest.mark.law("DBSP Def 5.2")
def test_an_integral_without_end_is_told(run):
    with pytest.raises(UnsupportedError, match=r"∫ of sink v has no end, it rests at ZSet\(\{\(1,\): 1\}\)"):
        run(bracket(ops.Integrate()), on(bag(1)))


@pytest.mark.law("DBSP §9.4.5")
def test_a_circuit_is_an_operator(run):
    builder = CircuitBuilder(1)
    called = builder.add(ops.Call(integral_by_a_cycle()), builder.add(ops.Import(0, STREAM)))
    difference = builder.add(ops.Differentiate(), builder.add(ops.BundleRelation("v"), called))
    builder.add(ops.Sink("v"), difference)
    circuit = within(ops.Bracket(builder.build()), s=X)
    assert run(circuit, on(bag(1), bag(2))) == [{"v": bag(1)}, {"v": bag(2)}]


def test_the_part_of_a_sink_has_the_cycles_that_it_depends_on():
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", X, is_set=False))
    for name in ("v", "w"):
        total = builder.add(ops.Plus(), source, builder.add(ops.BackEdge(name, X)))
        builder.add(ops.Close(name), builder.add(ops.Negate(), total))
        builder.add(ops.Sink(name), total)
    part = builder.build().part("w")
    assert set(part.closes) == set(part.sinks) == {"w"}
    both, alone = by_interpreter(builder.build(), on(bag(1), bag(2))), by_interpreter(part, on(bag(1), bag(2)))
    assert [step["w"] for step in both] == [step["w"] for step in alone] == [bag(1), bag(2) - bag(1)]


def test_a_constant_in_a_called_circuit_is_there_at_all_iterations(run):
    builder = CircuitBuilder()
    both = builder.add(ops.Plus(), builder.add(ops.Source("s", X, False)), builder.add(ops.Constant(X, ((7,),))))
    builder.add(ops.Sink("v"), both)
    body = CircuitBuilder(1)
    called = body.add(ops.BundleRelation("v"), body.add(ops.Call(builder.build()), body.add(ops.Import(0, STREAM))))
    body.add(ops.Sink("v"), body.add(ops.Differentiate(), called))
    circuit = within(ops.Bracket(body.build()), s=X)
    assert run(circuit, on(bag(1), bag())) == [{"v": bag(7)}, {"v": bag(7)}]

"""An ill-formed circuit cannot be built: the builder's errors name the node, the rule and the types."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.errors import CircuitError
from deltic.values.types import Column, Schema, Type
from tests.circuit.examples import XY, YZ, X, Y, closure_body, rename, unreachable

Case = Callable[[CircuitBuilder], object]
S = Schema.of(s=Type.STRING)


def body(*sinks: tuple[str, ops.Operator], distinct: bool = True) -> Circuit:
    """A body that gives each operator's rows to the sink of that name."""
    builder = CircuitBuilder(1)
    for name, operator in sinks:
        number = builder.add(operator)
        builder.add(ops.Sink(name), builder.add(ops.Distinct(), number) if distinct else number)
    return builder.build()


def identity(index: int, *chain: ops.Operator) -> Circuit:
    """A body that passes a set on through operators."""
    builder = CircuitBuilder(1)
    number = builder.add(ops.Import(index, ZSetType(XY, is_set=True)))
    for operator in chain:
        number = builder.add(operator, number)
    builder.add(ops.Sink("p"), number)
    return builder.build()


def windowed() -> Circuit:
    """A window, which counts the steps of the whole circuit."""
    builder = CircuitBuilder()
    source = xy(builder)
    builder.add(ops.Sink("v"), builder.add(ops.Window("x", 1), source, rename(builder, source, x="x")))
    return builder.build()


def windowed_body(builder: CircuitBuilder) -> int:
    return builder.add(ops.Call(windowed()), builder.add(ops.Import(0, ZSetType(XY, is_set=True))))


def xy(builder: CircuitBuilder) -> int:
    return builder.add(ops.Source("xy", XY))


def bag(builder: CircuitBuilder) -> int:
    return builder.add(ops.Source("bag", XY, is_set=False))


def strings(builder: CircuitBuilder) -> int:
    return builder.add(ops.Source("strings", Schema.of(x=Type.STRING)))


def bundle(builder: CircuitBuilder) -> int:
    return builder.add(ops.Fixpoint(closure_body()), xy(builder))


ILL_FORMED: dict[str, Case] = {
    "no such input": lambda b: b.add(ops.Distinct(), 7),
    "negative input": lambda b: b.add(ops.Distinct(), xy(b) - 1),
    "two sinks of one name": lambda b: [b.add(ops.Sink("v"), xy(b)), b.add(ops.Sink("v"), bag(b))],
    "source inside of a fixpoint": lambda b: CircuitBuilder(1).add(ops.Source("xy", XY)),
    "constant inside of a fixpoint": lambda b: CircuitBuilder(1).add(ops.Constant(X, ((1,),))),
    "import outside of a fixpoint": lambda b: b.add(ops.Import(0, ZSetType(XY))),
    "feedback outside of a fixpoint": lambda b: b.add(ops.Feedback("p", XY)),
    "source with an input": lambda b: b.add(ops.Source("s", XY), xy(b)),
    "constant with a short row": lambda b: b.add(ops.Constant(XY, ((1, 2), (3,)))),
    "map reads an unknown column": lambda b: b.add(ops.Map(X.columns, (column("z"),)), xy(b)),
    "map to another type": lambda b: b.add(ops.Map(S.columns, (column("x"),)), xy(b)),
    "filter reads an unknown column": lambda b: b.add(
        ops.Filter(exp.EQ(this=column("x"), expression=column("z"))), xy(b)
    ),
    "filter by a number": lambda b: b.add(ops.Filter(column("x")), xy(b)),
    "plus of two schemas": lambda b: b.add(ops.Plus(), xy(b), b.add(ops.Source("yz", YZ))),
    "plus of nothing": lambda b: b.add(ops.Plus()),
    "join of nothing": lambda b: b.add(ops.Join()),
    "join of two types": lambda b: b.add(ops.Join(), xy(b), strings(b)),
    "join of a bundle": lambda b: b.add(ops.Join(), xy(b), bundle(b)),
    "antijoin with a bag": lambda b: b.add(ops.Antijoin(), xy(b), bag(b)),
    "antijoin on a column that is missing": lambda b: b.add(ops.Antijoin(), xy(b), b.add(ops.Source("yz", YZ))),
    "antijoin on a column of another type": lambda b: b.add(ops.Antijoin(), xy(b), strings(b)),
    "distinct of two": lambda b: b.add(ops.Distinct(), xy(b), bag(b)),
    "negation of a bundle": lambda b: b.add(ops.Negate(), bundle(b)),
    "sink of a bundle": lambda b: b.add(ops.Sink("v"), bundle(b)),
    "component of a Z-set": lambda b: b.add(ops.BundleRelation("path"), xy(b)),
    "component that is not there": lambda b: b.add(ops.BundleRelation("paths"), bundle(b)),
    "type of a bundle": lambda b: b.type_of(bundle(b)),
    "fixpoint in its own depth": lambda b: CircuitBuilder(1).add(ops.Fixpoint(closure_body())),
    "fixpoint without its input": lambda b: b.add(ops.Fixpoint(closure_body())),
    "fixpoint over an input of another type": lambda b: b.add(ops.Fixpoint(closure_body()), bag(b)),
    "a set from a bag": lambda b: b.add(
        ops.Fixpoint(body(("p", ops.Import(0, ZSetType(XY))), ("q", ops.Feedback("p", XY)), distinct=False)), bag(b)
    ),
    "feedback without a sink": lambda b: b.add(ops.Fixpoint(body(("q", ops.Feedback("p", XY))))),
    "feedback of another schema": lambda b: b.add(
        ops.Fixpoint(body(("p", ops.Import(0, ZSetType(XY))), ("q", ops.Feedback("p", X)))), bag(b)
    ),
    "feedbacks of one name": lambda b: b.add(
        ops.Fixpoint(body(("q", ops.Feedback("p", X)), ("p", ops.Feedback("p", XY))))
    ),
    "back-edge that is not closed": lambda b: [b.add(ops.BackEdge("p", XY)), b.build()],
    "close without a back-edge": lambda b: [b.add(ops.Close("p"), xy(b)), b.build()],
    "close of another schema": lambda b: [b.add(ops.BackEdge("p", X)), b.add(ops.Close("p"), xy(b)), b.build()],
    "close of a bag": lambda b: [b.add(ops.BackEdge("p", XY, is_set=True)), b.add(ops.Close("p"), bag(b)), b.build()],
    "closed twice": lambda b: [b.add(ops.Close("p"), xy(b)), b.add(ops.Close("p"), bag(b))],
    "two back-edges of one name": lambda b: [b.add(ops.BackEdge("p", X)), b.add(ops.BackEdge("p", XY))],
    "close of a bundle": lambda b: b.add(ops.Close("p"), bundle(b)),
    "delay over a time that is not there": lambda b: b.add(ops.Delay(outer=1), xy(b)),
    "integral over a time inside": lambda b: b.add(ops.Integrate(outer=-1), xy(b)),
    "bracket in its own depth": lambda b: CircuitBuilder(1).add(ops.Bracket(closure_body())),
    "bracket without its input": lambda b: b.add(ops.Bracket(identity(1))),
    "bracket of a bundle": lambda b: b.add(ops.Bracket(identity(0)), xy(b), bundle(b)),
    "bracket of a fixpoint's body": lambda b: b.add(ops.Bracket(closure_body()), xy(b)),
    "fixpoint with a past": lambda b: b.add(ops.Fixpoint(identity(0, ops.Delay(outer=1))), xy(b)),
    "call with too few inputs": lambda b: b.add(ops.Call(unreachable()), xy(b)),
    "call with another schema": lambda b: b.add(ops.Call(unreachable()), xy(b), strings(b)),
    "call with a bag for a set": lambda b: b.add(ops.Call(unreachable()), bag(b), b.add(ops.Source("x", X))),
    "call of a body": lambda b: b.add(ops.Call(identity(0)), xy(b)),
    "call of a window in a body": lambda b: windowed_body(CircuitBuilder(1)),
    "distinct_delta of two schemas": lambda b: b.add(ops.DistinctDelta(), xy(b), b.add(ops.Source("yz", YZ))),
}


def message(case: Case) -> str:
    """What the builder says about an ill-formed circuit."""
    with pytest.raises(CircuitError) as caught:
        case(CircuitBuilder())
    return str(caught.value)


@pytest.mark.law("DBSP §9.4.1", "DBSP §9.4.2", "DBSP §9.4.3", "DBSP §9.4.4", "DBSP §9.4.5", "DBSP §9.4.6")
def test_messages(golden):
    golden("circuit/errors.txt", "\n\n".join(f"{name}\n  {message(case)}" for name, case in ILL_FORMED.items()))


def test_equal_nodes_are_one():
    builder = CircuitBuilder()
    first = builder.add(ops.Filter(exp.LT(this=column("x"), expression=column("y"))), xy(builder))
    again = builder.add(ops.Filter(exp.LT(this=column("x"), expression=column("y"))), xy(builder))
    other = builder.add(ops.Filter(exp.LT(this=column("y"), expression=column("x"))), xy(builder))
    assert first == again != other
    assert len(builder.build().nodes) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (literal("A", Type.STRING), literal("a", Type.STRING)),
        (literal(1, Type.INT64), literal("1", Type.STRING)),
        (column("x"), column("X")),
    ],
)
def test_expressions_that_differ_in_case_or_type_differ(one, other):
    assert one != other


def test_a_refused_node_is_not_added():
    builder = CircuitBuilder()
    source = xy(builder)
    with pytest.raises(CircuitError):
        builder.add(ops.Map(X.columns, (column("z"),)), source)
    assert len(builder.build().nodes) == 1


def test_a_built_circuit_does_not_see_later_nodes():
    builder = CircuitBuilder()
    source = xy(builder)
    circuit = builder.build()
    builder.add(ops.Distinct(), source)
    assert len(circuit.nodes) == 1


def set_after(operator: ops.Operator, *inputs: ops.Operator) -> bool:
    """Whether the output for these sources is a set by its type."""
    builder = CircuitBuilder()
    return builder.type_of(builder.add(operator, *map(builder.add, inputs))).is_set


SET, BAG, ONE = ops.Source("s", XY), ops.Source("b", XY, is_set=False), ops.Source("t", Y)
SWAPPED = ops.Map(XY.columns, (column("y"), column("x")))
TAGGED = ops.Map((*XY.columns, Column("k", Type.INT64)), (column("x"), column("y"), literal(1, Type.INT64)))
SUMMED = ops.Map(X.columns, (exp.Add(this=column("x"), expression=column("y")),))


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        (SWAPPED, (SET,), True),
        (SWAPPED, (BAG,), False),
        (TAGGED, (SET,), True),
        (SUMMED, (SET,), False),
        (ops.Map(X.columns, (column("x"),)), (SET,), False),
        (ops.Map((), ()), (SET,), False),
        (ops.Filter(exp.LT(this=column("x"), expression=column("y"))), (SET,), True),
        (ops.Join(), (SET, ONE), True),
        (ops.Join(), (SET, BAG), False),
        (ops.Antijoin(), (SET, ONE), True),
        (ops.Antijoin(), (BAG, ONE), False),
        (ops.Plus(), (SET,), True),
        (ops.Plus(), (SET, SET), False),
        (ops.Negate(), (SET,), False),
        (ops.Distinct(), (BAG,), True),
        (ops.Constant(X, ((1,), (2,))), (), True),
        (ops.Constant(X, ((1,), (1,))), (), False),
    ],
    ids=str,
)
def test_sets_are_known_by_construction(operator, inputs, expected):
    assert set_after(operator, *inputs) is expected


def test_ancestors():
    circuit = unreachable()
    assert circuit.ancestors([circuit.sinks["path"]]) == {0, 2, 3}
    assert 1 in circuit.ancestors([circuit.sinks["unreachable"]])

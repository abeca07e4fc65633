"""The text form of names, types and constants of any kind: `parse_circuit(str(c)) == c`.

Random names and values catch a name written plainly that is read as syntax, and a constant read as another value.
"""

from __future__ import annotations

import math
import random
import string
from inspect import isabstract

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from deltic.calculus.recursion import chain
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.reading import parse_circuit
from deltic.circuit.reading.operators import READERS
from deltic.errors import ProgramError
from deltic.values import words
from deltic.values.types import Column, Schema, Type
from tests.circuit.examples import XY, closure_body, reached, within
from tests.circuit.well_formed import random_well_formed

ODD = st.sampled_from(
    ["AND", "outer", "sets", "inf", "CASE", "BIGINT", "date", "end", "x AS y", 'a"b', "it's", "%1", "[", "}"]
)
NAMES = st.one_of(st.text(string.ascii_letters, min_size=1, max_size=3), ODD, st.text(min_size=1, max_size=4))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    Type.INT64: INTEGERS,
    Type.UINT64: st.integers(0, 2**64 - 1),
    Type.FLOAT64: st.floats(allow_nan=False),
    Type.STRING: st.text(max_size=5),
    Type.BOOLEAN: st.booleans(),
    Type.DATE: st.dates(),
    Type.TIMESTAMP_NTZ: st.datetimes(),
    Type.TIME: st.times(),
}
LITERALS = [Type.INT64, Type.UINT64, Type.FLOAT64, Type.STRING, Type.BOOLEAN]


@st.composite
def schemas(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    return Schema(tuple(Column(n, draw(st.sampled_from(list(VALUES))), draw(st.booleans())) for n in names))


def rows(schema):
    values = [st.one_of(st.none(), VALUES[c.type]) if c.nullable else VALUES[c.type] for c in schema]
    return st.lists(st.tuples(*values), max_size=3).map(tuple)


@st.composite
def circuits(draw):
    """A circuit with names of all kinds wherever there can be names."""
    schema, builder = draw(schemas()), CircuitBuilder()
    relation, view, cycle, new = draw(st.lists(NAMES, min_size=4, max_size=4, unique=True))
    source = builder.add(ops.Source(relation, schema, draw(st.booleans())))
    both = builder.add(ops.Plus(), source, builder.add(ops.Constant(schema, draw(rows(schema)))))
    past = builder.add(ops.BackEdge(cycle, schema))
    number = builder.add(ops.Plus(), both, builder.add(ops.Delay(), past))
    for name, type_ in schema.types.items():
        if type_ in LITERALS:
            value = literal(draw(VALUES[type_]), type_)
            number = builder.add(ops.Filter(exp.NEQ(this=column(name), expression=value)), number)
    builder.add(ops.Close(cycle), number)
    key = schema.names[0]
    call = ops.AggregateCall(draw(st.sampled_from(["count", "min", "max"])), key, new)
    keys = tuple(name for name in schema.names[1:] if name != new)
    builder.add(ops.Sink(view), builder.add(ops.Aggregate(keys, (call,)), number))
    builder.add(
        ops.Sink(new), builder.add(ops.Map((Column(new, schema.columns[0].type, True),), (column(key),)), number)
    )
    builder.add(ops.BundleRelation(cycle), builder.add(ops.Fixpoint(fixpoint_body(cycle, schema)), source))
    if schema.columns[0].type is Type.INT64 and new not in schema.names:
        builder.add(ops.FlatMap(new, "range", (column(key), literal(7, Type.INT64))), source)
        clock = builder.add(ops.Map((Column(new, Type.INT64, True),), (column(key),)), source)
        builder.add(ops.Window(key, 3), source, clock)
    return builder.build()


def fixpoint_body(name, schema):
    builder = CircuitBuilder(1)
    step = builder.add(ops.Join(), builder.add(ops.Feedback(name, schema)))
    builder.add(ops.Sink(name), step)
    return builder.build()


@given(circuits())
@settings(max_examples=60, deadline=None)
def test_any_names_and_constants(circuit):
    assert parse_circuit(str(circuit)) == circuit


@pytest.mark.parametrize("nesting", [1, 2])
def test_random_well_formed_circuits(nesting):
    for seed in range(80):
        circuit = random_well_formed(random.Random(seed), nesting=nesting)
        assert parse_circuit(str(circuit)) == circuit


def test_names_are_texts_and_no_tokens():
    circuit = parse_circuit("%0 = source t : set{x: int64}\n%1 = sink v (%0) : set{x: int64}\n")
    names = [*circuit.sinks, *circuit.type_of(0).schema.names]
    assert [type(name) for name in names] == [str, str]


@pytest.mark.parametrize(
    "query",
    [within(ops.Fixpoint(closure_body()), edge=XY), within(ops.Fixpoint(closure_body(), "full"), edge=XY), reached()],
    ids=["closure", "with a policy", "reached"],
)
def test_the_steps_of_a_recursion(query):
    for circuit in chain(query).values():
        assert parse_circuit(str(circuit)) == circuit


def test_every_operator_can_be_read():
    assert {kind.keyword for kind in kinds_of(ops.Operator)} == set(READERS)


def kinds_of(kind):
    """The operators among the classes below this one."""
    below = {k for child in kind.__subclasses__() for k in kinds_of(child)}
    return below | (set() if isabstract(kind) else {kind})


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, -0.0, 5e-324])
def test_floats(value):
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", Schema.of(e=Type.FLOAT64, inf=Type.FLOAT64)))
    for name in ("e", "inf"):
        builder.add(ops.Filter(exp.LT(this=column(name), expression=literal(value, Type.FLOAT64))), source)
    assert parse_circuit(str(builder.build())) == builder.build()


def test_nan_is_read():
    builder = CircuitBuilder()
    builder.add(ops.Constant(Schema.of(x=Type.FLOAT64), ((math.nan,),)))
    (row,) = parse_circuit(str(builder.build())).nodes[0].operator.rows
    assert math.isnan(row[0])


ERRORS = {
    '%0 = source "a : set{x: int64}': "expected",
    "%0 = source a outer 1 : set{x: int64}": "source takes one argument",
    "%0 = source a : set{x: int64}\n%1 = delay 1 (%0) : set{x: int64}": "delay takes `outer` and a number",
    "%0 = back_edge p : set{x: int64}": "there is no close of that name",
    "%0 = constant {('today')} : set{x: date}": "these are not rows",
}


@pytest.mark.parametrize(("text", "message"), ERRORS.items(), ids=ERRORS)
def test_errors(text, message):
    with pytest.raises(ProgramError, match=message):
        parse_circuit(text)


def test_the_examples_run():
    import doctest

    assert doctest.testmod(words).failed == 0

"""The rules by which incremental circuits are put together [DBSP Prop 4.2], as equations between circuits.

Both sides are circuits over the stream operators, run by the reference interpreter on random signed streams. Catches a
derivative that holds only for the circuit as a whole, so that its parts could not be replaced one by one.
"""

from __future__ import annotations

import itertools
import random

import pytest

from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.circuit.reading import parse_circuit
from deltic.values.types import Schema, Type
from tests.differential.circuits import random_epochs

AB = Schema.of(a=Type.INT64, b=Type.INT64)
TEXT = "{a: int64, b: int64}"
QUERIES = {
    "linear": f"%1 = map [b AS a, a AS b] (%0) : zset{TEXT}\n%2 = filter [a < 3] (%1) : zset{TEXT}",
    "bilinear": f"%1 = map [b AS a, a AS b] (%0) : zset{TEXT}\n%2 = join (%0, %1) : zset{TEXT}",
    "distinct": f"%1 = negate (%0) : zset{TEXT}\n%2 = distinct (%1) : set{TEXT}",
    "antijoin": f"%1 = distinct (%0) : set{TEXT}\n%2 = antijoin (%0, %1) : zset{TEXT}",
}


def query(name):
    kind = QUERIES[name].rsplit(" : ", 1)[1]
    return parse_circuit(f"%0 = source s : zset{TEXT}\n{QUERIES[name]}\n%3 = sink v (%2) : {kind}")


def part(circuit):
    """A circuit with one source and one sink as a function that adds its nodes to a builder."""

    def add(builder, number):
        numbers = []
        for node in circuit.nodes:
            inputs = [numbers[i] for i in node.inputs]
            if isinstance(node.operator, ops.Source):
                numbers.append(number)
            elif isinstance(node.operator, ops.Sink):
                numbers.append(inputs[0])
            else:
                numbers.append(builder.add(node.operator, *inputs))
        return numbers[circuit.sinks["v"]]

    return add


def operator(made):
    return lambda builder, number: builder.add(made, number)


def both(one, other):
    return lambda builder, number: builder.add(ops.Plus(), one(builder, number), other(builder, number))


I, D, DELAY, NEGATE = map(operator, (ops.Integrate(), ops.Differentiate(), ops.Delay(), ops.Negate()))  # noqa: E741


def chain(*parts):
    """The circuit that applies the parts one after the other, the first one first."""
    builder = CircuitBuilder()
    number = builder.add(ops.Source("s", AB, is_set=False))
    for add in parts:
        number = add(builder, number)
    builder.add(ops.Sink("v"), number)
    return builder.build()


def check_equal(left, right):
    for seed in range(8):
        one, other = Interpreter(left), Interpreter(right)
        for epoch in random_epochs(random.Random(seed), left, 6, signed=True):
            assert one.step(epoch) == other.step(epoch), f"{left}\n\n{right}"


@pytest.mark.law("DBSP Prop 4.2")
@pytest.mark.parametrize("name", QUERIES)
def test_inversion_and_push_pull(name):
    whole, change = part(query(name)), part(incrementalize(query(name)))
    check_equal(chain(D, change, I), chain(whole))
    check_equal(chain(I, whole), chain(change, I))
    check_equal(chain(whole, D), chain(D, change))


@pytest.mark.law("DBSP Prop 4.2")
@pytest.mark.parametrize("added", [I, D, DELAY, NEGATE, both(DELAY, NEGATE)], ids=["I", "D", "delay", "minus", "plus"])
def test_invariance(added):
    check_equal(chain(I, added, D), chain(added))


@pytest.mark.law("DBSP Prop 4.2")
@pytest.mark.parametrize(("first", "second"), list(itertools.product(QUERIES, repeat=2)))
def test_chain_and_add(first, second):
    wholes = [part(query(first)), part(query(second))]
    changes = [part(incrementalize(query(first))), part(incrementalize(query(second)))]
    check_equal(incrementalize(chain(*wholes)), chain(*changes))
    check_equal(incrementalize(chain(both(*wholes))), chain(both(*changes)))


@pytest.mark.law("DBSP Thm 4.4")
def test_linear_queries_are_their_own_change():
    check_equal(incrementalize(query("linear")), query("linear"))


@pytest.mark.parametrize("name", ["bilinear", "distinct"])
def test_other_queries_are_not(name):
    with pytest.raises(AssertionError):
        check_equal(incrementalize(query(name)), query(name))

"""Dataflow machines: catches a delay latched late or never reset, and a loop that ends too early [DBSP §10]."""

from __future__ import annotations

import doctest

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle import memory as remembering
from deltic.circuit.oracle.memory import DelayMemory
from deltic.errors import UnsupportedError
from deltic_theory.circuits import machine as package
from deltic_theory.circuits.denotation import denote
from deltic_theory.circuits.machine import DataflowMachine
from deltic_theory.circuits.machine import compile as compiling
from deltic_theory.circuits.machine.events import Data, Queue, Repeat
from deltic_theory.circuits.machine.nodes import Output
from deltic_theory.groups import Z_SETS
from deltic_theory.streams import Stream
from tests.circuit.examples import X, reached

S = ops.Source("s", X, is_set=False)


def one_operator(operator):
    builder = CircuitBuilder()
    builder.add(ops.Sink("v"), builder.add(operator, builder.add(S)))
    return builder.build()


def bag(*values):
    return ZSet.of((value,) for value in values)


def steps(machine, *epochs):
    return [machine.step({"s": rows})["v"] for rows in epochs]


@pytest.mark.law("DBSP §10 delay")
def test_delays_emit_what_came_one_step_ago():
    machine = DataflowMachine(one_operator(ops.Delay()))
    assert steps(machine, bag(1), bag(2, 2), bag()) == [bag(), bag(1), bag(2, 2)]
    machine.reset()
    assert steps(machine, bag(3), bag()) == [bag(), bag(3)]


@pytest.mark.law("DBSP §10 delay")
def test_integrals_and_differences_are_made_of_delays():
    epochs = [bag(1), bag(1, 2), bag()]
    assert steps(DataflowMachine(one_operator(ops.Integrate())), *epochs) == [bag(1), bag(1, 1, 2), bag(1, 1, 2)]
    differences = steps(DataflowMachine(one_operator(ops.Differentiate())), *epochs)
    assert differences == [bag(1), bag(2), -bag(1, 2)]


@pytest.mark.law("DBSP §10 environment")
def test_what_is_not_fed_is_zero():
    machine = DataflowMachine(one_operator(ops.Integrate()))
    assert machine.step({}) == {"v": bag()}
    assert denote(one_operator(ops.Integrate()), {})["v"].prefix(2) == [bag(), bag()]


FACTS = {"start": bag(1), "edge": ZSet.of([(1, 2), (2, 3), (3, 4)])}


@pytest.mark.law("DBSP §10 loop entry and exit")
def test_a_loop_adds_up_what_its_iterations_add():
    assert DataflowMachine(reached()).step(FACTS) == {"reached": bag(1, 2, 3, 4)}


@pytest.mark.law("DBSP §10 delay on nested streams", "DBSP §10 loop entry and exit")
def test_a_change_that_matters_late_in_a_loop_is_not_missed():
    """The new edge begins at 4, which is reached in the fourth iteration: all changes before it are zero."""
    machine = DataflowMachine(incrementalize(reached()))
    assert machine.step(FACTS) == {"reached": bag(1, 2, 3, 4)}
    assert machine.step({"edge": ZSet.of([(4, 5), (5, 6)])}) == {"reached": bag(5, 6)}
    assert machine.step({"edge": ZSet({(2, 3): -1})}) == {"reached": -bag(3, 4, 5, 6)}


def test_a_loop_without_end_is_told(monkeypatch):
    monkeypatch.setattr(compiling, "ITERATION_LIMIT", 3)
    with pytest.raises(UnsupportedError, match="no end after 3 iterations"):
        DataflowMachine(reached()).step(FACTS)


class Unknown(ops.Operator):
    def output(self, inputs, depth):
        return inputs[0]


def test_operators_without_a_meaning_are_told():
    circuit = one_operator(Unknown())
    with pytest.raises(UnsupportedError, match="unknown: there is no state machine"):
        DataflowMachine(circuit)
    with pytest.raises(UnsupportedError, match="unknown: it has no meaning"):
        denote(circuit, {"s": Stream.of(Z_SETS, [])})


def test_repeat_events_wait_for_the_data_and_for_inner_loops():
    class Log:
        def receive(self, event):
            seen.append(event)
            if event == Data(0, "a"):
                queue.send(self, Data(1, "b"))

    seen, queue, log = [], Queue(), Log()
    queue.send(log, Repeat(), level=1)
    queue.send(log, Data(0, "a"))
    queue.send(log, Repeat(), level=2)
    queue.deliver()
    assert seen == [Data(0, "a"), Data(1, "b"), Repeat(), Repeat()]


def test_a_channel_holds_one_value():
    output = Output(Queue())
    output.inputs = 2
    output.receive(Data(0, "a"))
    with pytest.raises(AssertionError, match="one value"):
        output.receive(Data(0, "b"))


def test_memory_repeats_the_end_of_the_last_step():
    memory = DelayMemory(clock=0)
    for step, values in enumerate(["abc", "xy"]):
        for iteration, value in enumerate(values):
            memory.advance((step, iteration))
            memory.put(value)
    read = []
    for iteration in range(4):
        memory.advance((2, iteration))
        read.append(memory.before())
    assert read == ["x", "y", "y", "y"]
    memory.reset(1)
    assert memory.before() == "y"
    memory.reset(0)
    memory.advance((0, 0))
    assert memory.before() is None


@pytest.mark.parametrize("module", [package, remembering])
def test_the_examples_run(module):
    results = doctest.testmod(module)
    assert results.attempted > 2
    assert results.failed == 0

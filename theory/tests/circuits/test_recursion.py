"""Recursion from naive evaluation to what is kept fresh [DBSP §7], each step a circuit that runs.

Catches a feedback that is delayed twice or not at all, a set that is imported as its change, a second difference that
is taken in one time only, and a lowering to another fixpoint's derivative.
"""

from __future__ import annotations

import random

import pytest

from deltic.algebra.zset import ZSet
from deltic.calculus import incrementalize
from deltic.calculus.passes import optimize
from deltic.calculus.push import push
from deltic.calculus.recursion import chain, lowered, naive
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle import interpreter as reference
from deltic.circuit.oracle.interpreter import Interpreter
from deltic.errors import UnsupportedError
from deltic_theory.circuits.denotation import denote
from deltic_theory.circuits.machine import DataflowMachine
from deltic_theory.groups import Z_SETS
from deltic_theory.streams import Stream
from tests.calculus.streams import differences
from tests.circuit.examples import XY, closure_body, reached, rename
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs

LIMIT = 60
MACHINES = [Interpreter, DataflowMachine]


def outputs(machine, circuit, epochs):
    running = machine(circuit)
    return [running.step(epoch) for epoch in epochs]


def red_and_blue():
    """The two mutually recursive relations of [DBSP §7.1.2], P over blue and Q over red edges, and their union O."""
    body = CircuitBuilder(1)
    blue, red = (body.add(ops.Import(i, ZSetType(XY, True))) for i in range(2))
    p, q = body.add(ops.Feedback("P", XY)), body.add(ops.Feedback("Q", XY))
    for name, edge, other in (("P", blue, q), ("Q", red, p)):
        first = rename(body, edge, x="x", z="y")
        longer = rename(body, body.add(ops.Join(), first, rename(body, other, z="x", y="y")), x="x", y="y")
        body.add(ops.Sink(name), body.add(ops.Distinct(), body.add(ops.Plus(), edge, longer)))
    builder = CircuitBuilder()
    sources = [builder.add(ops.Source(name, XY)) for name in ("B", "R")]
    bundle = builder.add(ops.Fixpoint(body.build()), *sources)
    both = builder.add(ops.Plus(), *(builder.add(ops.BundleRelation(name), bundle) for name in ("P", "Q")))
    builder.add(ops.Sink("O"), builder.add(ops.Distinct(), both))
    return builder.build()


def closure():
    builder = CircuitBuilder()
    bundle = builder.add(ops.Fixpoint(closure_body()), builder.add(ops.Source("edge", XY)))
    builder.add(ops.Sink("path"), builder.add(ops.BundleRelation("path"), bundle))
    return builder.build()


EXAMPLES = {"closure": closure(), "reached": reached(), "red-and-blue": red_and_blue()}


@pytest.mark.law("DBSP Thm 7.1", "DBSP Thm 7.2")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_chain_is_printed(name, golden):
    steps = chain(EXAMPLES[name])
    golden(f"calculus/recursion/{name}.txt", "\n\n".join(f"{step}:\n{circuit}" for step, circuit in steps.items()))


def random_graphs(rng, circuit, count):
    """Changes of graphs of six nodes, long and thin ones too."""
    pairs = [(i, j) for i in range(6) for j in range(6) if rng.random() < 0.5 or j == i + 1]
    names = {op.name: len(op.schema) for op in circuit.operators if isinstance(op, ops.Source)}
    tables, epochs = {name: ZSet() for name in names}, []
    for _ in range(count):
        rows = {name: rng.sample([p[:arity] for p in pairs], len(pairs) // 3) for name, arity in names.items()}
        epochs.append({name: ZSet.of(set(rows[name])) - tables[name] for name in names})
        tables = {name: ZSet.of(set(rows[name])) for name in names}
    return epochs


def check_chain(query, epochs, machines=MACHINES):
    """All steps mean the query: the first two on tables, the others on changes."""
    steps = chain(query)
    tables, changes = list(integrals(epochs)), differences(query, epochs)
    values = outputs(Interpreter, query, tables)
    for machine in machines:
        for name in ("naive", "semi_naive"):
            assert outputs(machine, steps[name], tables) == values, f"{name} by {machine.__name__}\n{steps[name]}"
        for name in ("maintained", "lowered"):
            assert outputs(machine, steps[name], epochs) == changes, f"{name} by {machine.__name__}\n{steps[name]}"
    assert steps["lowered"] == push(surround(query))


class Denotation:
    """A circuit as a function on streams, run step by step."""

    def __init__(self, circuit):
        self._circuit, self._epochs = circuit, []

    def step(self, epoch):
        self._epochs.append(epoch)
        sources = {name: Stream.of(Z_SETS, [e[name] for e in self._epochs]) for name in epoch}
        return {name: stream[len(self._epochs) - 1] for name, stream in denote(self._circuit, sources).items()}


@pytest.mark.law("DBSP Prop 4.2", "DBSP Prop 5.7")
@pytest.mark.parametrize("name", ["closure", "reached"])
def test_the_chain_as_functions_on_streams(name):
    for seed in range(2):
        check_chain(EXAMPLES[name], random_graphs(random.Random(seed), EXAMPLES[name], 3), [Denotation])


@pytest.mark.law("DBSP Thm 7.1", "DBSP Thm 7.2", "DBSP §7.2", "DBSP Prop 4.2", "DBSP Prop 5.7")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_chain_of_known_programs(name):
    for seed in range(3):
        check_chain(EXAMPLES[name], random_graphs(random.Random(seed), EXAMPLES[name], 4))


def recursive_cases(seeds):
    """Random circuits with a fixpoint, and changes for which its iterations end."""
    for seed in seeds:
        rng = random.Random(seed)
        query = random_circuit(rng, Shape(operators=6, fixpoints=2))
        epochs = random_epochs(rng, query, 3)
        if any(isinstance(op, ops.Fixpoint) for op in query.operators) and ends(query, epochs):
            yield seed, query, epochs


def ends(query, epochs):
    try:
        outputs(Interpreter, query, integrals(epochs))
    except UnsupportedError:
        return False
    return True


@pytest.fixture(autouse=True)
def few_iterations(monkeypatch):
    """Fixpoints over bags may have no end; those of sets over these few values end sooner."""
    monkeypatch.setattr(reference, "ITERATION_LIMIT", LIMIT)


@pytest.mark.law("DBSP Thm 7.1", "DBSP Thm 7.2", "DBSP §7.2", "DBSP Prop 4.2", "DBSP Prop 5.7")
@pytest.mark.parametrize("batch", range(4))
def test_the_chain_of_random_programs(batch):
    found = [check_chain(query, epochs) for _, query, epochs in recursive_cases(range(batch * 20, batch * 20 + 20))]
    assert len(found) > 5


def test_the_lowered_circuit_is_that_of_the_engines():
    query = optimize(closure())
    assert chain(query)["lowered"] == incrementalize(closure())


def test_a_bracket_of_something_else_is_not_lowered():
    steps = chain(closure())
    with pytest.raises(UnsupportedError, match=r"^%1 bracket: it maintains no fixpoint of the query$"):
        lowered(steps["maintained"], reached())
    with pytest.raises(UnsupportedError, match="maintains no fixpoint"):
        lowered(naive(closure()), closure())

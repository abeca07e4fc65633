"""Plans mean what the circuits meant, whatever is believed of the sizes of relations.

Random beliefs make random parts of random circuits into hidden relations; a projection that loses a multiplicity, a set
where counts matter, or a variable that is dropped though something else reads it, shows in the reference interpreter.
"""

from __future__ import annotations

import random

import pytest

from deltic.calculus.planning import RewriteCosts, planned
from deltic.calculus.push import push
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.oracle.interpreter import Interpreter, run
from deltic.circuit.reading import parse_circuit
from tests.differential.circuits import Shape, integrals, random_circuit, random_epochs

EAGER = RewriteCosts(least=float("-inf"), ratio=float("inf"), fan_out=0.0, columns=9, large=0.0)


class Beliefs:
    """Sizes drawn at random, some of them unknown."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.known = rng, {}

    def rows(self, relation):
        return self.known.setdefault(relation, self.rng.choice((None, 10.0, 1e4, 1e6)))

    def distinct(self, relation, columns):
        return self.known.setdefault((relation, tuple(columns)), self.rows(relation) / self.rng.choice((1, 10, 1e4)))

    def joined(self, tables):
        return self.known.setdefault(repr(tables), self.rng.choice((0.0, 1e4, 1e9)))

    def passing(self, relation, conditions, guess):
        return guess

    def sampled(self, tables, kept, rows):
        return None

    def meeting(self, one, other):
        return self.known.setdefault((one, other), self.rng.choice((10.0, 1e6, 1e9)))


def with_heads(rng: random.Random, circuit: Circuit) -> Circuit:
    """The circuit with views of a few columns of joins of its nodes: as bags, as sets, and aggregated."""
    builder = CircuitBuilder()
    for node in circuit.nodes:
        builder.add(node.operator, *node.inputs)
    nodes = enumerate(circuit.nodes)
    zsets = [n for n, node in nodes if isinstance(node.type, ZSetType) and not isinstance(node.operator, ops.Sink)]
    for view in range(3):
        joined = builder.add(ops.Join(), *rng.choices(zsets, k=rng.randint(2, 4)))
        columns = builder.type_of(joined).schema.columns
        kept = tuple(sorted(rng.sample(columns, min(len(columns), rng.randint(0, 2))), key=lambda c: c.name))
        made = builder.add(ops.Map(kept, tuple(column(c.name) for c in kept)), joined)
        if rng.random() < 0.4:
            made = builder.add(ops.Distinct(), made)
        elif kept and rng.random() < 0.6:
            functions = ("count", "min", "max", *(("sum", "sum") if kept[-1].type.is_integer else ()))
            calls = [ops.AggregateCall(rng.choice(functions), kept[-1].name, "result")]
            calls += [ops.AggregateCall("count", "", "rows")] if rng.random() < 0.3 else []
            made = builder.add(ops.Aggregate(tuple(c.name for c in kept[:-1]), tuple(calls)), made)
        builder.add(ops.Sink(f"head{view}"), made)
    return builder.build()


@pytest.mark.law("DBSP Prop 6.11")
@pytest.mark.parametrize("batch", range(4))
def test_random_circuits_and_their_plans_are_equal(batch):
    decided = 0
    for seed in range(batch * 15, (batch + 1) * 15):
        rng = random.Random(seed)
        signed = seed % 2 == 0
        shape = Shape(operators=8, signed=signed, fixpoints=1, rich=seed % 3 == 0)
        before = with_heads(rng, random_circuit(rng, shape))
        after, decisions = planned(before, Beliefs(rng), costs=EAGER)
        decided += len(decisions)
        epochs = random_epochs(rng, before, 2, signed)
        for contents in integrals(epochs):
            assert run(after, contents) == run(before, contents), f"seed {seed}\n{before}\n{after}"
        one, other = Interpreter(push(surround(before))), Interpreter(push(surround(after)))
        for epoch in epochs:
            assert other.step(epoch) == one.step(epoch), f"seed {seed}\n{before}\n{after}"
    assert decided >= 8


def test_a_recursion_from_which_something_remembered_is_computed_stays():
    """Whatever is believed: the plan of what stands around it is not taken for one of its body, either."""
    before = parse_circuit("""
        %0 = source s : set{a: int64, b: int64}
        %1 = source t : set{b: int64, c: int64}
        %2 = source u : set{c: int64, d: int64}
        %3 = fixpoint (%0, %1, %2) : <p: set{a: int64}>
          body {
            %0 = import 0 : set{a: int64, b: int64}^1
            %1 = import 1 : set{b: int64, c: int64}^1
            %2 = import 2 : set{c: int64, d: int64}^1
            %3 = feedback p : set{a: int64}^1
            %4 = join (%0, %1, %2, %3) : set{a: int64, b: int64, c: int64, d: int64}^1
            %5 = map [d AS a] (%4) : zset{a: int64}^1
            %6 = map [a] (%0) : zset{a: int64}^1
            %7 = plus (%5, %6) : zset{a: int64}^1
            %8 = distinct (%7) : set{a: int64}^1
            %9 = sink p (%8) : set{a: int64}^1
          }
        %4 = component p (%3) : set{a: int64}
        %5 = map [a] (%0) : zset{a: int64}
        %6 = distinct (%5) : set{a: int64}
        %7 = delay (%4) : set{a: int64}
        %8 = sink w (%6) : set{a: int64}
        %9 = sink v (%7) : set{a: int64}""")
    for seed in range(3):
        after, _ = planned(before, Beliefs(random.Random(seed)), costs=EAGER)
        assert after.part("v") == before.part("v")

"""The recursive programs of [DBSP §7.1], as the circuits drawn there, naive and semi-naive, and from Datalog's text.

Catches a rule that is read backwards, a back-edge that skips the delay, and semi-naive circuits that lose the old rows.
In the second rule of Q the paper has the head Q(z, y), where the paths along red and blue edges would be Q(x, y); both
are run.
"""

from __future__ import annotations

import random

import pytest
from theory.tests.circuits.meanings import by_denotation, by_machine

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.oracle.interpreter import run
from deltic.datalog import check, lower, parse
from tests.circuit.examples import XY, rename, within

SET = ZSetType(XY, is_set=True)
CLOSURE = """
.decl I(x: number, y: number)
.input I
.decl E(x: number, y: number)
.output E
E(x, y) :- I(x, y).
E(x, y) :- I(x, z), E(z, y).
"""
RED_AND_BLUE = """
.decl B(x: number, y: number)
.decl R(x: number, y: number)
.input B
.input R
.decl P(x: number, y: number)
.decl Q(x: number, y: number)
.decl O(x: number, y: number)
.output O
P(x, y) :- B(x, y).
Q(x, y) :- R(x, y).
P(x, y) :- B(x, z), Q(z, y).
Q({head}, y) :- R(x, z), P(z, y).
O(x, y) :- P(x, y).
O(x, y) :- Q(x, y).
"""


def rule(builder, edges, paths, head="x"):
    """The rule's body as a circuit R(I, E): I(x, z), E(z, y), projected to the head and y."""
    step = rename(builder, paths, z="x", y="y")
    joined = builder.add(ops.Join(), rename(builder, edges, x="x", z="y"), step)
    return rename(builder, joined, x=head, y="y")


def naive_closure():
    """∫ ∘ D ∘ (fix E. distinct(C + R(I, z⁻¹(E)))) ∘ I ∘ δ₀, where the base case C is I itself."""
    builder = CircuitBuilder(1)
    edges = builder.add(ops.Integrate(is_set=True), builder.add(ops.Import(0, SET)))
    past = builder.add(ops.BackEdge("E", XY, is_set=True))
    paths = builder.add(ops.Distinct(), builder.add(ops.Plus(), edges, rule(builder, edges, past)))
    builder.add(ops.Close("E"), paths)
    builder.add(ops.Sink("E"), builder.add(ops.Differentiate(), paths))
    return within(ops.Bracket(builder.build()), I=XY)


def semi_naive_closure():
    """∫ ∘ (fix E. distinct^Δ(C + R^Δ(I, z⁻¹(E)))) ∘ δ₀, with R^Δ by [DBSP Thm 4.5] and distinct^Δ by H."""
    builder = CircuitBuilder(1)
    edges = builder.add(ops.Import(0, SET))
    past = builder.add(ops.BackEdge("E", XY))
    all_edges = builder.add(ops.Integrate(is_set=True), edges)
    older = builder.add(ops.Delay(), builder.add(ops.Integrate(), past))
    change = builder.add(ops.Plus(), edges, rule(builder, edges, older), rule(builder, all_edges, past))
    before = builder.add(ops.Delay(), builder.add(ops.Integrate(), change))
    paths = builder.add(ops.DistinctDelta(), before, change)
    builder.add(ops.Close("E"), paths)
    builder.add(ops.Sink("E"), paths)
    return within(ops.Bracket(builder.build(), is_set=True), I=XY)


def naive_red_and_blue(head):
    """The two widgets of P and Q, each connected to the other through z⁻¹."""
    builder = CircuitBuilder(1)
    blue, red = (builder.add(ops.Integrate(is_set=True), builder.add(ops.Import(i, SET))) for i in range(2))
    p, q = (builder.add(ops.BackEdge(name, XY, is_set=True)) for name in "PQ")
    for name, edges, other, of in (("P", blue, q, "x"), ("Q", red, p, head)):
        paths = builder.add(ops.Distinct(), builder.add(ops.Plus(), edges, rule(builder, edges, other, of)))
        builder.add(ops.Close(name), paths)
        builder.add(ops.Sink(name), builder.add(ops.Differentiate(), paths))
    outer = CircuitBuilder()
    bundle = outer.add(ops.Bracket(builder.build()), *(outer.add(ops.Source(name, XY)) for name in "BR"))
    both = outer.add(ops.Plus(), *(outer.add(ops.BundleRelation(name), bundle) for name in "PQ"))
    outer.add(ops.Sink("O"), outer.add(ops.Distinct(), both))
    return outer.build()


def closure(edges):
    """The least E with E = I ∪ I ∘ E, by hand."""
    paths = set()
    while (more := edges | {(x, y) for x, z in edges for w, y in paths if z == w}) != paths:
        paths = more
    return paths


def red_and_blue(blue, red, head):
    """The least P and Q, by hand; their union."""
    p, q = set(), set()
    for _ in range(40):
        p = blue | {(x, y) for x, z in blue for w, y in q if z == w}
        q = red | {(x if head == "x" else z, y) for x, z in red for w, y in p if z == w}
    return p | q


def random_graph(rng):
    return {pair for pair in ((i, j) for i in range(6) for j in range(6)) if rng.random() < 0.25}


@pytest.mark.law("DBSP §7.1.1 transitive closure", "DBSP Thm 7.1")
def test_the_transitive_closure():
    circuits = [naive_closure(), semi_naive_closure(), lower(check([parse(CLOSURE)]))]
    for seed in range(25):
        edges = random_graph(random.Random(seed))
        expected = {"E": ZSet.of(closure(edges))}
        for circuit in circuits:
            assert run(circuit, {"I": ZSet.of(edges)}) == expected
        for circuit in circuits[:2]:
            assert (
                by_machine(circuit, [{"I": ZSet.of(edges)}])
                == [expected]
                == by_denotation(circuit, [{"I": ZSet.of(edges)}])
            )


@pytest.mark.law("DBSP §7.1.2 red and blue", "DBSP Thm 7.2")
@pytest.mark.parametrize("head", ["x", "z"])
def test_red_and_blue_paths(head):
    circuits = [naive_red_and_blue(head), lower(check([parse(RED_AND_BLUE.format(head=head))]))]
    differ = False
    for seed in range(25):
        rng = random.Random(seed)
        blue, red = random_graph(rng), random_graph(rng)
        tables = {"B": ZSet.of(blue), "R": ZSet.of(red)}
        expected = ZSet.of(red_and_blue(blue, red, head))
        for circuit in circuits:
            assert run(circuit, tables)["O"] == expected
        assert by_machine(circuits[0], [tables]) == [{"O": expected}] == by_denotation(circuits[0], [tables])
        differ |= expected != ZSet.of(closure(blue | red))
    assert differ

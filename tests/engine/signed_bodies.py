"""Recursions by name whose rows come and go from iteration to iteration, over small random graphs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.custom import CustomOperator
from deltic.circuit.edges import ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.operators.custom import applied
from deltic.values.types import Column, Schema, Type

Row = tuple[Any, ...]
# The rows that a table may have, of nodes 0 to n − 1.
Universe = Callable[[int, random.Random], list[Row]]


class Body:
    """A builder of a recursion's body, and of the circuit around it."""

    def __init__(self) -> None:
        self.builder = CircuitBuilder(1)
        self.tables: dict[str, Schema] = {}

    def table(self, name: str, *columns: str) -> int:
        """A table of integers, imported."""
        schema = Schema(tuple(Column(c, Type.INT64) for c in columns))
        self.tables[name] = schema
        return self.builder.add(ops.Import(len(self.tables) - 1, ZSetType(schema, is_set=True)))

    def feedback(self, name: str, *columns: str) -> int:
        """A recursive relation of integers."""
        return self.builder.add(ops.Feedback(name, Schema(tuple(Column(c, Type.INT64) for c in columns))))

    def map(self, number: int, **columns: str | exp.Expression) -> int:
        """These columns, each of one column or of an expression."""
        expressions = tuple(column(e) if isinstance(e, str) else e for e in columns.values())
        return self.builder.add(ops.Map(tuple(Column(c, Type.INT64) for c in columns), expressions), number)

    def filter(self, number: int, predicate: exp.Expression) -> int:
        return self.builder.add(ops.Filter(predicate), number)

    def join(self, *numbers: int) -> int:
        return self.builder.add(ops.Join(), *numbers)

    def without(self, left: int, right: int) -> int:
        """The rows of the first without a match in the set of the second."""
        if not self.builder.type_of(right).is_set:
            right = self.distinct(right)
        return self.builder.add(ops.Antijoin(), left, right)

    def distinct(self, *numbers: int) -> int:
        return self.builder.add(ops.Distinct(), self.plus(*numbers))

    def plus(self, *numbers: int) -> int:
        return self.builder.add(ops.Plus(), *numbers) if len(numbers) > 1 else numbers[0]

    def aggregate(self, number: int, keys: Sequence[str], function: str, read: str, name: str) -> int:
        return self.builder.add(ops.Aggregate(tuple(keys), (ops.AggregateCall(function, read, name),)), number)

    def apply(self, custom: CustomOperator, *numbers: int) -> int:
        """What an operator of a user's own makes."""
        return self.builder.add(applied(custom), *numbers)

    def circuit(self, **sinks: int) -> Circuit:
        """The circuit whose views are the recursive relations."""
        for name, number in sinks.items():
            self.builder.add(ops.Sink(name), number)
        outer = CircuitBuilder()
        sources = [outer.add(ops.Source(name, schema)) for name, schema in self.tables.items()]
        bundle = outer.add(ops.Fixpoint(self.builder.build()), *sources)
        for name in sinks:
            outer.add(ops.Sink(name), outer.add(ops.BundleRelation(name), bundle))
        return outer.build()


def _add(left: str, right: str | int) -> exp.Expression:
    other = column(right) if isinstance(right, str) else literal(right, Type.INT64)
    return exp.Add(this=column(left), expression=other)


def tree() -> Circuit:
    """treeP(x) ← node(x) ∧ ∀y (child(x, y) → treeP(y)) [FIX §1]."""
    b = Body()
    node, child, holds = b.table("node", "x"), b.table("child", "x", "y"), b.feedback("tree", "x")
    open_ = b.without(child, b.map(holds, y="x"))
    return b.circuit(tree=b.distinct(b.without(node, b.map(open_, x="x"))))


def shortest() -> Circuit:
    """The least sum of lengths from a source."""
    b = Body()
    source, edge, dist = b.table("source", "x"), b.table("edge", "x", "y", "w"), b.feedback("dist", "x", "d")
    zero = b.map(source, x="x", d=literal(0, Type.INT64))
    step = b.map(b.join(dist, edge), x="y", d=_add("d", "w"))
    return b.circuit(dist=b.aggregate(b.plus(zero, step), ["x"], "min", "d", "d"))


def labels() -> Circuit:
    """The least node of each component."""
    b = Body()
    node, edge, label = b.table("node", "x"), b.table("edge", "x", "y"), b.feedback("label", "x", "l")
    there = b.map(b.join(label, edge), x="y", l="l")
    back = b.map(b.join(b.map(label, y="x", l="l"), edge), x="x", l="l")
    return b.circuit(label=b.aggregate(b.plus(b.map(node, x="x", l="x"), there, back), ["x"], "min", "l", "l"))


def heights() -> Circuit:
    """One more than the greatest height of a node's children, when all of them are known [FIX §4.3]."""
    b = Body()
    node, child, height = b.table("node", "x"), b.table("child", "x", "y"), b.feedback("height", "x", "h")
    waits = b.without(child, b.map(height, y="x"))
    ready = b.without(node, b.map(waits, x="x"))
    below = b.map(b.join(child, b.map(height, y="x", h="h")), x="x", h=_add("h", 1))
    leaf = b.map(ready, x="x", h=literal(0, Type.INT64))
    return b.circuit(height=b.aggregate(b.plus(leaf, b.join(below, ready)), ["x"], "max", "h", "h"))


def control() -> Circuit:
    """Who owns more than half of a company, alone or with what it controls."""
    b = Body()
    owns, controls = b.table("owns", "x", "y", "s"), b.feedback("controls", "x", "y")
    via = b.map(b.join(b.map(controls, x="x", z="y"), b.map(owns, z="x", y="y", s="s")), x="x", y="y", s="s")
    total = b.aggregate(b.plus(owns, via), ["x", "y"], "sum", "s", "t")
    typed = b.map(total, x="x", y="y", t=exp.Coalesce(this=column("t"), expressions=[literal(0, Type.INT64)]))
    most = b.filter(typed, exp.GT(this=column("t"), expression=literal(50, Type.INT64)))
    return b.circuit(controls=b.distinct(b.map(most, x="x", y="y")))


def even() -> Circuit:
    """Positions lost in an even number of moves: each move from them leads to one from which some move comes back."""
    b = Body()
    node, move, lost = b.table("node", "x"), b.table("child", "x", "y"), b.feedback("lost", "x")
    won = b.distinct(b.map(b.join(move, b.map(lost, y="x")), x="x"))
    escape = b.without(move, b.map(won, y="x"))
    return b.circuit(lost=b.distinct(b.without(node, b.map(escape, x="x"))))


def materials() -> Circuit:
    """The cost of a part: its own work, and what its parts cost, when all of them are known."""
    b = Body()
    part, needs, cost = b.table("part", "x", "w"), b.table("needs", "x", "y", "n"), b.feedback("cost", "x", "c")
    below = b.map(b.join(needs, b.map(cost, y="x", c="c")), x="x", c=exp.Mul(this=column("n"), expression=column("c")))
    waits = b.without(b.map(needs, x="x", y="y"), b.map(cost, y="x"))
    offers = b.plus(b.map(part, x="x", c="w"), below)
    total = b.aggregate(b.join(offers, b.map(part, x="x")), ["x"], "sum", "c", "c")
    return b.circuit(cost=b.distinct(b.without(total, b.map(waits, x="x"))))


def game() -> Circuit:
    """win(x) ← move(x, y), ¬win(y): settles where moves do not go in a circle."""
    b = Body()
    move, win = b.table("child", "x", "y"), b.feedback("win", "x")
    return b.circuit(win=b.distinct(b.map(b.without(move, b.map(win, y="x")), x="x")))


def parity() -> Circuit:
    """On is what an odd number of predecessors, or of seeds, turns on."""
    b = Body()
    seed, edge, on = b.table("node", "x"), b.table("child", "x", "y"), b.feedback("on", "x")
    flips = b.plus(seed, b.map(b.join(on, edge), x="y"))
    count = b.aggregate(flips, ["x"], "count", "", "n")
    odd = exp.EQ(this=exp.Mod(this=column("n"), expression=literal(2, Type.INT64)), expression=literal(1, Type.INT64))
    return b.circuit(on=b.distinct(b.map(b.filter(count, odd), x="x")))


def mutual() -> Circuit:
    """Two relations, each without what the other has, and with what follows from it."""
    b = Body()
    edge, p, q = b.table("child", "x", "y"), b.feedback("p", "x", "y"), b.feedback("q", "x", "y")
    first = b.without(edge, b.map(q, x="y", y="x"))
    longer = b.map(b.join(p, b.map(edge, y="x", z="y")), x="x", y="z")
    second = b.map(b.without(b.join(q, b.map(p, y="x", z="y")), b.map(p, x="x")), x="x", y="z")
    return b.circuit(p=b.distinct(first, longer), q=b.distinct(b.map(edge, x="y", y="x"), second))


def pairs(n: int, rng: random.Random) -> list[Row]:
    return [(x, y) for x in range(n) for y in range(n) if x != y]


def upward(n: int, rng: random.Random) -> list[Row]:
    return [(x, y) for x, y in pairs(n, rng) if x < y]


def nodes(n: int, rng: random.Random) -> list[Row]:
    return [(x,) for x in range(n)]


def few(n: int, rng: random.Random) -> list[Row]:
    return [(0,), (1,)]


def weighted(weights: Sequence[int]) -> Universe:
    return lambda n, rng: [(x, y, rng.choice(weights)) for x, y in pairs(n, rng) for _ in range(rng.choice((1, 1, 2)))]


def weighted_nodes(n: int, rng: random.Random) -> list[Row]:
    return [(x, 1 + x % 3) for x in range(n)]


def needed(n: int, rng: random.Random) -> list[Row]:
    return [(x, y, rng.choice((1, 2))) for x, y in upward(n, rng)]


@dataclass(frozen=True)
class Named:
    """A recursion, and the rows that its tables may have."""

    make: Callable[[], Circuit]
    universe: Mapping[str, Universe]


BODIES = {
    "tree": Named(tree, {"node": nodes, "child": pairs}),
    "tree, acyclic": Named(tree, {"node": nodes, "child": upward}),
    "shortest": Named(shortest, {"source": few, "edge": weighted((1, 2, 3, 5, 9))}),
    "labels": Named(labels, {"node": nodes, "edge": upward}),
    "heights": Named(heights, {"node": nodes, "child": pairs}),
    "heights, acyclic": Named(heights, {"node": nodes, "child": upward}),
    "control": Named(control, {"owns": weighted((10, 20, 30, 40, 60))}),
    "control, short sales": Named(control, {"owns": weighted((-20, 20, 30, 40, 60))}),
    "materials": Named(materials, {"part": weighted_nodes, "needs": needed}),
    "even": Named(even, {"node": nodes, "child": pairs}),
    "game": Named(game, {"child": upward}),
    "game, in circles": Named(game, {"child": pairs}),
    "parity": Named(parity, {"node": few, "child": upward}),
    "parity, in circles": Named(parity, {"node": few, "child": pairs}),
    "mutual": Named(mutual, {"child": pairs}),
}


def random_changes(
    rng: random.Random, universe: Mapping[str, Universe], count: int, most: int = 8
) -> Iterator[dict[str, dict[Row, int]]]:
    """Changes of tables whose rows are among those that there may be."""
    size = rng.randint(2, most)
    rows = {name: sorted(set(make(size, rng))) for name, make in universe.items()}
    there: dict[str, set[Row]] = {name: set() for name in rows}
    dense = rng.choice((0.08, 0.15, 0.25, 0.4))
    for number in range(count):
        changes: dict[str, dict[Row, int]] = {}
        for name, possible in rows.items():
            here = there[name]
            chance = 0.9 if len(possible) <= 8 else dense
            found = {
                row: -1 if row in here else 1
                for row in possible
                if rng.random() < (0.06 if row in here else chance * (0.3 if number else 1))
            }
            changes[name] = found
            there[name] = here ^ set(found)
        yield changes


def random_body(rng: random.Random, own: Sequence[CustomOperator] = ()) -> Circuit:
    """Two mutually recursive relations over pairs, of joins, unions, negations, double negations and aggregates.

    And of operators of a user's own, of one relation or two.
    """
    b = Body()
    leaves = [b.table("e", "x", "y"), b.table("f", "x", "y")]
    leaves += [b.feedback("p", "x", "y"), b.feedback("q", "x", "y")] * 2

    def build(depth: int) -> int:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(leaves)
        one = build(depth - 1)
        if own and rng.random() < 0.4:
            custom = rng.choice(own)
            return b.apply(custom, one, *(build(depth - 1) for _ in custom.takes[1:]))
        kind = rng.choice(KINDS)
        if kind in ("join", "union", "negation", "double"):
            return two(kind, one, build(depth - 1))
        if kind == "swap":
            return b.map(one, x="y", y="x")
        if kind == "self":
            return b.map(b.filter(one, exp.LTE(this=column("x"), expression=column("y"))), x="x", y="x")
        if kind == "distinct":
            return b.distinct(one)
        found = b.aggregate(one, ["x"], kind, "" if kind == "count" else "y", "y")
        return b.map(found, x="x", y=exp.Mod(this=column("y"), expression=literal(4, Type.INT64)))

    def two(kind: str, one: int, other: int) -> int:
        if kind == "join":
            longer = b.map(b.join(b.map(one, x="x", z="y"), b.map(other, z="x", y="y")), x="x", y="y")
            return b.filter(longer, exp.NEQ(this=column("x"), expression=column("y")))
        if kind == "union":
            return b.plus(one, other)
        if kind == "double":
            other = b.without(rng.choice(leaves[:2]), b.map(other, **{key: key for key in rng.choice(KEYS)}))
        (key,) = rng.choice(KEYS[1:])
        return b.without(one, b.map(other, **{key: rng.choice("xy")}))

    p, q = (b.distinct(build(rng.choice((2, 3, 4)))) for _ in "pq")
    return b.circuit(p=p, q=q)


KEYS = (("x", "y"), ("x",), ("y",))
KINDS = "join join union union negation double distinct min max count sum swap self".split()  # noqa: SIM905
RANDOM = {"e": pairs, "f": pairs}

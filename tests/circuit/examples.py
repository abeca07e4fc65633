"""Circuits that several tests read: one of each operator, over small schemas."""

from __future__ import annotations

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.edges import BundleType, ZSetType
from deltic.circuit.expressions import column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.values.types import Column, Schema, Type

XY = Schema.of(x=Type.INT64, y=Type.INT64)
YZ = Schema.of(y=Type.INT64, z=Type.INT64)
XZ = Schema.of(x=Type.INT64, z=Type.INT64)
X, Y = Schema.of(x=Type.INT64), Schema.of(y=Type.INT64)


def rename(builder: CircuitBuilder, number: int, **names: str) -> int:
    """The columns called by the values, under the names of the keywords."""
    types = builder.type_of(number).schema.types
    columns = tuple(Column(new, types[old]) for new, old in names.items())
    return builder.add(ops.Map(columns, tuple(column(old) for old in names.values())), number)


def closure_body() -> Circuit:
    """path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."""
    builder = CircuitBuilder(1)
    edge = builder.add(ops.Import(0, ZSetType(XY, is_set=True)))
    longer = builder.add(ops.Join(), builder.add(ops.Feedback("path", XY)), rename(builder, edge, y="x", z="y"))
    both = builder.add(ops.Plus(), edge, rename(builder, longer, x="x", y="z"))
    builder.add(ops.Sink("path"), builder.add(ops.Distinct(), both))
    return builder.build()


def naive_closure() -> Circuit:
    """path as above, by brackets and a back-edge: ∫ ∘ D ∘ (fix path. distinct(edge + path ⋈ edge)) ∘ I ∘ δ₀."""
    builder = CircuitBuilder(1)
    edge = builder.add(ops.Integrate(is_set=True), builder.add(ops.Import(0, ZSetType(XY, is_set=True))))
    path = builder.add(ops.BackEdge("path", XY, is_set=True))
    longer = builder.add(ops.Join(), path, rename(builder, edge, y="x", z="y"))
    both = builder.add(ops.Distinct(), builder.add(ops.Plus(), edge, rename(builder, longer, x="x", y="z")))
    builder.add(ops.Close("path"), both)
    builder.add(ops.Sink("path"), builder.add(ops.Differentiate(), both))
    return within(ops.Bracket(builder.build()), edge=XY)


def within(operator: ops.Operator, **sources: Schema) -> Circuit:
    """A circuit of one operator that puts out a bundle, over sets; a sink for each relation of the bundle."""
    builder = CircuitBuilder()
    bundle = builder.add(operator, *(builder.add(ops.Source(name, schema)) for name, schema in sources.items()))
    type_ = builder.node(bundle).type
    assert isinstance(type_, BundleType)
    for name, _ in type_.entries:
        builder.add(ops.Sink(name), builder.add(ops.BundleRelation(name), bundle))
    return builder.build()


def unreachable() -> Circuit:
    """path as above; unreachable(x, y) :- node(x), node(y), !path(x, y), x != y."""
    builder = CircuitBuilder()
    edge, node = builder.add(ops.Source("edge", XY)), builder.add(ops.Source("node", X))
    path = builder.add(ops.BundleRelation("path"), builder.add(ops.Fixpoint(closure_body()), edge))
    pairs = builder.add(ops.Join(), node, rename(builder, node, y="x"))
    different = builder.add(ops.Filter(exp.NEQ(this=column("x"), expression=column("y"))), pairs)
    builder.add(ops.Sink("path"), path)
    builder.add(ops.Sink("unreachable"), builder.add(ops.Antijoin(), different, path))
    return builder.build()


def reached_body() -> Circuit:
    """reached(x) :- start(x). reached(y) :- reached(x), edge(x, y)."""
    builder = CircuitBuilder(1)
    start, edge = builder.add(ops.Import(0, ZSetType(X, is_set=True))), builder.add(ops.Import(1, ZSetType(XY, True)))
    step = builder.add(ops.Join(), builder.add(ops.Feedback("reached", X)), edge)
    both = builder.add(ops.Plus(), start, rename(builder, step, x="y"))
    builder.add(ops.Sink("reached"), builder.add(ops.Distinct(), both))
    return builder.build()


def reached() -> Circuit:
    """The rows that are reached from those of start: a new edge matters only where its source is reached."""
    builder = CircuitBuilder()
    start, edge = builder.add(ops.Source("start", X)), builder.add(ops.Source("edge", XY))
    fixpoint = builder.add(ops.Fixpoint(reached_body()), start, edge)
    builder.add(ops.Sink("reached"), builder.add(ops.BundleRelation("reached"), fixpoint))
    return builder.build()


def arithmetic() -> Circuit:
    """Bags, a constant, computed columns, negation and a nullary view."""
    builder = CircuitBuilder()
    source = builder.add(ops.Source("s", XY, is_set=False))
    constant = builder.add(ops.Constant(XY, ((1, 2), (-3, 4))))
    both = builder.add(ops.Plus(), source, builder.add(ops.Negate(), constant))
    quotient = exp.IntDiv(this=column("x"), expression=column("y"))
    total = exp.Add(this=column("x"), expression=exp.paren(exp.Mul(this=column("y"), expression=column("x"))))
    columns = (Column("q", Type.INT64, nullable=True), Column("t", Type.INT64), Column("k", Type.STRING))
    computed = builder.add(ops.Map(columns, (quotient, total, literal("it's", Type.STRING))), both)
    builder.add(ops.Sink("computed"), computed)
    builder.add(ops.Sink("some"), builder.add(ops.Distinct(), builder.add(ops.Map((), ()), source)))
    return builder.build()

"""π(a ⋈ b) = π(π′(a) ⋈ π′(b)): columns that neither the map after a join nor another input reads are dropped before.

Projection and join are linear in each input, and a column that is read by neither only multiplies weights.
"""

from __future__ import annotations

from collections import Counter

from deltic.calculus.passes.rewriting import Rewriting, rewrite
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of
from deltic.circuit.graph import Circuit, Node


def project_early(circuit: Circuit) -> Circuit:
    """The circuit without dead columns in joins that a map alone reads."""
    return rewrite(circuit, _rule)


def _rule(rewriting: Rewriting, node: Node) -> int | None:
    if not isinstance(node.operator, ops.Map) or not rewriting.only_read_here(node.inputs[0]):
        return None
    join = rewriting.node(node.inputs[0])
    if not isinstance(join.operator, ops.Join):
        return None
    live = _live_columns(rewriting.circuit, node.operator, join)
    whole = rewriting.new(*join.inputs)
    inputs = [_narrowed(rewriting, old, new, live) for old, new in zip(join.inputs, whole, strict=True)]
    if inputs == whole:
        return None
    return rewriting.add(node.operator, rewriting.add(join.operator, *inputs))


def _live_columns(circuit: Circuit, op: ops.Map, join: Node) -> set[str]:
    """The columns that the map reads, or that two inputs share."""
    counts = Counter(name for number in join.inputs for name in circuit.type_of(number).schema.names)
    return {name for name, count in counts.items() if count > 1} | {n for e in op.expressions for n in columns_of(e)}


def _narrowed(rewriting: Rewriting, old: int, new: int, live: set[str]) -> int:
    schema = rewriting.circuit.type_of(old).schema
    kept = tuple(c for c in schema if c.name in live)
    if len(kept) == len(schema):
        return new
    return rewriting.add(ops.Map(kept, tuple(column(c.name) for c in kept)), new)

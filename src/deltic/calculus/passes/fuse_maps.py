"""map g (map f a) = map (g ∘ f) a, both linear; and an identity map is dropped.

The inner map must not be partial, because the outer one might not read the undefined value; and a computed column must
be read at most once, because it would be computed twice.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.calculus.passes.substitution import copies, through, uses
from deltic.circuit import operators as ops
from deltic.circuit.expressions import show
from deltic.circuit.graph import Circuit, Node


@rewrites(ops.Map)
def fuse_maps(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with consecutive maps merged where the inner one has one reader, and without identity maps."""
    if not isinstance(node.operator, ops.Map):
        return None
    number = node.inputs[0]
    if _is_identity(node.operator, rewriting.circuit, number):
        return rewriting.new(number)[0]
    inner = rewriting.node(number)
    if not isinstance(inner.operator, ops.Map) or not rewriting.only_read_here(number):
        return None
    if not _can_fuse(node.operator, inner.operator):
        return None
    fused = tuple(through(e, inner.operator) for e in node.operator.expressions)
    return rewriting.add(ops.Map(node.operator.columns, fused, node.operator.partial), *rewriting.new(*inner.inputs))


def _is_identity(op: ops.Map, circuit: Circuit, source: int) -> bool:
    same = circuit.type_of(source).schema.columns == op.columns
    return same and all(show(e) == c.name for e, c in zip(op.expressions, op.columns, strict=True))


def _can_fuse(outer: ops.Map, inner: ops.Map) -> bool:
    copied = copies(inner)
    once = all(count == 1 or name in copied for name, count in uses(outer.expressions).items())
    return once and not inner.partial

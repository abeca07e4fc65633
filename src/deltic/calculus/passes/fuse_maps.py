"""map g (map f a) = map (g ∘ f) a, both linear; and an identity map is dropped.

The inner map must not be partial, because the outer one might not read the undefined value; and a computed column must
be read at most once, because it would be computed twice.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.calculus.passes.substitution import copies, through, uses
from deltic.circuit import operators as ops
from deltic.circuit.expressions import show
from deltic.circuit.graph import Node


@rewrites(ops.Map)
def fuse_maps(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with consecutive maps merged where the inner one has one reader, and without identity maps."""
    if not isinstance(outer := node.operator, ops.Map):
        return None
    (number,) = node.inputs
    pairs = zip(outer.expressions, outer.columns, strict=True)
    if rewriting.circuit.type_of(number).schema.columns == outer.columns and all(show(e) == c.name for e, c in pairs):
        return rewriting.new(number)[0]
    below = rewriting.node(number)
    if not isinstance(inner := below.operator, ops.Map) or inner.partial or not rewriting.only_read_here(number):
        return None
    copied = copies(inner)
    if any(count > 1 and name not in copied for name, count in uses(outer.expressions).items()):
        return None
    fused = tuple(through(e, inner) for e in outer.expressions)
    return rewriting.add(ops.Map(outer.columns, fused, outer.partial), *rewriting.new(*below.inputs))

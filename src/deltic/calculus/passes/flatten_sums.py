"""(a + b) + c = a + b + c, and the sum of one term is the term: the laws of the group [DBSP Def. 3.1]."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@rewrites(ops.Plus)
def flatten_sums(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with nested sums merged where the inner sum has one reader, and without sums of one term."""
    if not isinstance(node.operator, ops.Plus):
        return None
    terms = tuple(term for number in node.inputs for term in _terms(rewriting, number))
    if terms == node.inputs and len(terms) > 1:
        return None
    new = rewriting.new(*terms)
    return new[0] if len(new) == 1 else rewriting.add(ops.Plus(), *new)


def _terms(rewriting: Rewriting, number: int) -> tuple[int, ...]:
    inner = rewriting.node(number)
    flat = isinstance(inner.operator, ops.Plus) and rewriting.only_read_here(number)
    return inner.inputs if flat else (number,)

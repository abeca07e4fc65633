"""distinct(Q(distinct(a))) = distinct(Q(a)) for a without negative weights [DBSP Prop 6.11].

Q is a map, a sum or a join; that of a filter is a set already. Whether weights are never negative is known of
sources, imports and feedbacks that are sets, of constants, and of what those operators and fixpoints make of such.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrite
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.types import ZSetType

_PRESERVING = (ops.Map, ops.Filter, ops.Plus, ops.Join, ops.Sink)


def delay_distinct(circuit: Circuit) -> Circuit:
    """The circuit with one distinct, the last, where there was one before and one after an operator."""
    return rewrite(circuit, _rule)


def _rule(rewriting: Rewriting, node: Node) -> int | None:
    if not isinstance(node.operator, ops.Distinct):
        return None
    (number,) = node.inputs
    inner = rewriting.node(number)
    inputs = [_before_distinct(rewriting, i) for i in inner.inputs]
    if not isinstance(inner.operator, ops.Map | ops.Plus | ops.Join) or not rewriting.only_read_here(number):
        return None
    if inputs == list(inner.inputs) or not all(is_positive(rewriting.circuit, i) for i in inputs):
        return None
    return rewriting.add(ops.Distinct(), rewriting.add(inner.operator, *rewriting.new(*inputs)))


def _before_distinct(rewriting: Rewriting, number: int) -> int:
    """The input of a distinct that this reader alone reads; the node itself otherwise."""
    node = rewriting.node(number)
    drops = isinstance(node.operator, ops.Distinct) and rewriting.only_read_here(number)
    return node.inputs[0] if drops and is_positive(rewriting.circuit, node.inputs[0]) else number


def is_positive(circuit: Circuit, number: int) -> bool:
    """Whether no weight of the node is ever negative, as far as its operators tell."""
    node = circuit.nodes[number]
    if isinstance(node.type, ZSetType) and node.type.is_set:
        return True
    if isinstance(node.operator, ops.Antijoin):
        return is_positive(circuit, node.inputs[0])
    if isinstance(node.operator, ops.Constant):
        return True
    return isinstance(node.operator, _PRESERVING) and all(is_positive(circuit, i) for i in node.inputs)

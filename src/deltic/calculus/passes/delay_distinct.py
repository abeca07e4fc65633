"""distinct(Q(distinct(a))) = distinct(Q(a)) for a without negative weights [DBSP Prop 6.10, 6.11].

Q is composed of maps, filters, sums and joins: by 6.11 the distinct before each is redundant when one comes after it,
and by 6.10 it may first move after a filter or a join. Below a join it is dropped only where it removes few
duplicates, as after the sum of two sets; after a projection, for example, distinct makes the join smaller.

Weights are known not to be negative for sources, imports and feedbacks that are sets, for constants, and for results
of those operators and of fixpoints over them.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, is_set, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node

_PRESERVING = (ops.Map, ops.FlatMap, ops.Filter, ops.Plus, ops.Join, ops.Sink, ops.Keep)
_TERMS = 2
_ABSORBED = (ops.Map, ops.FlatMap, ops.Filter, ops.Plus, ops.Join)


@rewrites(ops.Distinct)
def delay_distinct(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit without distincts before operators of Q that a distinct follows."""
    if not isinstance(node.operator, ops.Distinct):
        return None
    (number,) = node.inputs
    absorbed = _without_distinct(rewriting, number, joined=False)
    return None if absorbed is None else rewriting.add(ops.Distinct(), absorbed)


def _without_distinct(rewriting: Rewriting, number: int, joined: bool) -> int | None:
    """Return the new node for Q without distincts before it; None if none can be dropped."""
    node, circuit = rewriting.node(number), rewriting.circuit
    if not (isinstance(node.operator, _ABSORBED) and rewriting.only_read_here(number)):
        return None
    if not all(is_positive(circuit, i) for i in node.inputs):
        return None
    joined = joined or isinstance(node.operator, ops.Join)
    result = [_input(rewriting, i, joined) for i in node.inputs]
    if all(new is None for new in result):
        return None
    kept = rewriting.new(*node.inputs)
    return rewriting.add(node.operator, *(old if new is None else new for old, new in zip(kept, result, strict=True)))


def _input(rewriting: Rewriting, number: int, joined: bool) -> int | None:
    """Return the replacement of an input of Q, without a distinct; None if it stays."""
    node = rewriting.node(number)
    if not isinstance(node.operator, ops.Distinct):
        return _without_distinct(rewriting, number, joined)
    (source,) = node.inputs
    drops = rewriting.only_read_here(number) and is_positive(rewriting.circuit, source)
    return (
        rewriting.new(source)[0] if drops and not (joined and not _is_nearly_set(rewriting.circuit, source)) else None
    )


def _is_nearly_set(circuit: Circuit, number: int) -> bool:
    """Return whether no weight exceeds `_TERMS` by construction: the node is a sum of at most that many sets."""
    node = circuit.nodes[number]
    if isinstance(node.operator, ops.Filter):
        return _is_nearly_set(circuit, *node.inputs)
    return (
        isinstance(node.operator, ops.Plus)
        and len(node.inputs) <= _TERMS
        and all(is_set(circuit.nodes[i].type) for i in node.inputs)
    )


def is_positive(circuit: Circuit, number: int) -> bool:
    """Return whether the operators guarantee that no weight of the node is negative."""
    pending, seen = [number], {number}
    while pending:
        node = circuit.nodes[pending.pop()]
        if is_set(node.type) or isinstance(node.operator, ops.Constant):
            continue
        if not isinstance(node.operator, (*_PRESERVING, ops.Antijoin)):
            return False
        read = node.inputs[:1] if isinstance(node.operator, ops.Antijoin) else node.inputs
        pending += [i for i in read if i not in seen]
        seen.update(read)
    return True

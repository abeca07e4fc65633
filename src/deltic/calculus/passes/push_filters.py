"""Filters before what makes more rows or keeps state.

A filter commutes with the linear operators, with distinct [DBSP Prop 6.10], with the left side of an antijoin, and
with each side of a join that has all of its columns; with a map when it reads columns that the map takes over, with a
flatmap when it does not read the new one. It stays behind a window, which has to be the same window whether others
read it or not, and behind what excludes rows if it may be an error, which it is for no row that is excluded.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrite
from deltic.calculus.passes.substitution import copies, through
from deltic.circuit import operators as ops
from deltic.circuit.expressions import columns_of, is_checked
from deltic.circuit.graph import Circuit, Node


def push_filters(circuit: Circuit) -> Circuit:
    """The circuit with filters as near to the sources as they get without computing anything twice."""
    return rewrite(circuit, _rule, ops.Filter)


def _rule(rewriting: Rewriting, node: Node) -> int | None:
    if not isinstance(node.operator, ops.Filter) or not rewriting.only_read_here(node.inputs[0]):
        return None
    inner = rewriting.node(node.inputs[0])
    predicate, wanted = node.operator, set(columns_of(node.operator.predicate))
    if is_checked(predicate.predicate) and isinstance(inner.operator, ops.Join | ops.Antijoin | ops.FlatMap):
        return None
    if isinstance(inner.operator, ops.Map):
        if not wanted <= copies(inner.operator):
            return None
        predicate = ops.Filter(through(predicate.predicate, inner.operator))
    filtered = _filtered_inputs(rewriting.circuit, inner, wanted)
    if not filtered:
        return None
    inputs = [rewriting.add(predicate, n) if i in filtered else n for i, n in enumerate(rewriting.new(*inner.inputs))]
    return rewriting.add(inner.operator, *inputs)


def _filtered_inputs(circuit: Circuit, inner: Node, wanted: set[str]) -> set[int]:
    """The positions of the inputs that are to be filtered; none when the filter does not commute."""
    if isinstance(inner.operator, ops.Join):
        return {i for i, n in enumerate(inner.inputs) if wanted <= set(circuit.type_of(n).schema.names)}
    if isinstance(inner.operator, ops.Antijoin):
        return {0}
    if isinstance(inner.operator, ops.FlatMap):
        return set() if inner.operator.column in wanted else {0}
    if isinstance(inner.operator, ops.Map | ops.Plus | ops.Negate | ops.Distinct):
        return set(range(len(inner.inputs)))
    return set()

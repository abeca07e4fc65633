"""π(a ⋈ b) = π(π′(a) ⋈ π′(b)): columns that nothing reads are dropped before a join, not after it.

Projection and join are linear in each input, and an unread column only multiplies weights. Filters, sums and the left
side of an antijoin are linear, too; they may stand between the join and the map or aggregate that does not read the
column.
"""

from __future__ import annotations

from collections import Counter

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of
from deltic.circuit.graph import Circuit, Node


@rewrites(ops.Join)
def project_early(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit without dead columns in joins whose only reader is a map or aggregate."""
    if isinstance(node.operator, ops.Map):
        live = {name for expression in node.operator.expressions for name in columns_of(expression)}
    elif isinstance(node.operator, ops.Aggregate):
        live = {*node.operator.keys, *(name for call in node.operator.calls for name in call.columns)}
    else:
        return None
    narrowed = _narrowed(rewriting, node.inputs[0], live)
    return None if narrowed is None else rewriting.add(node.operator, narrowed)


def _narrowed(rewriting: Rewriting, number: int, live: set[str]) -> int | None:
    """Return the new node for an old one above a join, without dead columns; None if there are none."""
    node = rewriting.node(number)
    if not rewriting.only_read_here(number) or live >= set(_names(rewriting.circuit, number)):
        return None
    if isinstance(node.operator, ops.Join):
        return _each(rewriting, node, live | _shared(rewriting.circuit, node))
    if isinstance(node.operator, ops.Filter):
        below = _narrowed(rewriting, node.inputs[0], live | set(columns_of(node.operator.predicate)))
        return None if below is None else rewriting.add(node.operator, below)
    if isinstance(node.operator, ops.Antijoin):
        left, right = node.inputs
        below = _narrowed(rewriting, left, live | set(_names(rewriting.circuit, right)))
        return None if below is None else rewriting.add(node.operator, below, *rewriting.new(right))
    if isinstance(node.operator, ops.Plus) and any(_has_join(rewriting, i) for i in node.inputs):
        return _each(rewriting, node, live)
    return None


def _each(rewriting: Rewriting, node: Node, live: set[str]) -> int | None:
    """Return the operator over its inputs without dead columns; None if all columns are live."""
    whole = rewriting.new(*node.inputs)
    inputs = [_input(rewriting, old, new, live) for old, new in zip(node.inputs, whole, strict=True)]
    return None if inputs == whole else rewriting.add(node.operator, *inputs)


def _input(rewriting: Rewriting, old: int, new: int, live: set[str]) -> int:
    """Return an input, projected as early as possible to its live columns."""
    narrowed = _narrowed(rewriting, old, live)
    if narrowed is not None:
        new = narrowed
    schema = rewriting.builder.type_of(new).schema
    kept = tuple(c for c in schema if c.name in live)
    if len(kept) == len(schema):
        return new
    return rewriting.add(ops.Map(kept, tuple(column(c.name) for c in kept)), new)


def _has_join(rewriting: Rewriting, number: int) -> bool:
    """Return whether narrowing the node reaches a join."""
    node = rewriting.node(number)
    if not rewriting.only_read_here(number):
        return False
    passed = isinstance(node.operator, ops.Filter | ops.Antijoin | ops.Plus)
    return isinstance(node.operator, ops.Join) or (passed and _has_join(rewriting, node.inputs[0]))


def _shared(circuit: Circuit, join: Node) -> set[str]:
    """Return the columns that at least two inputs have."""
    counts = Counter(name for number in join.inputs for name in _names(circuit, number))
    return {name for name, count in counts.items() if count > 1}


def _names(circuit: Circuit, number: int) -> tuple[str, ...]:
    return circuit.type_of(number).schema.names

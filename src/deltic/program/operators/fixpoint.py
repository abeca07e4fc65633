"""A fixpoint becomes a recursive stratum: a relation for each feedback, and those in its body that depend on one.

That holds for monotone bodies; other bodies, and those with a nested fixpoint, become relations with histories: see
`signed`.
"""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.circuit.polarity import is_monotone
from deltic.errors import UnsupportedError
from deltic.program.definitions import Derived
from deltic.program.program import Stratum
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of
from deltic.program.signed import lower_signed


@bodies_of(ops.Import)
def import_(scope: Scope, op: ops.Import, node: Node) -> list[Body]:
    """The imported relation."""
    return [scope.atom(scope.imports[op.index], scope.circuit.nodes.index(node))]


@bodies_of(ops.Feedback)
def feedback(scope: Scope, op: ops.Feedback, node: Node) -> list[Body]:
    """The recursive relation."""
    return [scope.atom(scope.feedback[op.name], scope.circuit.nodes.index(node))]


@relation_of(ops.BundleRelation)
def component(scope: Scope, op: ops.BundleRelation, node: Node, number: int, wanted: str) -> str:
    """One relation of the fixpoint; the fixpoint is lowered when its first relation is needed."""
    (bundle,) = node.inputs
    if bundle not in scope.bundles:
        scope.bundles[bundle] = _fixpoint(scope, scope.circuit.nodes[bundle])
    return scope.bundles[bundle][op.name]


def _fixpoint(scope: Scope, node: Node) -> dict[str, str]:
    """Lower a fixpoint; returns its relations by their names in its body."""
    operator = node.operator
    if not isinstance(operator, ops.FixpointDelta):
        raise UnsupportedError(f"local engine: {operator.keyword} in an incremental circuit")
    imports = [scope.relation(i) for i in node.inputs]
    if scope.drafts.by_iteration or not is_monotone(operator.body):
        return lower_signed(scope.drafts, operator, imports)
    relations: list[str] = []
    inner = Scope(scope.drafts, operator.derivative, imports, relations)
    changes = {name: _change(inner, number) for name, number in operator.derivative.sinks.items()}
    for name, number in operator.derivative.sinks.items():
        inner.feedback[name] = inner.declare(name, number, Derived(operator.body.are_sets))
        relations.append(inner.feedback[name])
        if changes[name] != number:
            inner.made[number] = inner.feedback[name]
    for name, change in changes.items():
        inner.enter(inner.feedback[name], change, inner.bodies(change))
    scope.drafts.place(Stratum(tuple(relations), recursive=True, refresh=operator.refresh))
    return inner.feedback


def _change(scope: Scope, number: int) -> int:
    """For a node that is the change of a set, the node of the change of its derivations."""
    node = scope.circuit.nodes[number]
    return node.inputs[1] if isinstance(node.operator, ops.DistinctDelta) else number

"""A fixpoint is a recursive stratum: a relation for each feedback, and those of its body that depend on one."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.errors import UnsupportedError
from deltic.program.definitions import Derived
from deltic.program.program import Stratum
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of
from deltic.program.unsupported import through_recursion


@bodies_of(ops.Import)
def import_(scope: Scope, op: ops.Import, node: Node) -> list[Body]:
    """The relation that is imported."""
    return [scope.atom(scope.imports[op.index], scope.circuit.nodes.index(node))]


@bodies_of(ops.Feedback)
def feedback(scope: Scope, op: ops.Feedback, node: Node) -> list[Body]:
    """The recursive relation."""
    return [scope.atom(scope.feedback[op.name], scope.circuit.nodes.index(node))]


@relation_of(ops.Component)
def component(scope: Scope, op: ops.Component, node: Node, number: int, wanted: str) -> str:
    """One relation of the fixpoint, which is lowered when the first of them is."""
    (bundle,) = node.inputs
    if bundle not in scope.bundles:
        scope.bundles[bundle] = _fixpoint(scope, scope.circuit.nodes[bundle])
    return scope.bundles[bundle][op.name]


def _fixpoint(scope: Scope, node: Node) -> dict[str, str]:
    """The relations of a fixpoint by their names in its body."""
    operator = node.operator
    if not isinstance(operator, ops.FixpointDelta):
        raise UnsupportedError(f"local engine: {operator.keyword} in an incremental circuit")
    if scope.component is not None:
        raise UnsupportedError("local engine: a fixpoint inside a fixpoint is not supported yet")
    check_monotone(operator.body)
    relations: list[str] = []
    inner = Scope(scope.drafts, operator.derivative, [scope.relation(i) for i in node.inputs], relations)
    changes = {name: _change(inner, number) for name, number in inner.circuit.sinks.items()}
    distinct = all(operator.body.type_of(number).is_set for number in operator.body.sinks.values())
    for name, number in inner.circuit.sinks.items():
        inner.feedback[name] = inner.declare(name, number, Derived(distinct))
        relations.append(inner.feedback[name])
        if changes[name] != number:
            inner.made[number] = inner.feedback[name]
    for name, change in changes.items():
        inner.enter(inner.feedback[name], change, inner.bodies(change))
    scope.drafts.strata.append(Stratum(tuple(relations), recursive=True, refresh=operator.refresh))
    return inner.feedback


def _change(scope: Scope, number: int) -> int:
    """The change of the derivations of a set that node `number` is the change of."""
    node = scope.circuit.nodes[number]
    return node.inputs[1] if isinstance(node.operator, ops.DistinctDelta) else number


def check_monotone(body: Circuit) -> None:
    """Refuse a recursion in which a row can take away what another is derived from: iterations would not be final.

    In a recursion of bags a row counts once for each derivation, which sets in between would lose.
    """
    are_sets = {body.type_of(number).is_set for number in body.sinks.values()}
    if len(are_sets) > 1:
        raise UnsupportedError("local engine: a fixpoint of sets and bags together; put a distinct before each sink")
    recursive: set[int] = set()
    for number, node in enumerate(body.nodes):
        if isinstance(node.operator, ops.Feedback) or recursive.intersection(node.inputs):
            recursive.add(number)
        negated = isinstance(node.operator, ops.Antijoin) and node.inputs[1] in recursive
        aggregated = isinstance(node.operator, ops.Aggregate) and number in recursive
        if isinstance(node.operator, ops.Negate) or negated or aggregated:
            raise through_recursion(number, node.operator)
        if isinstance(node.operator, ops.Distinct) and number in recursive and are_sets == {False}:
            raise through_recursion(number, node.operator)
        if isinstance(node.operator, ops.Import) and not node.operator.type.is_set and are_sets == {True}:
            raise UnsupportedError(f"local engine: a fixpoint imports bag %{number}; put a distinct before it")

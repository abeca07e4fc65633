"""Histories of recursions that are not stored with their views: the recursion is run again, with histories.

They are not stored if the plan keeps relations of its own in the recursion, uses a priority order or derives only
demanded rows, and if the recursion is only a part of a view. A run is cached as long as its version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import CircuitBuilder
from deltic.circuit.tables import to_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.version import Version
from deltic.lazy import pa
from deltic.program.compiling import Compiler
from deltic.program.nested import at_depth
from deltic.why.relations import DefinedView, RecursionBody, SourceTable

if TYPE_CHECKING:
    from deltic.why.relations import Bound, RelationScope, Rows, VersionReader

_MOST = 4
"""The most recursions of one version whose runs are cached."""

_REMEMBERED: WeakKeyDictionary[Version, list[tuple[RecursionBody, Version]]] = WeakKeyDictionary()


class NodeRows(Protocol):
    """Evaluates nodes of circuits."""

    reader: VersionReader

    def leaf(self, scope: RelationScope, number: int) -> object:
        """Return the relation or node that a leaf of a circuit reads."""

    def rows(self, scope: RelationScope, number: int, bound: Bound) -> Rows:
        """Return the rows of a node that have these values, with their weights."""


def run_of(recursion: RecursionBody, evaluator: NodeRows) -> Version:
    """Return a version with the rows of a recursion's relations and their histories."""
    remembered = _REMEMBERED.setdefault(evaluator.reader.version(recursion.outer.back), [])
    run = next((run for ran, run in remembered if _is_same(ran, recursion)), None)
    if run is None:
        run = _run(recursion, evaluator)
        remembered[:] = [*remembered, (recursion, run)][-_MOST:]
    return run


def _is_same(a: RecursionBody, b: RecursionBody) -> bool:
    """Return whether both are the same recursion over the same rows; a nested one reads the rows of an iteration."""
    if a is b:
        return True
    is_outer = a.outer.recursion is None and b.outer.recursion is None
    return is_outer and a.outer.definition is b.outer.definition and a.number == b.number


def _run(recursion: RecursionBody, evaluator: NodeRows) -> Version:
    """Run the circuit below and including a fixpoint, from its leaves."""
    scope, builder = recursion.outer, CircuitBuilder()
    places: dict[int, int] = {}
    batches: dict[str, pa.Table] = {}
    for number in sorted(scope.circuit.ancestors([recursion.number])):
        node = scope.circuit.nodes[number]
        operator, inputs = node.operator, [places[i] for i in node.inputs]
        if isinstance(operator, ops.Source | ops.Import | ops.Feedback | ops.Window | ops.Delay | ops.Differentiate):
            type_ = scope.circuit.type_of(number)
            operator = ops.Source(f"%{number}", type_.schema, type_.is_set)
            batches[operator.name], inputs = _rows(scope, number, evaluator), []
        elif isinstance(operator, ops.Fixpoint):
            operator = ops.Fixpoint(at_depth(operator.body, 1))
        places[number] = builder.add(operator, *inputs)
    for name in recursion.operator.body.sinks:
        builder.add(ops.Sink(name), builder.add(ops.BundleRelation(name), places[recursion.number]))
    engine = IncrementalEngine(builder.build(), compiler=Compiler(by_iteration=True))
    engine.apply(batches, "trust")
    return engine.version


def _rows(scope: RelationScope, number: int, evaluator: NodeRows) -> pa.Table:
    """Return the rows of a leaf of a circuit, with their weights."""
    leaf, version = evaluator.leaf(scope, number), evaluator.reader.version(scope.back)
    if isinstance(leaf, SourceTable):
        return version.read(leaf.name, table=True, counted=True)
    if isinstance(leaf, DefinedView):
        return version.read(leaf.name, counted=True)
    return to_arrow(ZSet(evaluator.rows(scope, number, {}).items()), scope.circuit.type_of(number).schema)

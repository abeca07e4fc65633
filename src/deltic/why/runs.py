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
from deltic.why.relations import DefinedView, SourceTable
from deltic.why.scopes import RecursionBody

if TYPE_CHECKING:
    from deltic.why.bound import Bound, Rows
    from deltic.why.relations import VersionReader
    from deltic.why.scopes import ScopedNode

_MOST = 4
"""The most recursions of one version whose runs are cached."""

_REMEMBERED: WeakKeyDictionary[Version, list[tuple[RecursionBody, Version]]] = WeakKeyDictionary()


class NodeRows(Protocol):
    """Evaluates nodes of circuits."""

    reader: VersionReader

    def leaf(self, node: ScopedNode) -> object:
        """Return the relation or node that a leaf of a circuit reads."""

    def rows(self, node: ScopedNode, bound: Bound) -> Rows:
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
    return is_outer and a.outer.definition is b.outer.definition and a.node.number == b.node.number


def _run(recursion: RecursionBody, evaluator: NodeRows) -> Version:
    """Run the circuit below and including a fixpoint, from its leaves."""
    circuit, builder = recursion.outer.circuit, CircuitBuilder()
    places: dict[int, int] = {}
    batches: dict[str, pa.Table] = {}
    for number in sorted(circuit.ancestors([recursion.node.number])):
        node = recursion.outer.node(number)
        operator, inputs = node.operator, [places[each.number] for each in node.inputs]
        if isinstance(operator, ops.Source | ops.Import | ops.Feedback | ops.Window | ops.Delay | ops.Differentiate):
            operator = ops.Source(f"%{number}", node.schema, node.type.is_set)
            batches[operator.name], inputs = _rows(node, evaluator), []
        elif isinstance(operator, ops.Fixpoint):
            operator = ops.Fixpoint(at_depth(operator.body, 1))
        places[number] = builder.add(operator, *inputs)
    for name in recursion.operator.body.sinks:
        builder.add(ops.Sink(name), builder.add(ops.BundleRelation(name), places[recursion.node.number]))
    engine = IncrementalEngine(builder.build(), compiler=Compiler(by_iteration=True))
    engine.apply(batches, "trust")
    return engine.version


def _rows(node: ScopedNode, evaluator: NodeRows) -> pa.Table:
    """Return the rows of a leaf of a circuit, with their weights."""
    leaf, version = evaluator.leaf(node), evaluator.reader.version(node.scope.back)
    if isinstance(leaf, SourceTable):
        return version.read(leaf.name, table=True, counted=True)
    if isinstance(leaf, DefinedView):
        return version.read(leaf.name, counted=True)
    return to_arrow(ZSet(evaluator.rows(node, {}).items()), node.schema)

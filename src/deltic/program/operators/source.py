"""A source is the relation of its table."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Table
from deltic.program.scope import Scope, relation_of


@relation_of(ops.Source)
def source(scope: Scope, op: ops.Source, node: Node, number: int, wanted: str) -> str:
    """The table, under its own name unless a view has that."""
    name = f"{op.name}.in" if op.name in scope.circuit.sinks else op.name
    relation = scope.defined(name, number, Table(op.name))
    scope.drafts.tables[op.name] = relation
    return relation

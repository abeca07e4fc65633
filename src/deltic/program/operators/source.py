"""A source becomes the relation of its table."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Table
from deltic.program.scope import Scope, relation_of


@relation_of(ops.Source)
def source(scope: Scope, op: ops.Source, node: Node, number: int, wanted: str) -> str:
    """The table, under its own name."""
    return scope.defined(op.name, number, Table(op.name))

"""The change D(c) of a constant is the change of a relation whose rows are all inserted in the first epoch."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.program.definitions import FixedRows
from deltic.program.scope import Scope


def constant(scope: Scope, op: ops.Constant, number: int, wanted: str) -> str:
    """The relation of the constant's rows; `number` is the node of its D."""
    return scope.defined(wanted, number, FixedRows(op.rows))

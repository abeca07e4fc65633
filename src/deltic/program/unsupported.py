"""Errors for circuits that the local engine cannot run: the operator, its place, and an alternative."""

from __future__ import annotations

from deltic.calculus.derivatives.table import FALLBACK
from deltic.circuit import operators as ops
from deltic.errors import UnsupportedError

_INTERPRETER = "deltic.circuit.oracle.interpreter.Interpreter runs it, slowly"


def refusal(number: int, operator: ops.Operator) -> UnsupportedError:
    """Return the error about node `number` of an incremental circuit."""
    return UnsupportedError(f"local engine: %{number} {operator.label} is not supported: {_INTERPRETER}")


def needs_fallback(number: int, operator: ops.Operator) -> UnsupportedError:
    """Return the error about node `number` of a circuit, which only the fallback could maintain."""
    return UnsupportedError(
        f"local engine: %{number} {operator.label} has no derivative, and where it stands the fallback "
        f'{FALLBACK.formula} runs in the reference engine alone: Pipeline(engine="reference") keeps it fresh, slowly; '
        f"`explain` there shows the circuit, and `deltic.calculus.report.operator_lines` what falls back"
    )


def in_recursion(number: int, operator: ops.Operator) -> UnsupportedError:
    """Return the error about an operator that depends on the recursion around it."""
    return UnsupportedError(
        f"local engine: %{number} {operator.label} depends on the recursion in which it stands: compute it before the "
        f"recursion, as a table or a view of its own; {_INTERPRETER}"
    )

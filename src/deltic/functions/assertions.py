"""Functions that raise errors on purpose."""

from __future__ import annotations

from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type

FUNCTIONS["raised"] = Function(
    Type.BOOLEAN,
    python=lambda message: None,
    failure=lambda operands: str(operands[0]) if operands else "raise_error was called",
    strict=False,
    partial=True,
    reason="the function raises an error",
)

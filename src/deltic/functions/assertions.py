"""Functions that raise errors on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.functions.function import FUNCTIONS, Function
from deltic.values.types import Type


def _message(operands: Sequence[Any] | None) -> str:
    return str(operands[0]) if operands else "raise_error was called"


FUNCTIONS["raised"] = Function(
    Type.BOOLEAN,
    python=lambda message: None,
    failure=_message,
    strict=False,
    partial=True,
    reason="the function raises an error",
)

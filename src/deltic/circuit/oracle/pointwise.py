"""The definitions of operators without state, as functions of the Z-sets at one time; all interpreters share them.

Rows are tuples of Python values in the order of the schema. The definitions are in `operators`, one file each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.operators import Operator

Row = tuple[Any, ...]
Rows = ZSet[Row]
Value = Any  # Rows, or a dict of them for a bundle
Inputs = Sequence[Value]
# From an operator, the values of its inputs and their types to its value.
Pointwise = Callable[[Any, Inputs, Any], Value]

POINTWISE: dict[type[Operator], Pointwise] = {}


def means(operator: type[Operator]) -> Callable[[Pointwise], Pointwise]:
    """Register the definition of an operator."""

    def enter(meaning: Pointwise) -> Pointwise:
        POINTWISE[operator] = meaning
        return meaning

    return enter


import_module("deltic.circuit.oracle.operators")

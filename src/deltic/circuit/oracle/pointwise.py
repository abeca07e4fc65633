"""The definitions of operators without state, as functions of the Z-sets at one time; all interpreters share them.

Rows are tuples of Python values in the order of the schema. The definitions are in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.operators import Operator
from deltic.values.types import Schema

Row = tuple[Any, ...]
Rows = ZSet[Row]
Value = Any  # Rows, or a dict of them for a bundle
Inputs = Sequence[Value]
# From an operator, the values of its inputs and their types to its value.
Pointwise = Callable[[Any, Inputs, Any], Value]
# From an operator with one input, its rows and their schema to its value.
OfRows = Callable[[Any, Rows, Schema], Rows]

POINTWISE: dict[type[Operator], Pointwise] = {}


def means(*operators: type[Operator]) -> Callable[[Pointwise], Pointwise]:
    """Register the definition of some operators."""

    def enter(meaning: Pointwise) -> Pointwise:
        POINTWISE.update(dict.fromkeys(operators, meaning))
        return meaning

    return enter


def means_with_change(operator: type[Operator], change: type[Operator]) -> Callable[[OfRows], OfRows]:
    """Register the definition f of an operator with one input, and f(i + d) − f(i) for that of its change."""

    def enter(meaning: OfRows) -> OfRows:
        def changed(op: Any, inputs: Inputs, types: Any) -> Value:
            old, delta = inputs
            return meaning(op, old + delta, types[0].schema) - meaning(op, old, types[0].schema)

        POINTWISE[operator] = lambda op, inputs, types: meaning(op, inputs[0], types[0].schema)
        POINTWISE[change] = changed
        return meaning

    return enter


import_module("deltic.circuit.oracle.operators")

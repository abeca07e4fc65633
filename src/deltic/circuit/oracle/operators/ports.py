"""Operators that pass on their input: sinks, the ends of cycles, components of bundles."""

from __future__ import annotations

from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.oracle.pointwise import Inputs, Rows, Value, means


@means(ops.BundleRelation)
def component(op: ops.BundleRelation, inputs: Inputs, types: Any) -> Rows:
    """One relation of a bundle."""
    result: Rows = inputs[0][op.name]
    return result


@means(ops.Sink)
@means(ops.Close)
def port(op: ops.Sink | ops.Close, inputs: Inputs, types: Any) -> Value:
    """The input."""
    return inputs[0]

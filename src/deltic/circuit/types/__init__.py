"""The types of values, rows and edges of a circuit."""

from deltic.circuit.types.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.types.schema import Column, Schema
from deltic.circuit.types.value import Kind, Type, ValueType

__all__ = ["BundleType", "Column", "EdgeType", "Kind", "Schema", "Type", "ValueType", "ZSetType"]

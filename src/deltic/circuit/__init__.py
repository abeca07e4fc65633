"""Circuits: the narrow waist between the languages and the engines.

A circuit is an immutable, typed graph of operators over Z-sets and streams of them [DBSP §3, §9].
"""

from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.values.types import Column, Schema, Type

"""Parsing the text form of circuits."""

from deltic.circuit.reading.parser import parse_circuit

"""Circuits as drawings: Graphviz's DOT and Mermaid, the same text for equal circuits."""

from deltic.circuit.drawing.dot import to_dot
from deltic.circuit.drawing.mermaid import to_mermaid

__all__ = ["to_dot", "to_mermaid"]

"""Circuits as drawings: Graphviz's DOT, Mermaid and SVG, the same text for equal circuits."""

from deltic.circuit.drawing.dot import to_dot
from deltic.circuit.drawing.mermaid import to_mermaid
from deltic.circuit.drawing.svg import to_svg

__all__ = ["to_dot", "to_mermaid", "to_svg"]

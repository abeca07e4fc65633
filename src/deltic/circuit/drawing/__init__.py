"""Circuits as drawings: Graphviz's DOT, Mermaid and SVG, the same text for equal circuits."""

from deltic.circuit.drawing.dot import to_dot
from deltic.circuit.drawing.mermaid import to_mermaid
from deltic.circuit.drawing.svg import to_svg

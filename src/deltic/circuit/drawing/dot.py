"""Circuits in DOT, the language of Graphviz: a cluster for each circuit and for each body inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deltic.circuit.drawing.shapes import Arrow, FrameShape, frames_of
from deltic.circuit.graph import Circuit


def to_dot(circuits: Mapping[str, Circuit]) -> str:
    """Return the circuits, by their titles, as one directed graph."""
    lines = ["digraph deltic {", "  node [shape=box, fontname=monospace];"]
    for frame in frames_of(circuits):
        lines += _cluster(frame, "  ")
    return "\n".join([*lines, "}"])


def _cluster(frame: FrameShape, indent: str) -> Iterator[str]:
    yield f"{indent}subgraph cluster_{frame.id} {{"
    yield f"{indent}  label={_quoted(frame.title)};"
    for box in frame.boxes:
        yield f"{indent}  {box.id} [label={_quoted(box.operator, box.type)}];"
    for inner in frame.frames:
        yield from _cluster(inner, indent + "  ")
    for arrow in frame.arrows:
        yield f"{indent}  {arrow.start} -> {arrow.end}{_style(arrow)};"
    yield f"{indent}}}"


def _style(arrow: Arrow) -> str:
    attributes = ["style=dashed"] * arrow.dashed + [f"label={_quoted(arrow.label)}"] * bool(arrow.label)
    return f" [{', '.join(attributes)}]" if attributes else ""


def _quoted(*lines: str) -> str:
    """Return a string of DOT: backslashes and quotes are escaped, and line breaks written as escapes too."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'

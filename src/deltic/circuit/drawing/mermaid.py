"""Circuits in Mermaid's flowcharts, which Markdown viewers draw: a subgraph for each circuit and body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deltic.circuit.drawing.shapes import Arrow, FrameShape, frames_of
from deltic.circuit.graph import Circuit

_MARKUP = {ord(character): f"#{ord(character)};" for character in '#"<>&`\\'}


def to_mermaid(circuits: Mapping[str, Circuit]) -> str:
    """Return the circuits, by their titles, as one flowchart."""
    lines = ["flowchart TD"]
    for frame in frames_of(circuits):
        lines += _subgraph(frame, "  ")
    return "\n".join(lines)


def _subgraph(frame: FrameShape, indent: str) -> Iterator[str]:
    yield f"{indent}subgraph {frame.id}[{_quoted(frame.title)}]"
    for box in frame.boxes:
        yield f"{indent}  {box.id}[{_quoted(box.operator, box.type)}]"
    for inner in frame.frames:
        yield from _subgraph(inner, indent + "  ")
    for arrow in frame.arrows:
        yield f"{indent}  {arrow.start} {_line(arrow)} {arrow.end}"
    yield f"{indent}end"


def _line(arrow: Arrow) -> str:
    line = "-.->" if arrow.dashed else "-->"
    return f"{line}|{_quoted(arrow.label)}|" if arrow.label else line


def _quoted(*lines: str) -> str:
    """Return a label of Mermaid: markup characters are escaped by number, and lines end with <br/>."""
    return '"' + "<br/>".join(line.translate(_MARKUP) for line in lines) + '"'

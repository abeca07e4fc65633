"""Circuits as SVG pictures, laid out here without another program.

A picture is a box of text lines, with pictures inside it. Data flow downward. A circuit inside an operator is drawn in
its box; back-edges are dashed and lead upward.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from deltic.circuit import operators as ops
from deltic.circuit.drawing.layers import GAP, DrawingLayout, layered
from deltic.circuit.drawing.shapes import back_edges
from deltic.circuit.graph import Circuit, Node

_CHARACTER, _LINE, _PAD = 6.7, 15.0, 8.0
_ASIDE = 14.0
"""The offset of a back-edge from the other edges at its two ends."""


@dataclass(frozen=True)
class Panel:
    """A box of text lines, with pictures side by side below them."""

    style: str
    lines: Sequence[tuple[str, str]]
    tip: str = ""
    inside: Sequence[Panel | Graph] = ()

    @property
    def text_height(self) -> float:
        return _LINE * len(self.lines) + _PAD

    @property
    def width(self) -> float:
        text = max((len(line) for _, line in self.lines), default=0) * _CHARACTER
        return 2 * _PAD + max(text, sum(part.width + _PAD for part in self.inside) - _PAD)

    @property
    def height(self) -> float:
        return self.text_height + max((part.height + _PAD for part in self.inside), default=0.0)

    def drawn(self, x: float, y: float) -> Iterator[str]:
        tip = f"<title>{_escaped(self.tip)}</title>" if self.tip else ""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}"'
        yield f'<g>{tip}<rect class={quoteattr(self.style)} {place} rx="4"/>'
        for number, (style, line) in enumerate(self.lines):
            yield f'<text class="{style}" x="{x + _PAD:.1f}" y="{y + _LINE * (number + 1):.1f}">{_escaped(line)}</text>'
        left = x + _PAD
        for part in self.inside:
            yield from part.drawn(left, y + self.text_height)
            left += part.width + _PAD
        yield "</g>"


@dataclass(frozen=True)
class Graph:
    """Panels joined by edges; edges from number `dashed` on are back-edges, drawn from their ends to their starts."""

    panels: Sequence[Panel]
    layout: DrawingLayout
    dashed: int

    @property
    def width(self) -> float:
        return self.layout.width

    @property
    def height(self) -> float:
        return self.layout.height

    def drawn(self, x: float, y: float) -> Iterator[str]:
        for route in self.layout.routes[: self.dashed]:
            yield f'<path class="edge" marker-end="url(#arrow)" d="{_path(route, x, y)}"/>'
        for start, *bends, end in self.layout.routes[self.dashed :]:
            aside = [(start[0] + _ASIDE, *start[1:]), *bends, (end[0] + _ASIDE, *end[1:])]
            yield f'<path class="back" marker-start="url(#back)" d="{_path(aside, x, y)}"/>'
        for panel, (left, top) in zip(self.panels, self.layout.corners, strict=True):
            yield from panel.drawn(x + left, y + top)


def _path(route: Sequence[tuple[float, float, float]], x: float, y: float) -> str:
    """Return the SVG path of vertical lines joined by curves."""
    center, top, bottom = route[0]
    parts = [f"M{x + center:.1f} {y + top:.1f}V{y + bottom:.1f}"]
    for (before, _, start), (after, end, stop) in pairwise(route):
        middle = y + (start + end) / 2
        curve = f"{x + before:.1f} {middle:.1f} {x + after:.1f} {middle:.1f} {x + after:.1f} {y + end:.1f}"
        parts.append(f"C{curve}" + (f"V{y + stop:.1f}" if stop > end else ""))
    return "".join(parts)


def _escaped(text: str) -> str:
    """Return the text escaped for XML, with control characters replaced."""
    return escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text))


STYLE = """
  text { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .title { font-weight: bold; }
  .type { fill: #52606d; }
  .box { fill: #ffffff; stroke: #7b8794; }
  .end { fill: #e3f0ff; stroke: #2f6fb0; }
  .past { fill: #fff3d6; stroke: #b07a12; }
  .nest { fill: #f5f7fa; stroke: #7b8794; }
  .inner { fill: #fbfcfd; stroke: #cbd2d9; stroke-dasharray: 2 3; }
  .edge { fill: none; stroke: #52606d; }
  .back { fill: none; stroke: #b0323a; stroke-dasharray: 5 4; }
"""
MARKERS = """
  <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path d="M0 0L8 4L0 8z" fill="#52606d"/></marker>
  <marker id="back" viewBox="0 0 8 8" refX="0" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path d="M8 0L0 4L8 8z" fill="#b0323a"/></marker>
"""


_COLUMNS, _LINES = 46, 4
_SCREEN = 2400.0


def to_svg(circuits: Mapping[str, Circuit]) -> str:
    """Return the circuits, by their titles, in one picture, side by side where they fit; equal circuits give equal
    text.
    """
    return picture([_panel(title, circuit) for title, circuit in circuits.items()])


def picture(panels: Sequence[Panel]) -> str:
    """Return the panels in one picture, side by side where they fit."""
    rows = _rows(panels)
    width = max((_across(row) for row in rows), default=GAP)
    drawn: list[str] = []
    top = GAP
    for row in rows:
        left = GAP
        for panel in row:
            drawn += panel.drawn(left, top)
            left += panel.width + GAP
        top += max(panel.height for panel in row) + GAP
    size = f'width="{width:.0f}" height="{top:.0f}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {top:.0f}">']
    lines += [f"<style>{STYLE}</style>", f"<defs>{MARKERS}</defs>", f'<rect {size} fill="#ffffff"/>']
    return "\n".join([*lines, *drawn, "</svg>"])


def _rows(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Return the panels in rows; a row is at most as wide as a screen, or has one panel."""
    rows: list[list[Panel]] = []
    for panel in panels:
        if rows and _across([*rows[-1], panel]) <= _SCREEN:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def _across(row: Sequence[Panel]) -> float:
    return sum(panel.width + GAP for panel in row) + GAP


def _panel(title: str, circuit: Circuit) -> Panel:
    return Panel("inner", [("title", title)], inside=[_graph(circuit)])


def _graph(circuit: Circuit) -> Graph:
    panels = [_node(number, node) for number, node in enumerate(circuit.nodes)]
    edges = [(i, number) for number, node in enumerate(circuit.nodes) for i in dict.fromkeys(node.inputs)]
    backward = [(end, start) for start, end in back_edges(circuit)]
    layout = layered([(panel.width, panel.height) for panel in panels], [*edges, *backward])
    return Graph(panels, layout, len(edges))


def _node(number: int, node: Node) -> Panel:
    bodies = [_panel(label, body) for label, body in node.operator.bodies()]
    lines = [("title", line) for line in wrapped(f"%{number} {node.operator.label}")]
    lines += [("type", line) for line in wrapped(str(node.type))]
    tip = f"%{number} = {node.operator.label} ({', '.join(f'%{i}' for i in node.inputs)}) : {node.type}"
    return Panel(_style(node.operator, bool(bodies)), lines, tip, bodies)


def _style(operator: ops.Operator, nested: bool) -> str:
    if isinstance(operator, ops.Source | ops.Constant | ops.Import | ops.Sink):
        return "box end"
    if isinstance(operator, ops.Integrate | ops.Delay | ops.Differentiate | ops.BackEdge | ops.Feedback | ops.Window):
        return "box past"
    return "nest" if nested else "box"


def wrapped(text: str) -> list[str]:
    """Return the text in at most four lines; longer text ends with an ellipsis, and the tooltip of the box shows it
    all.
    """
    lines = textwrap.wrap(text, _COLUMNS, break_long_words=True) or [""]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], lines[_LINES - 1][: _COLUMNS - 1] + "…"]

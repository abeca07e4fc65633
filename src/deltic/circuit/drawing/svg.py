"""Circuits as SVG pictures, laid out here: no other program is needed to look at them.

Data flow downward. A circuit inside an operator is drawn in its box; back-edges are dashed and lead upward.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from deltic.circuit import operators as ops
from deltic.circuit.drawing.layers import GAP, Layout, layered
from deltic.circuit.drawing.shapes import back_edges
from deltic.circuit.drawing.style import MARKERS, STYLE
from deltic.circuit.graph import Circuit, Node

_CHARACTER, _LINE, _PAD = 6.7, 15.0, 8.0
_COLUMNS, _LINES = 46, 4
_ASIDE = 14.0


def to_svg(circuits: Mapping[str, Circuit]) -> str:
    """The circuits, by their titles, side by side in one picture; the same text for equal circuits."""
    panels = [_panel(title, circuit) for title, circuit in circuits.items()]
    width = sum(panel.width for panel in panels) + GAP * (len(panels) + 1)
    height = max((panel.height for panel in panels), default=0.0) + 2 * GAP
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"']
    lines += [f' viewBox="0 0 {width:.0f} {height:.0f}">', f"<style>{STYLE}</style>", f"<defs>{MARKERS}</defs>"]
    lines.append(f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>')
    left = GAP
    for panel in panels:
        lines += panel.drawn(left, GAP)
        left += panel.width + GAP
    return "\n".join([*lines, "</svg>"])


@dataclass(frozen=True)
class _Panel:
    """A box of text lines, with pictures side by side below them."""

    style: str
    lines: Sequence[tuple[str, str]]
    tip: str = ""
    inside: Sequence[_Panel | _Graph] = ()

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
class _Graph:
    """Panels that edges join; the edges from `dashed` on are back-edges, which lead from their ends to their starts."""

    panels: Sequence[_Panel]
    layout: Layout
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
    """Vertical lines, joined by curves."""
    center, top, bottom = route[0]
    parts = [f"M{x + center:.1f} {y + top:.1f}V{y + bottom:.1f}"]
    for (before, _, start), (after, end, stop) in pairwise(route):
        middle = y + (start + end) / 2
        curve = f"{x + before:.1f} {middle:.1f} {x + after:.1f} {middle:.1f} {x + after:.1f} {y + end:.1f}"
        parts.append(f"C{curve}" + (f"V{y + stop:.1f}" if stop > end else ""))
    return "".join(parts)


def _panel(title: str, circuit: Circuit) -> _Panel:
    return _Panel("inner", [("title", title)], inside=[_graph(circuit)])


def _graph(circuit: Circuit) -> _Graph:
    panels = [_node(number, node) for number, node in enumerate(circuit.nodes)]
    edges = [(i, number) for number, node in enumerate(circuit.nodes) for i in dict.fromkeys(node.inputs)]
    backward = [(end, start) for start, end in back_edges(circuit)]
    layout = layered([(panel.width, panel.height) for panel in panels], [*edges, *backward])
    return _Graph(panels, layout, len(edges))


def _node(number: int, node: Node) -> _Panel:
    bodies = [_panel(label, body) for label, body in node.operator.bodies()]
    lines = [("title", line) for line in _wrapped(f"%{number} {node.operator.label}")]
    lines += [("type", line) for line in _wrapped(str(node.type))]
    tip = f"%{number} = {node.operator.label} ({', '.join(f'%{i}' for i in node.inputs)}) : {node.type}"
    return _Panel(_style(node.operator, bool(bodies)), lines, tip, bodies)


def _style(operator: ops.Operator, nested: bool) -> str:
    if isinstance(operator, ops.Source | ops.Constant | ops.Import | ops.Sink):
        return "box end"
    if isinstance(operator, ops.Integrate | ops.Delay | ops.Differentiate | ops.BackEdge | ops.Feedback | ops.Window):
        return "box past"
    return "nest" if nested else "box"


def _escaped(text: str) -> str:
    """The text as content of XML, which has no place for most control characters."""
    return escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text))


def _wrapped(text: str) -> list[str]:
    """The text in a few lines; what is too long ends with an ellipsis, and the tip of the box shows all."""
    lines = textwrap.wrap(text, _COLUMNS, break_long_words=True) or [""]
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], lines[_LINES - 1][: _COLUMNS - 1] + "…"]

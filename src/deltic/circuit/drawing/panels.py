"""Boxes of text with pictures inside them, as elements of SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from deltic.circuit.drawing.layers import DrawingLayout

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

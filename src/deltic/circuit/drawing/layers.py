"""A layered layout of boxes after Sugiyama, Tagawa and Toda (1981): assign layers, order them, place the boxes.

Edges lead downward. An edge over several layers passes the boxes between through a slot of its own in each layer. The
layout is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP = 24.0
"""The space between the boxes of a layer."""
LAYER_GAP = 40.0
_SLOT = 10.0
_SWEEPS = 12


@dataclass(frozen=True)
class DrawingLayout:
    """The upper left corners of the boxes, the routes of the edges, and the total size.

    A route is a sequence of vertical lines (x, from y, to y); the first starts below its first box, the last ends above
    its last.
    """

    corners: Sequence[tuple[float, float]]
    routes: Sequence[Sequence[tuple[float, float, float]]]
    width: float
    height: float


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> DrawingLayout:
    """Lay out boxes of these widths and heights; the edges between them must be acyclic."""
    layers = _layers(len(sizes), edges)
    chains = _chains(layers, edges)
    rows = _ordered(layers, chains)
    widths = {slot: sizes[slot[0]][0] if slot[1] < 0 else _SLOT for row in rows for slot in row}
    centers = _centers(rows, chains, widths)
    tops, heights, top = [], [], 0.0
    for row in rows:
        heights.append(max((sizes[box][1] for box, edge in row if edge < 0), default=0.0))
        tops.append(top)
        top += heights[-1] + LAYER_GAP
    corners = [(centers[box, -1] - size[0] / 2, tops[layers[box]]) for box, size in enumerate(sizes)]
    routes = []
    for (start, end), chain in zip(edges, chains, strict=True):
        first = (centers[chain[0]], corners[start][1] + sizes[start][1], tops[layers[start]] + heights[layers[start]])
        between = [(layers[start] + i, slot) for i, slot in enumerate(chain)][1:-1]
        bends = [(centers[slot], tops[layer], tops[layer] + heights[layer]) for layer, slot in between]
        last = (centers[chain[-1]], tops[layers[end]], tops[layers[end]])
        routes.append([first, *bends, last])
    right = max((centers[slot] + widths[slot] / 2 for slot in widths), default=0.0)
    return DrawingLayout(corners, routes, right, max(0.0, top - LAYER_GAP))


Slot = tuple[int, int]
"""A position in a layer: (box, −1) for a box, (layer, edge) for an edge that passes."""


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: its longest path from above.

    A box without incoming edges stands just above its first target.
    """
    layers, below = [0] * count, [0] * count
    for start, end in sorted(edges):
        layers[end] = max(layers[end], layers[start] + 1)
    entered = {end for _, end in edges}
    for box in range(count):
        ends = [layers[end] for start, end in edges if start == box]
        below[box] = min(ends) - 1 if ends and box not in entered else layers[box]
    return below


def _chains(layers: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[list[Slot]]:
    """Return the slots of each edge, from its start box to its end box."""
    return [
        [(start, -1), *((layer, number) for layer in range(layers[start] + 1, layers[end])), (end, -1)]
        for number, (start, end) in enumerate(edges)
    ]


def _ordered(layers: Sequence[int], chains: Sequence[Sequence[Slot]]) -> list[list[Slot]]:
    """Return the slots of each layer, ordered by the mean position of their neighbours, so that few edges cross."""
    rows: list[list[Slot]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for box, layer in enumerate(layers):
        rows[layer].append((box, -1))
    for chain in chains:
        for layer, edge in chain[1:-1]:
            rows[layer].append((layer, edge))
    above, below = _neighbours(chains)
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            places = {slot: place / len(other) for other in rows for place, slot in enumerate(other)}
            means = {s: _mean([places[n] for n in neighbours.get(s, ())], places[s]) for s in row}
            row.sort(key=means.__getitem__)
    return rows


def _neighbours(chains: Sequence[Sequence[Slot]]) -> tuple[dict[Slot, list[Slot]], dict[Slot, list[Slot]]]:
    above: dict[Slot, list[Slot]] = {}
    below: dict[Slot, list[Slot]] = {}
    for upper, lower in (pair for chain in chains for pair in pairwise(chain)):
        above.setdefault(lower, []).append(upper)
        below.setdefault(upper, []).append(lower)
    return above, below


def _centers(
    rows: Sequence[Sequence[Slot]], chains: Sequence[Sequence[Slot]], widths: dict[Slot, float]
) -> dict[Slot, float]:
    """Return the middle of each slot, near those of its neighbours, without overlap."""
    above, below = _neighbours(chains)
    centers: dict[Slot, float] = {}
    for row in rows:
        x = 0.0
        for slot in row:
            centers[slot] = x + widths[slot] / 2
            x += widths[slot] + GAP
    for sweep in range(2 * _SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = [_mean([centers[n] for n in neighbours.get(s, ())], centers[s]) for s in row]
            centers.update(zip(row, _apart(wanted, [widths[s] for s in row]), strict=True))
    left = min((centers[s] - widths[s] / 2 for s in centers), default=0.0)
    return {slot: center - left for slot, center in centers.items()}


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Positions in the given order that do not overlap: the mean of shifting only rightward and only leftward."""
    rightward, leftward = list(wanted), list(wanted)
    for i in range(1, len(wanted)):
        rightward[i] = max(wanted[i], rightward[i - 1] + (widths[i - 1] + widths[i]) / 2 + GAP)
    for i in range(len(wanted) - 2, -1, -1):
        leftward[i] = min(wanted[i], leftward[i + 1] - (widths[i] + widths[i + 1]) / 2 - GAP)
    return [(a + b) / 2 for a, b in zip(rightward, leftward, strict=True)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise

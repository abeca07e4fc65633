"""SVG pictures: boxes that overlap, edges that go through boxes or upward, text that breaks out, a changing layout."""

from __future__ import annotations

import random
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from deltic.circuit import operators as ops
from deltic.circuit.drawing import to_svg
from deltic.circuit.drawing.layers import layered
from deltic.circuit.expressions import literal
from deltic.circuit.graph import CircuitBuilder
from deltic.values.types import Column, Type
from tests.circuit.examples import X, naive_closure, unreachable
from tests.circuit.well_formed import random_well_formed

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture(golden):
    golden("circuit/naive-closure.svg", to_svg({"closure": naive_closure()}))


def random_graph(seed):
    rng = random.Random(seed)
    count = rng.randint(1, 14)
    sizes = [(rng.choice((40.0, 90.0, 200.0)), rng.choice((20.0, 30.0, 150.0))) for _ in range(count)]
    pairs = [(a, b) for b in range(count) for a in range(b)]
    return sizes, rng.sample(pairs, min(len(pairs), rng.randint(0, 2 * count)))


@pytest.mark.parametrize("seed", range(100))
def test_layouts(seed):
    sizes, edges = random_graph(seed)
    layout = layered(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.corners, sizes, strict=True)]
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= -1e-6
        assert right <= layout.width + 1e-6
        assert bottom <= layout.height + 1e-6
        assert not any(l < right and left < r and t < bottom and top < b for l, t, r, b in boxes[:i])  # noqa: E741
    for (start, end), route in zip(edges, layout.routes, strict=True):
        assert route[0][1] == boxes[start][3]
        assert route[-1][2] == boxes[end][1]
        assert all(a[2] < b[1] for a, b in pairwise(route))
        for x, top, bottom in route:
            assert not any(l < x < r and t < bottom and top < b for l, t, r, b in boxes)  # noqa: E741
    assert layered(sizes, edges) == layout


def test_every_node_has_a_box_and_every_input_an_edge():
    for seed in range(40):
        circuit = random_well_formed(random.Random(seed), nesting=2)
        picture = ElementTree.fromstring(to_svg({"it": circuit}))
        nodes, edges = counted(circuit)
        assert len(picture.findall(f".//{SVG}g/{SVG}title")) == nodes
        assert len(picture.findall(f".//{SVG}path[@class]")) == edges


def counted(circuit):
    """The nodes and the edges of a circuit and of those inside it; an edge and a back-edge are one each."""
    nodes, edges = len(circuit.nodes), sum(len(set(node.inputs)) for node in circuit.nodes)
    names = {op.name for op in circuit.operators if isinstance(op, ops.Sink)}
    edges += sum(isinstance(op, ops.BackEdge) for op in circuit.operators)
    edges += sum(isinstance(op, ops.Feedback) and op.name in names for op in circuit.operators)
    for _, body in (pair for op in circuit.operators for pair in op.bodies()):
        inner = counted(body)
        nodes, edges = nodes + inner[0], edges + inner[1]
    return nodes, edges


def test_equal_circuits_have_one_picture():
    assert to_svg({"a": unreachable(), "b": naive_closure()}) == to_svg({"a": unreachable(), "b": naive_closure()})


def test_labels_are_escaped_and_long_ones_cut():
    builder = CircuitBuilder()
    value = literal("\x00<b>&\"'" + "x" * 300, Type.STRING)
    builder.add(ops.Map((Column("t", Type.STRING),), (value,)), builder.add(ops.Source("s", X)))
    text = to_svg({"<&>": builder.build()})
    picture = ElementTree.fromstring(text)
    lines = [node.text or "" for node in picture.iter(f"{SVG}text")]
    assert "<&>" in lines
    assert any("<b>&" in line for line in lines)
    assert max(map(len, lines)) <= 46
    assert any(line.endswith("…") for line in lines)
    assert "x" * 300 in "".join(node.text or "" for node in picture.iter(f"{SVG}title"))

"""The parts of a drawing of circuits, independent of the output language: boxes, arrows and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from deltic.circuit.graph import Circuit
from deltic.circuit.operators import BackEdge, Feedback, Import, Sink, Source


@dataclass(frozen=True)
class Box:
    """A node: an identifier that is unique in the drawing, the operator and its output type."""

    id: str
    operator: str
    type: str


@dataclass(frozen=True)
class Arrow:
    """An edge from box to box; dashed where it crosses a frame or closes a cycle."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class FrameShape:
    """A circuit: its boxes, the frames of its nested circuits, and its arrows."""

    id: str
    title: str
    boxes: tuple[Box, ...]
    frames: tuple[FrameShape, ...]
    arrows: tuple[Arrow, ...]


def frames_of(circuits: Mapping[str, Circuit]) -> tuple[FrameShape, ...]:
    """One frame for each of the circuits, titled by its name."""
    return tuple(_frame(f"c{i}", title, circuit) for i, (title, circuit) in enumerate(circuits.items()))


def _frame(id_: str, title: str, circuit: Circuit) -> FrameShape:
    boxes = tuple(Box(f"{id_}_{n}", node.operator.label, str(node.type)) for n, node in enumerate(circuit.nodes))
    frames = []
    arrows = [Arrow(f"{id_}_{i}", f"{id_}_{n}") for n, node in enumerate(circuit.nodes) for i in node.inputs]
    for number, node in enumerate(circuit.nodes):
        for label, body in node.operator.bodies():
            frame = _frame(f"{id_}_{number}_{label}", f"{label} of %{number}", body)
            frames.append(frame)
            arrows += _crossings(frame.id, body, f"{id_}_{number}", [f"{id_}_{i}" for i in node.inputs])
    arrows += [Arrow(f"{id_}_{start}", f"{id_}_{end}", "z⁻¹", dashed=True) for start, end in back_edges(circuit)]
    return FrameShape(id_, title, boxes, tuple(frames), tuple(arrows))


def _crossings(frame: str, body: Circuit, outside: str, inputs: list[str]) -> Iterator[Arrow]:
    """Arrows between a node and its nested circuit: from its inputs to the ports, from the sinks to its box."""
    ports = [operator.name for operator in body.operators if isinstance(operator, Source)]
    for number, operator in enumerate(body.operators):
        if isinstance(operator, Import | Source):
            outer = operator.index if isinstance(operator, Import) else ports.index(operator.name)
            yield Arrow(inputs[outer], f"{frame}_{number}", dashed=True)
        elif isinstance(operator, Sink):
            yield Arrow(f"{frame}_{number}", outside, dashed=True)


def back_edges(circuit: Circuit) -> Iterator[tuple[int, int]]:
    """Yield the pairs of nodes that a back-edge joins: a `Close` or sink, and the node that reads its previous
    value.
    """
    sinks = {op.name: n for n, op in enumerate(circuit.operators) if isinstance(op, Sink)}
    for number, operator in enumerate(circuit.operators):
        if isinstance(operator, Feedback) and operator.name in sinks:
            yield sinks[operator.name], number
        elif isinstance(operator, BackEdge):
            yield circuit.closes[operator.name], number

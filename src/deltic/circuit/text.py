"""The text form of a circuit: one line a node, the same text for equal circuits."""

from __future__ import annotations

from collections.abc import Iterator

from deltic.circuit.graph import Circuit


def to_text(circuit: Circuit) -> str:
    """The circuit as text: ``%number = operator arguments (inputs) : type``, bodies indented."""
    return "\n".join(_lines(circuit, ""))


def _lines(circuit: Circuit, indent: str) -> Iterator[str]:
    for number, node in enumerate(circuit.nodes):
        arguments = node.operator.arguments()
        inputs = ", ".join(f"%{i}" for i in node.inputs)
        head = f"{indent}%{number} = {node.operator.keyword}"
        head += (f" {arguments}" if arguments else "") + (f" ({inputs})" if inputs else "")
        yield f"{head} : {node.type}"
        for label, body in node.operator.bodies():
            yield f"{indent}  {label} {{"
            yield from _lines(body, indent + "    ")
            yield f"{indent}  }}"

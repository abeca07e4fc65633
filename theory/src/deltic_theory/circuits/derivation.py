"""The typing derivation of a circuit, rule by rule [DBSP §9.4]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deltic.circuit import operators as ops
from deltic.circuit.edges import EdgeType
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.operators.nesting import deeper

# What works on streams by itself, and the ports of a circuit, which carry them; all else is lifted.
_STREAM_OPERATORS = (ops.Delay, ops.Integrate, ops.Differentiate, ops.BackEdge, ops.Feedback, ops.Source, ops.Sink)


def derivation(circuit: Circuit) -> str:
    """Return the steps that build the circuit, for each node in order: the rule, and the judgement that it adds.

    S is for streams, SS for streams of streams, …: in a circuit of depth d all are nested d + 1 deep, and each ↑ lifts
    a node into one of them. A fixpoint is shown as the bracket that it is, its derivative as the bracket of its
    incremental body.
    """
    return "\n".join(_steps(circuit, ""))


def _steps(circuit: Circuit, indent: str) -> Iterator[str]:
    for number, node in enumerate(circuit.nodes):
        yield f"{indent}%{number} = {node.operator.label}"
        for rule, judgement in _node(circuit, node):
            yield f"{indent}  {rule:<20} {judgement}"
        for label, body in node.operator.bodies():
            yield f"{indent}    {label}:"
            yield from _steps(body, indent + "      ")


def _node(circuit: Circuit, node: Node) -> Iterator[tuple[str, str]]:
    """Yield the rules by which one node is added to those before it, and what they say about it."""
    operator, inputs, nesting = node.operator, [circuit.nodes[i].type for i in node.inputs], circuit.depth + 1
    if isinstance(operator, ops.Close):
        (end,) = (
            i for i, op in enumerate(circuit.operators) if isinstance(op, ops.BackEdge) and op.name == operator.name
        )
        yield operator.rule, f"%{end} is z⁻¹ of %{node.inputs[0]} : {_streams(node.type, nesting)}"
        return
    if isinstance(operator, ops.Import):
        yield operator.rule, f"import : {_streams(operator.type, circuit.depth)} → {_streams(node.type, nesting)}"
        return
    if operator.bodies() and len(inputs) > 1:
        bundled = ", ".join(f"%{i}" for i in node.inputs)
        yield "§9.4.3 bundling", f"⟨{bundled}⟩ : ⟨{', '.join(_streams(type_, nesting) for type_ in inputs)}⟩"
    if isinstance(operator, _STREAM_OPERATORS) or operator.bodies():
        yield operator.rule, _judgement(operator.keyword, inputs, node.type, nesting)
    else:
        yield operator.rule, _judgement(operator.keyword, inputs, node.type, 0)
        yield "§9.4.5 lifting", _judgement("↑" * nesting + operator.keyword, inputs, node.type, nesting)
    if node.inputs:
        yield "§9.4.3 composition", "after " + ", ".join(f"%{i}" for i in node.inputs)


def _judgement(name: str, inputs: Iterable[EdgeType], output: EdgeType, nesting: int) -> str:
    sides = [" × ".join(_streams(type_, nesting) for type_ in inputs), _streams(output, nesting)]
    return f"{name} : {' → '.join(filter(None, sides))}"


def _streams(type_: EdgeType, nesting: int) -> str:
    """Return the type of the streams, nested so deep, of an edge's values."""
    return ("S" * nesting + " " + str(deeper(type_, 0))).strip()

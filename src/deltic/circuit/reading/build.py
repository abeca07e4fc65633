"""From the parsed text to a circuit, node by node through the builder, which checks that it is well-formed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lark import Token, Tree

from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.reading.line import NodeLine
from deltic.circuit.reading.operators import READERS
from deltic.circuit.reading.places import TextPlaces
from deltic.circuit.reading.types import read_type
from deltic.errors import CircuitError, UnsupportedError


def build_circuit(tree: Tree[Token], places: TextPlaces, depth: int) -> Circuit:
    """The circuit of a tree whose children are nodes; raises ProgramError at the first that cannot be built."""
    builder = CircuitBuilder(depth)
    for number, node in enumerate(tree.children):
        assert isinstance(node, Tree)
        _add(builder, node.children, number, places)
    try:
        return builder.build()
    except CircuitError as error:
        raise places.error((1, 1, 1), str(error)) from None


def _add(builder: CircuitBuilder, parts: Sequence[Any], number: int, places: TextPlaces) -> None:
    """Add the next node; its parts are reference, keyword, arguments, inputs, type and bodies."""
    reference, keyword, arguments, inputs, type_, *bodies = parts
    first, *rest = arguments.children or [None]
    if reference != f"%{number}":
        raise places.error(reference, f"expected %{number}: nodes are numbered from 0 in their order")
    if keyword not in READERS:
        raise places.unknown(keyword, "operator", READERS)
    declared = read_type(type_, places)
    numbers = _inputs(inputs, number, places)
    inner = {
        str(label): build_circuit(Tree("start", nodes), places, 0 if label == "circuit" else builder.depth + 1)
        for label, *nodes in (body.children for body in bodies)
    }
    schemas = [builder.node(n).type for n in numbers]
    line = NodeLine(keyword, first, rest, schemas, declared, inner, builder.depth, places)
    try:
        added = builder.add(READERS[keyword](line), *numbers)
    except (CircuitError, UnsupportedError) as error:
        raise places.error(keyword, str(error)) from None
    if added != number:
        raise places.error(reference, f"this is the node %{added} again")
    if (result := builder.node(added).type) != declared:
        raise places.error(keyword, f"the type of this node is {result}, not {declared}")


def _inputs(tree: Tree[Token] | None, number: int, places: TextPlaces) -> list[int]:
    """The numbers of the inputs, which must be earlier nodes."""
    references = [token for token in (tree.children if tree else []) if isinstance(token, Token)]
    for token in references:
        if int(token[1:]) >= number:
            raise places.error(token, f"{token} must come before %{number}")
    return [int(token[1:]) for token in references]

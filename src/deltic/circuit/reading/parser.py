"""The parser of the text form of circuits, with the types of edges; the builder checks each node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from lark import Token, Tree, UnexpectedInput

from deltic.circuit.edges import BundleType, EdgeType, ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.reading.line import NodeLine, TextPlaces
from deltic.circuit.reading.operators import READERS
from deltic.errors import CircuitError, UnsupportedError
from deltic.grammars import load
from deltic.values.types import Column, Kind, Schema, Type, ValueType
from deltic.values.words import unquoted

_TYPES = {str(type_): type_ for type_ in Type.simple()}
_KINDS = {kind.value: kind for kind in Kind}


def read_type(tree: Tree[Token], places: TextPlaces) -> EdgeType:
    """Return the type of a Z-set or of a bundle of them."""
    if tree.data == "zset":
        return _zset(tree.children, places)
    entries: list[Any] = [entry.children for entry in tree.children if isinstance(entry, Tree)]
    return BundleType(tuple((unquoted(name), _zset(zset.children, places)) for name, zset in entries))


def _zset(parts: list[Any], places: TextPlaces) -> ZSetType:
    kind, *columns, depth = parts
    if kind not in ("set", "zset"):
        raise places.unknown(kind, "kind of edge", ("set", "zset"))
    try:
        schema = Schema(tuple(_column(column.children, places) for column in columns if column is not None))
    except ValueError as error:
        raise places.error(kind, str(error)) from None
    return ZSetType(schema, kind == "set", int(depth[1:]) if depth else 0)


def _column(parts: list[Any], places: TextPlaces) -> Column:
    name, value = parts
    type_ = _value(value.children, places)
    return Column(unquoted(name), type_.type, type_.nullable)


def _value(parts: list[Any], places: TextPlaces) -> ValueType:
    """Return the type and nullability of a column, a field or an element."""
    name, *arguments, fields, nullable = parts
    arguments = [argument.children for argument in arguments if argument is not None]
    if name not in _KINDS:
        raise places.unknown(name, "type", _KINDS)
    try:
        return ValueType(_type(_KINDS[name], arguments, fields, places), nullable is not None)
    except ValueError as error:
        raise places.error(name, str(error)) from None


def _type(kind: Kind, arguments: list[Any], fields: Tree[Token] | None, places: TextPlaces) -> Type:
    """Return the type of a kind with its (parentheses) and {braces}; ValueError where they do not fit."""
    if kind is Kind.STRUCT and fields is not None and not arguments:
        columns: list[Any] = [column.children for column in fields.children if isinstance(column, Tree)]
        return Type.struct(_column(column, places) for column in columns)
    if fields is None and kind is Kind.DECIMAL:
        digits = [int(first) for first, *rest in arguments if first.isdecimal() and not any(rest)]
        if len(digits) == len(arguments) == 2:
            return Type.decimal(*digits)
    elif fields is None and not (arguments or kind in (Kind.ARRAY, Kind.STRUCT, Kind.MAP)):
        return _TYPES[kind.value]
    elif fields is None and (kind, len(arguments)) in ((Kind.ARRAY, 1), (Kind.MAP, 2)):
        *keys, last = (_value(argument, places) for argument in arguments)
        if not any(key.nullable for key in keys):
            return Type.array(last) if kind is Kind.ARRAY else Type.map(keys[0].type, last)
    raise ValueError(f"{kind.value} is written {_FORMS.get(kind, kind.value)}")


_FORMS = {
    Kind.DECIMAL: "decimal(precision, scale)",
    Kind.ARRAY: "array(type)",
    Kind.STRUCT: "struct{name: type, ...}",
    Kind.MAP: "map(type, type), where the first is never NULL",
}


_SHOWN = {
    "REF": "a node such as %3",
    "NAME": "a name",
    "QUOTED": "a quoted name",
    "BRACKETS": "expressions in [brackets]",
    "ROWS": "rows in {braces}",
    "DEPTH": "a depth such as ^1",
    "NULLABLE": "`?`",
    "$END": "the end",
    "EQUAL": "`=`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LESSTHAN": "`<`",
    "MORETHAN": "`>`",
}


def parse_circuit(text: str, file: str = "<circuit>", depth: int = 0) -> Circuit:
    """Parse the text form of a circuit; `depth` is the depth of a body that is parsed alone.

    ``parse_circuit(str(c), depth=c.depth) == c`` for every circuit c. Raises
    ProgramError at the first place that cannot be parsed, or where a node violates the rules of circuits or has another
    type than the text says.
    """
    places = TextPlaces(file, text)
    try:
        tree: Tree[Token] = load(__package__, "start").parse(text)
    except UnexpectedInput as error:
        raise places.error(_place_of(error, text), _message(error)) from None
    return _circuit(tree, places, depth)


@cache
def parse_value_type(text: str) -> ValueType:
    """Return the type that a text such as `array(string?)?` denotes; raises ProgramError."""
    columns = parse_circuit(f"%0 = source t : set{{c: {text}}}", "<type>").type_of(0).schema.columns
    if len(columns) != 1:
        raise TextPlaces("<type>", text).error((1, 1, len(text)), "this is not one type")
    return columns[0].value_type


def _place_of(error: UnexpectedInput, text: str) -> tuple[int, int, int]:
    """Return where the parser stopped: line, column, length; at the end of the text after its last character."""
    token = getattr(error, "token", None)
    if isinstance(token, Token) and token.type != "$END":
        return token.line or 1, token.column or 1, len(token)
    if token is None:
        return error.line, error.column, 1
    lines = text.rstrip().splitlines() or [""]
    return len(lines), len(lines[-1]) + 1, 1


def _message(error: UnexpectedInput) -> str:
    accepted: set[str] = getattr(error, "accepts", None) or getattr(error, "allowed", None) or set()
    return "expected " + " or ".join(sorted(_SHOWN[name] for name in accepted if name in _SHOWN))


def _circuit(tree: Tree[Token], places: TextPlaces, depth: int) -> Circuit:
    """Return the circuit of a tree whose children are nodes; raises ProgramError at the first that cannot be built."""
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
        str(label): _circuit(Tree("start", nodes), places, 0 if label == "circuit" else builder.depth + 1)
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
    """Return the numbers of the inputs, which must be earlier nodes."""
    references = [token for token in (tree.children if tree else []) if isinstance(token, Token)]
    for token in references:
        if int(token[1:]) >= number:
            raise places.error(token, f"{token} must come before %{number}")
    return [int(token[1:]) for token in references]

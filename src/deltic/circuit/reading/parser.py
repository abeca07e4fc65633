"""The parser of the text form of circuits."""

from __future__ import annotations

from functools import cache
from importlib import resources

from lark import Lark, Token, Tree, UnexpectedInput

from deltic.circuit.graph import Circuit
from deltic.circuit.reading.build import build_circuit
from deltic.circuit.reading.places import TextPlaces
from deltic.values.types import ValueType

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
        tree: Tree[Token] = _grammar().parse(text)
    except UnexpectedInput as error:
        raise places.error(_place_of(error, text), _message(error)) from None
    return build_circuit(tree, places, depth)


@cache
def parse_value_type(text: str) -> ValueType:
    """The type that a text such as `array(string?)?` denotes; raises ProgramError."""
    columns = parse_circuit(f"%0 = source t : set{{c: {text}}}", "<type>").type_of(0).schema.columns
    if len(columns) != 1:
        raise TextPlaces("<type>", text).error((1, 1, len(text)), "this is not one type")
    return columns[0].value_type


@cache
def _grammar() -> Lark:
    grammar = resources.files("deltic.circuit.reading").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=True)


def _place_of(error: UnexpectedInput, text: str) -> tuple[int, int, int]:
    """Where the parser stopped: line, column, length; at the end of the text after its last character."""
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

"""Bodies of functions that are defined in SQL: an expression, translated with arguments in place of parameters.

A definition is translated once for each signature, with placeholders for the arguments. Arguments that are literals are
part of the signature, because expressions of them may be computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from sqlglot import exp

from deltic.circuit.expressions import column, is_checked, is_literal
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.functions import FUNCTIONS, names_in_sql
from deltic.sql.scalars.coercion import open_type
from deltic.sql.scalars.functions.definitions import DEFINED, FunctionDefinition
from deltic.sql.scalars.functions.rules import OF, RULES
from deltic.sql.scalars.typed import Modifier, Typed
from deltic.sql.text import BUILT_IN, SourceText
from deltic.values.types import ValueType

Sign = tuple[exp.Expression | None, ValueType, bool, Modifier | None]
"""An argument as far as translations depend on it: a literal, its type, whether it is a number as written, modifier."""


@cache
def parsed(text: str) -> tuple[exp.Expression, SourceText]:
    """Return a definition's expression, which nobody may change, and the text that it was parsed from."""
    from deltic.sql.dialect import Deltic  # which asks this package for the names of functions

    source = SourceText(f"SELECT {text}", BUILT_IN)
    select = Deltic().parse(source.text)[0]
    assert select is not None
    result: exp.Expression = select.expressions[0]
    return result, source


def signature_of(arguments: Sequence[Typed]) -> tuple[Sign, ...] | None:
    """Return what a translation depends on; None where it depends on an argument's structure, or may raise an error."""
    made_of_nothing = any(a.type.type.is_composite and open_type(a) is not a.type.type for a in arguments)
    return None if made_of_nothing or any(is_checked(a.expression) for a in arguments) else tuple(map(_sign, arguments))


def _sign(argument: Typed) -> Sign:
    node = argument.expression
    is_fixed = argument.is_null or is_literal(node) or is_null_of_a_type(node)
    return node if is_fixed else None, argument.type, argument.is_number, argument.modifier


def places(signature: Sequence[Sign]) -> list[Typed]:
    """Return the literals of a signature, and places for its other arguments."""
    return [
        Typed(column(f"{_PLACE}{number}") if fixed is None else fixed, type_, is_number, modifier)
        for number, (fixed, type_, is_number, modifier) in enumerate(signature)
    ]


_PLACE = "\0place "


def filled(translation: Typed, arguments: Sequence[Typed]) -> Typed:
    """Return a translation with arguments in their places."""
    around = exp.Paren(this=translation.expression.copy())
    for node in list(around.find_all(exp.Column)):
        if node.name.startswith(_PLACE):
            node.replace(arguments[int(node.name.removeprefix(_PLACE))].expression.copy())
    return replace(translation, expression=around.this)


def calls(name: str) -> tuple[str, ...]:
    """Return the functions of the table that one of SQL may call; none where the core computes it."""
    by_definitions = (entry for one in DEFINED.get(name, ()) for entry in _called(one, calls))
    return tuple(dict.fromkeys([*by_definitions, *_own_calls(name)]))


def _called(definition: FunctionDefinition, of: Callable[[str], Sequence[str]]) -> Iterator[str]:
    """Yield the functions that a definition calls, directly or through the functions of SQL in `of`."""
    for call in parsed(definition.body)[0].find_all(exp.Anonymous):
        _, is_of_the_table, entry = call.name.lower().rpartition("spark_")
        yield from [entry] if is_of_the_table else of(entry) if entry != definition.name else ()


def _own_calls(name: str) -> tuple[str, ...]:
    """Return those of a rule, or of a plain function."""
    if name in RULES:
        return OF.get(name, (name,) if name in FUNCTIONS else ())
    entry = names_in_sql().get(name)
    return () if entry is None else (entry,)

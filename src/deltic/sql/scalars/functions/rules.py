"""The functions with a rule of their own, and the parts of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from deltic.circuit.expressions import is_literal
from deltic.circuit.expressions.casts import is_null_of_a_type
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError, count_of
from deltic.functions import FUNCTIONS, call
from deltic.sql.collations import Modifier, Within, part, within
from deltic.sql.scalars import conditions, operators
from deltic.sql.scalars.coercion import can_coerce, coerced, type_in_common
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.typed import Typed, constant, defined, folded, in_common, of_node
from deltic.sql.types import written
from deltic.values.types import Kind, Type

Rule = Callable[..., Typed]

RULES: dict[str, Rule] = {}
"""Functions of arguments by their names in Spark; a TypeError says that their number is wrong."""


OF: dict[str, tuple[str, ...]] = {}
"""The functions of the table that rules call; `core` among them stands for the core's operations.

Those that are not here call the one of their name, if there is one."""


def rule(*names: str, of: str = "") -> Callable[[Rule], Rule]:
    """Enter a rule under the names of its function; `of` names the functions of the table that it calls."""

    def enter(found: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, found))
        OF.update(dict.fromkeys(names if of else (), tuple(of.split())))
        return found

    return enter


def apply(name: str, *arguments: Typed) -> Typed:
    """Return a call of a function in the table over arguments of the types that it takes, an error where it is
    undefined.
    """
    result = _called(name, *arguments)
    return folded(defined(result, *arguments) if FUNCTIONS[name].partial else result)


def attempt(name: str, *arguments: Typed) -> Typed:
    """Return a call of a function in the table over arguments of the types that it takes, NULL where it is
    undefined.
    """
    return folded(_called(name, *arguments))


def must(name: str, *arguments: Typed) -> Typed:
    """Return a call of a function in the table, an error where it is NULL although no argument is."""
    return folded(defined(_called(name, *arguments), *arguments))


def _called(name: str, *arguments: Typed) -> Typed:
    try:
        result = of_node(call(name, *(argument.expression for argument in arguments)), *arguments)
        return replace(result, modifier=_modifier(name, result.type.type, arguments))
    except ValueError as error:  # a struct with two fields of one name
        raise Mismatch(str(error)) from None


def _modifier(name: str, result: Type, arguments: Sequence[Typed]) -> Modifier | None:
    """Return that of the result of a function of arrays, maps and structs: it is one of them, or a part of one."""
    for argument in arguments:
        own, type_ = argument.modifier, argument.type.type
        if isinstance(own, Within):
            if name in _OF_MAPS:
                return _OF_MAPS[name](own)
            if result is type_:
                return in_common([each for each in arguments if each.type.type is type_])
            if type_.kind is Kind.ARRAY and result is type_.element.type:
                return part(own)
    return None


_OF_MAPS: dict[str, Callable[[Within], Modifier | None]] = {
    "map_keys": lambda own: within(own.parts[0]),
    "map_values": lambda own: within(own.parts[1]),
    "map_entries": within,
    "value_at": lambda own: own.parts[1],
}


def plain(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a call of a plain function, its arguments brought to the types that it takes."""
    return apply(name, *brought(name, arguments))


def primitive(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the functions `spark_f`, `try_spark_f` and `must_spark_f` of definitions in SQL."""
    way, _, entry = name.partition("spark_")
    if way:
        return {"try_": attempt, "must_": must}[way](entry, *arguments)
    return plain(entry, arguments) if FUNCTIONS[entry].takes else apply(entry, *arguments)


def counts(name: str) -> range:
    """Return how many arguments a plain function takes."""
    function = FUNCTIONS[name]
    return range(len(function.takes) - len(function.defaults), len(function.takes) + 1)


def brought(name: str, arguments: Sequence[Typed]) -> list[Typed]:
    """Return the arguments, and the defaults after them, brought to the types that a plain function takes."""
    function = FUNCTIONS[name]
    takes, missing = function.takes, len(function.takes) - len(arguments)
    if len(arguments) not in (taken := counts(name)):
        most = count_of(len(takes), "argument")
        raise Mismatch(f"{name} takes {most if taken.start == len(takes) else f'{taken.start} to {most}'}")
    defaults = function.defaults[len(function.defaults) - missing :]
    filled = [constant(value, type_) for value, type_ in zip(defaults, takes[len(arguments) :], strict=True)]
    return [to(argument, type_) for argument, type_ in zip([*arguments, *filled], takes, strict=True)]


def to(argument: Typed, target: Type) -> Typed:
    """Return an argument converted to a parameter's type: between numbers, or if either is a text."""
    source = argument.type.type
    accepted = argument.is_null or source is target or Type.STRING in (source, target)
    accepted |= source.is_numeric and target.is_numeric
    accepted |= {source, target} <= {Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ}
    accepted &= not (source.is_composite and target is Type.STRING)
    if not accepted or not can_coerce(argument, target):
        raise Mismatch(f"{written(target)} is taken here")
    return coerced(argument, target)


def array_of(value: Typed) -> Type:
    """Return the type of an argument that must be an array."""
    if value.type.type.kind is not Kind.ARRAY:
        raise Mismatch("an array is taken here")
    return value.type.type


def map_of(value: Typed) -> Type:
    """Return the type of an argument that must be a map."""
    if value.type.type.kind is not Kind.MAP:
        raise Mismatch("a map is taken here")
    return value.type.type


def array_or_null(value: Typed) -> Typed:
    """Return an argument that must be an array; a bare NULL counts as one."""
    if value.is_null:
        return coerced(value, Type.array(Type.BOOLEAN.or_null))
    array_of(value)
    return value


def map_or_null(value: Typed) -> Typed:
    """Return an argument that must be a map; a bare NULL counts as one."""
    if value.is_null:
        return coerced(value, Type.map(Type.BOOLEAN, Type.BOOLEAN.or_null))
    map_of(value)
    return value


def where_present(made: Typed, *arguments: Typed) -> Typed:
    """Return a value, NULL where one of the arguments is."""
    are_there = [operators.logic(exp.Not, [conditions.is_null(one)]) for one in arguments if one.type.nullable]
    return operators.case([(reduce(_both, are_there), made)], None) if are_there else made


def _both(first: Typed, second: Typed) -> Typed:
    return operators.logic(exp.And, [first, second])


class NullLiteral(Mismatch):
    """NULL where a literal must be, of which the call is NULL, too; its type is that of a call with the `sample`."""

    def __init__(self, hint: str, sample: str) -> None:
        self.sample = sample
        super().__init__(hint)


def is_bare(argument: Typed) -> bool:
    """Return whether an argument is NULL as it is written, of a type or of none."""
    return argument.is_null or is_null_of_a_type(argument.expression)


def literal_of(argument: Typed, what: str, target: Type = Type.STRING, sample: str = "") -> str:
    """Return the value of an argument that must be a literal, as text."""
    if is_bare(argument):
        raise NullLiteral(f"{what} must be a literal", sample)
    if not is_literal(argument.expression):
        raise Mismatch(f"{what} must be a literal")
    if not can_coerce(argument, target):
        raise Mismatch(f"{what} is {written(target)}")
    try:
        return str(evaluate(coerced(argument, target).expression, {}, {}))
    except EvaluationError:
        raise Mismatch(f"{what} is {written(target)}") from None


def same_type(arguments: Sequence[Typed]) -> Type:
    """Return the type that arguments have in common."""
    result = type_in_common(arguments)
    if result is None:
        raise Mismatch("the arguments have no type in common; cast them to one")
    return result

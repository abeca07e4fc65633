"""Operators and conversions of built-in types, as expressions of Python."""

from __future__ import annotations

from collections.abc import Sequence

from deltic_ddlog.types import STRING, BigInt, Bit, Bool, DdlogType, Double, Float, Signed, bounds

ORDERED = frozenset(("<", "<=", ">", ">="))
"""The comparisons for which values have to be in an order."""
_COMPARISONS = ORDERED | {"==", "!="}


def operation(operator: str, result: DdlogType, types: Sequence[DdlogType], values: Sequence[str]) -> str:
    """Return an operator applied to values of types."""
    if operator == "not":
        return f"(not {values[0]})"
    if operator in _COMPARISONS:
        return f"({values[0]} {operator} {values[1]})"
    if operator == "++":
        return _concatenation(types, values)
    if operator in ("<<", ">>"):
        return _shift(operator, result, values)
    if len(values) == 1:
        return _unary(operator, result, values[0])
    if isinstance(result, Float | Double):
        return _of_floats(operator, result, values)
    return wrapped(result, _of_integers(operator, result, values))


def wrapped(type_: DdlogType, value: str) -> str:
    """Return an integer modulo what its type holds."""
    match type_:
        case Bit(width):
            return f"({value} & {(1 << width) - 1})"
        case Signed(width):
            half = 1 << width - 1
            return f"((({value} + {half}) & {2 * half - 1}) - {half})"
        case _:
            return value


def _of_integers(operator: str, type_: DdlogType, values: Sequence[str]) -> str:
    if operator in ("/", "%"):
        return f"{'quotient' if operator == '/' else 'remainder'}({values[0]}, {values[1]})"
    return f"({values[0]} {operator} {values[1]})"


def _of_floats(operator: str, type_: DdlogType, values: Sequence[str]) -> str:
    result = f"divided({values[0]}, {values[1]})" if operator == "/" else f"({values[0]} {operator} {values[1]})"
    return f"single({result})" if isinstance(type_, Float) else result


def _unary(operator: str, type_: DdlogType, value: str) -> str:
    if operator == "~" and isinstance(type_, Bit):
        return f"({value} ^ {(1 << type_.width) - 1})"
    result = f"({operator}{value})"
    return result if operator == "~" or isinstance(type_, Float | Double) else wrapped(type_, result)


def _shift(operator: str, type_: DdlogType, values: Sequence[str]) -> str:
    """The distance counts modulo the width of the machine's integer that holds the type, as in Rust."""
    width = type_.width if isinstance(type_, Bit | Signed) else 0
    distance = values[1]
    if 0 < width <= 128:
        distance = f"({distance} & {max(8, 1 << (width - 1).bit_length()) - 1})"
    result = f"({values[0]} {operator} {distance})"
    return wrapped(type_, result) if operator == "<<" else result


def _concatenation(types: Sequence[DdlogType], values: Sequence[str]) -> str:
    low = types[1]
    if types[0] == STRING or not isinstance(low, Bit):
        return f"({values[0]} + {values[1]})"
    return f"({values[0]} << {low.width} | {values[1]})"


def cast(from_: DdlogType, to: DdlogType, value: str) -> str:
    """Return a number as one of another type."""
    if isinstance(to, Float | Double):
        made = value if isinstance(from_, Float | Double) else f"float({value})"
        return f"single({made})" if isinstance(to, Float) and from_ != to else made
    if isinstance(from_, Float | Double):
        low, high = bounds(to)
        return f"integer({value})" if isinstance(to, BigInt) else f"truncated({value}, {low}, {high})"
    if from_ == to or isinstance(to, BigInt):
        return value
    grows = isinstance(from_, Bit) and isinstance(to, Bit) and from_.width <= to.width
    grows |= isinstance(from_, Signed) and isinstance(to, Signed) and from_.width <= to.width
    return value if grows else wrapped(to, value)


def text(type_: DdlogType, value: str) -> str:
    """Return the text of a value of a built-in type."""
    match type_:
        case Bool():
            return f"('true' if {value} else 'false')"
        case Float() | Double():
            return f"show_float({value}, {isinstance(type_, Float)})"
        case _:
            return value if type_ == STRING else f"str({value})"

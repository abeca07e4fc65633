"""Types that several values have in common, and values brought to a type: Spark's rules in ANSI mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from deltic.circuit.expressions import (
    cast,
    conversion,
    is_literal,
    literal,
    null,
)
from deltic.circuit.expressions.casts import converts_all, has_conversion, never_undefined
from deltic.circuit.types import Column, Kind, Type, ValueType
from deltic.circuit.types.value import MAX_PRECISION
from deltic.sql.scalars.folding import folded
from deltic.sql.scalars.typed import Typed, defined

_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_UNSIGNED = {
    Type.UINT8: Type.INT16,
    Type.UINT16: Type.INT32,
    Type.UINT32: Type.INT64,
    Type.UINT64: Type.decimal(20, 0),
}
_TIMES = (Type.DATE, Type.TIMESTAMP_NTZ, Type.TIMESTAMP)
_DIGITS = {Type.INT8: 3, Type.INT16: 5, Type.INT32: 10, Type.INT64: 20}


def common_type(types: Sequence[Type]) -> Type | None:
    """The least type that values of all these types are brought to; None where there is none.

    As in Spark the wider of two numbers, DOUBLE for a FLOAT and anything else, the later of DATE, TIMESTAMP_NTZ and
    TIMESTAMP. A STRING is brought to the other side: to BIGINT for integers, to DOUBLE for other numbers.
    """
    if not types:
        return None
    # Spark looks at STRING last, so that the order of the values says nothing.
    ordered = sorted(types, key=lambda type_: type_ is Type.STRING)
    found: Type | None = ordered[0]
    for type_ in ordered[1:]:
        found = found and _common(found, type_)
    return found


def _common(a: Type, b: Type) -> Type | None:
    a, b = as_signed(a), as_signed(b)
    if a is b:
        return a
    if Type.STRING in (a, b):
        return _with_string(b if a is Type.STRING else a)
    if a.is_numeric and b.is_numeric:
        return _of_numbers(a, b)
    if a in _TIMES and b in _TIMES:
        return max(a, b, key=_TIMES.index)
    return _of_composites(a, b) if a.kind is b.kind and a.is_composite else None


def as_signed(type_: Type) -> Type:
    """The type that SQL has for an unsigned integer: the next wider one."""
    return _UNSIGNED.get(type_, type_)


def _with_string(other: Type) -> Type | None:
    if other.is_integer:
        return Type.INT64
    if other.is_numeric:
        return Type.FLOAT64
    return None if other.is_composite else other


def _of_numbers(a: Type, b: Type) -> Type:
    if a.is_float or b.is_float:
        return Type.FLOAT64
    if a.is_integer and b.is_integer:
        return max(a, b, key=_INTEGERS.index)
    a, b = as_decimal(a), as_decimal(b)
    scale = max(a.scale, b.scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def as_decimal(type_: Type) -> Type:
    """The decimals that hold all values of an integer type; decimals as they are."""
    return Type.decimal(_DIGITS[type_]) if type_ in _DIGITS else type_


def bounded_decimal(precision: int, scale: int) -> Type:
    """The decimal of these digits, without those behind the point for which there is no room."""
    if precision > MAX_PRECISION:
        scale = max(0, scale - (precision - MAX_PRECISION))
    return Type.decimal(min(precision, MAX_PRECISION), scale)


def _of_composites(a: Type, b: Type) -> Type | None:
    if a.kind is Kind.ARRAY:
        element = _of_parts(a.element, b.element)
        return Type.array(element) if element else None
    if a.kind is Kind.MAP:
        key, value = _common(a.key, b.key), _of_parts(a.value, b.value)
        return Type.map(key, value) if key and value else None
    if [c.name.lower() for c in a.fields] != [c.name.lower() for c in b.fields]:
        return None
    parts = [(c.name, _of_parts(c.value_type, d.value_type)) for c, d in zip(a.fields, b.fields, strict=True)]
    return Type.struct(Column(n, p.type, p.nullable) for n, p in parts if p) if all(p for _, p in parts) else None


def _of_parts(a: ValueType, b: ValueType) -> ValueType | None:
    type_ = _common(a.type, b.type)
    return ValueType(type_, a.nullable or b.nullable) if type_ else None


def coerced(typed: Typed, target: Type) -> Typed:
    """The value brought to a type, an error where it has no value there; it must be one that Spark casts to."""
    found = _converted(typed, target)
    is_done = found is typed or typed.is_null or is_literal(found.expression)
    return found if is_done else folded(defined(found, typed))


def converted(typed: Typed, target: Type) -> Typed:
    """The value brought to a type, NULL where it has no value there; it must be one that Spark casts to."""
    return folded(_converted(typed, target))


def _converted(typed: Typed, target: Type) -> Typed:
    source = typed.type.type
    if typed.is_null:
        return Typed(null(target), target.or_null)
    if source is target:
        return typed
    if is_literal(typed.expression) and source.is_integer and (found := _literal(typed.expression, target)):
        return found
    exact = converts_all(source, target) and never_undefined(source, target) and not _differs(source, target)
    node = (cast if exact else conversion)(typed.expression.copy(), target)
    nullable = typed.type.nullable or not converts_all(source, target)
    return Typed(node, ValueType(target, nullable))


def _differs(source: Type, target: Type) -> bool:
    """Whether the circuit's own cast gives another value than Spark's, though never NULL."""
    return (target is Type.STRING and not source.is_integer) or source.is_composite


def _literal(expression: exp.Expression, target: Type) -> Typed | None:
    """An integer literal as a literal of another numeric type."""
    value = _integer(expression)
    if target.is_integer and target.range[0] <= value <= target.range[1]:
        return Typed(literal(value, target), ValueType(target))
    if target is Type.FLOAT64 and abs(value) < 1 << 53:
        return Typed(literal(float(value), target), ValueType(target))
    return None


def _integer(expression: exp.Expression) -> int:
    if isinstance(expression, exp.Neg):
        return -_integer(expression.this)
    return int(expression.this) if isinstance(expression, exp.Literal) else _integer(expression.this)


def unified(values: Sequence[Typed]) -> list[Typed] | None:
    """The values brought to the type that they have in common; None where there is none. NULL takes any type."""
    target = type_in_common(values)
    return None if target is None else [coerced(value, target) for value in values]


def type_in_common(values: Iterable[Typed]) -> Type | None:
    """The type that the values have in common, BOOLEAN where all are NULL; None where there is none."""
    types = [value.type.type for value in values if not value.is_null]
    return common_type(types) if types else Type.BOOLEAN


def can_coerce(typed: Typed, target: Type) -> bool:
    """Whether Spark casts the value to the type."""
    return typed.is_null or has_conversion(as_signed(typed.type.type), target)

"""Common types and coercions: Spark's rules in ANSI mode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import (
    Checked,
    cast,
    checked,
    conversion,
    is_literal,
    literal,
    null,
)
from deltic.circuit.expressions.casts import (
    converts_all,
    has_conversion,
    have_same_parts,
    is_null_of_a_type,
    never_undefined,
)
from deltic.functions import call, is_call
from deltic.functions.function import PREFIX
from deltic.sql.collations import Collation
from deltic.sql.scalars.composites import called, rebuilt
from deltic.sql.scalars.typed import Typed, defined, folded, in_common
from deltic.sql.types import VOID
from deltic.values.types import Column, Kind, Type, ValueType
from deltic.values.types.value import MAX_PRECISION

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
    """Return the least common type; None where there is none.

    As in Spark the wider of two numbers, DOUBLE for a FLOAT and anything else, the later of DATE, TIMESTAMP_NTZ and
    TIMESTAMP. A STRING is brought to the other side: to BIGINT for integers, to DOUBLE for other numbers.
    """
    if not types:
        return None
    # Spark looks at STRING last, so that the order of the values says nothing.
    ordered = sorted(types, key=lambda type_: type_ is Type.STRING)
    result: Type | None = ordered[0]
    for type_ in ordered[1:]:
        result = result and _common(result, type_)
    return result


def _common(a: Type, b: Type) -> Type | None:
    a, b = as_signed(a), as_signed(b)
    if a is b or b is VOID:
        return a
    if a is VOID:
        return b
    if Type.STRING in (a, b):
        return _with_string(b if a is Type.STRING else a)
    if a.is_numeric and b.is_numeric:
        return _of_numbers(a, b)
    if a in _TIMES and b in _TIMES:
        return max(a, b, key=_TIMES.index)
    return _of_composites(a, b) if a.kind is b.kind and a.is_composite else None


def mixes_texts(types: Iterable[Type]) -> bool:
    """Return whether STRING is mixed with other types, which Spark coerces only in operators."""
    return len({type_ is Type.STRING for type_ in types if type_ is not VOID}) > 1


def as_signed(type_: Type) -> Type:
    """Return the type that SQL has for an unsigned integer: the next wider one."""
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
    """Return the decimals that hold all values of an integer type; decimals as they are."""
    return Type.decimal(_DIGITS[type_]) if type_ in _DIGITS else type_


def bounded_decimal(precision: int, scale: int) -> Type:
    """Return the decimal type of these digits; digits after the point are dropped where 38 are too few."""
    if precision > MAX_PRECISION:
        scale = max(0, scale - (precision - MAX_PRECISION))
    return Type.decimal(min(precision, MAX_PRECISION), scale)


def _of_composites(a: Type, b: Type) -> Type | None:
    if a.kind is Kind.STRUCT and [c.name.lower() for c in a.fields] != [c.name.lower() for c in b.fields]:
        return None
    parts = [part for pair in zip(a.parts, b.parts, strict=True) if (part := _of_parts(*pair))]
    return a.with_parts(parts) if len(parts) == len(a.parts) else None


def _of_parts(a: ValueType, b: ValueType) -> ValueType | None:
    type_ = _common(a.type, b.type)
    return ValueType(type_, a.nullable or b.nullable) if type_ else None


def coerced(typed: Typed, target: Type) -> Typed:
    """Return the value brought to a type, an error where it has no value there; it must be one that Spark casts to.

    Literal arrays, maps and structs of NULL are converted part by part.
    """
    source = typed.type.type
    if source is not target and source.is_composite and source.kind is target.kind and open_type(typed) is not source:
        return Typed(_rebuilt(typed.expression, source, target), ValueType(target, typed.type.nullable))
    result = _converted(typed, target)
    if result is typed or typed.is_null or is_literal(result.expression):
        return result
    whole = defined(result, typed)
    return folded(of_finite(typed, whole) if source.is_float and target.kind is Kind.DECIMAL else whole)


def of_finite(number: Typed, found: Typed) -> Typed:
    """Return a float cast to this type; NULL, and no error, for infinities and NaN, as in Spark."""
    itself = number.expression.copy()
    zero = cast(literal(0.0, Type.FLOAT64), number.type.type)
    is_finite = exp.EQ(this=exp.Sub(this=itself, expression=itself.copy()), expression=zero)
    node = exp.Case(ifs=[exp.If(this=is_finite, true=found.expression)])
    return Typed(node, found.type.type.or_null)


def converted(typed: Typed, target: Type) -> Typed:
    """Return the value converted to a type, NULL where it or a part cannot be; Spark must have this cast."""
    return folded(_converted(typed, target, by_part=True))


def _converted(typed: Typed, target: Type, by_part: bool = False) -> Typed:
    source = typed.type.type
    if typed.is_null:
        return Typed(null(target), target.or_null)
    if source is target:
        return typed
    if typed.fields is not None and target is Type.STRING:
        return called("written_interval", typed, *typed.fields)
    if target is Type.STRING and source.is_composite and typed.modifier:
        typed = with_written_intervals(typed)
    if is_literal(typed.expression) and source.is_integer and (result := _literal(typed.expression, target)):
        return result
    exact = converts_all(source, target) and never_undefined(source, target) and not _differs(source, target)
    node = (cast if exact or (by_part and source.is_composite) else conversion)(typed.expression.copy(), target)
    nullable = typed.type.nullable or not converts_all(source, target)
    return Typed(node, ValueType(target, nullable))


def with_written_intervals(value: Typed) -> Typed:
    """Return a composite value with texts in place of intervals."""
    if value.type.type.is_composite:
        return rebuilt(value, with_written_intervals) if _has_intervals(value.type.type) else value
    return coerced(value, Type.STRING) if _has_intervals(value.type.type) else value


def _has_intervals(type_: Type) -> bool:
    return type_.kind in _INTERVALS or any(_has_intervals(part.type) for part in type_.parts)


_INTERVALS = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


def _differs(source: Type, target: Type) -> bool:
    """Return whether the circuit's own cast gives another value than Spark's, though never NULL."""
    return (target is Type.STRING and not source.is_integer) or source.is_composite


def _literal(expression: exp.Expression, target: Type) -> Typed | None:
    """Return an integer literal as a literal of another numeric type."""
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


def open_type(typed: Typed) -> Type:
    """Return the type of a value, with VOID for parts that are literal NULLs or empty."""
    return VOID if typed.is_null else _open(typed.expression, typed.type.type)


def _open(expression: exp.Expression, type_: Type) -> Type:
    if isinstance(expression, exp.Null) or (type_ is Type.BOOLEAN and is_null_of_a_type(expression)):
        return VOID
    if isinstance(expression, Checked):
        return _open(expression.this, type_)
    if not is_call(expression) or not type_.is_composite:
        return type_
    operands = expression.expressions
    match expression.name.removeprefix(PREFIX):
        case "ARRAY":
            known = [result for o in operands if (result := _open(o, type_.element.type)) is not VOID]
            return Type.array((common_type(known) or type_.element.type if known else VOID).or_null)
        case "NAMED_STRUCT":
            columns = zip(type_.fields, operands[1::2], strict=True)
            return Type.struct(Column(c.name, _open(o, c.type), c.nullable) for c, o in columns)
        case "MAP_FROM_ARRAYS":
            parts = zip(operands, (type_.key.or_null, type_.value), strict=True)
            keys, values = (_open(o, Type.array(part)) for o, part in parts)
            return Type.map(keys.element.type, values.element)
    return type_


def _closed(type_: Type) -> Type:
    """Return the type with BOOLEAN in place of VOID."""
    if type_.is_composite:
        return type_.with_parts(ValueType(_closed(part.type), part.nullable) for part in type_.parts)
    return Type.BOOLEAN if type_ is VOID else type_


def _rebuilt(expression: exp.Expression, source: Type, target: Type) -> exp.Expression:
    """Return a literal array, struct or map whose parts are converted to those of another type."""
    if _open(expression, source) is VOID:
        return null(target)
    if source is target or _open(expression, source) is source:
        return coerced(Typed(expression, source.or_null), target).expression
    if isinstance(expression, Checked):
        return checked(_rebuilt(expression.this, source, target))
    parts: list[exp.Expression] = expression.expressions
    if not parts:
        return call("array_compact", call("array", null(target.element.type)))
    if source.kind is Kind.ARRAY:
        made = [_rebuilt(part, source.element.type, target.element.type) for part in parts]
    elif source.kind is Kind.MAP:
        types = zip((source.key.or_null, source.value), (target.key.or_null, target.value), strict=True)
        arrays = zip(parts, types, strict=True)
        made = [_rebuilt(part, Type.array(one), Type.array(other)) for part, (one, other) in arrays]
    else:
        fields = zip(parts[1::2], source.fields, target.fields, strict=True)
        names = (literal(column.name, Type.STRING) for column in target.fields)
        values = (_rebuilt(part, one.type, other.type) for part, one, other in fields)
        made = [part for pair in zip(names, values, strict=True) for part in pair]
    return call(expression.name.removeprefix(PREFIX).lower(), *made)


def unified(values: Sequence[Typed]) -> list[Typed] | None:
    """Return the values brought to the type that they have in common; None where there is none. NULL takes any type.

    Intervals have the fields of all of them, texts one collation.
    """
    target = type_in_common(values)
    if target is None:
        return None
    is_lost = target is not Type.STRING and any(isinstance(value.modifier, Collation) for value in values)
    modifier = None if is_lost else in_common(values)
    return [replace(coerced(value, target), modifier=modifier) for value in values]


def named_as(value: Typed, other: Type) -> Typed:
    """Return the value with the field names of another type, as rows are compared by position."""
    return value if value.is_null else coerced(value, _named_as(value.type.type, other))


def _named_as(type_: Type, other: Type) -> Type:
    if not type_.is_composite or type_.kind is not other.kind or len(type_.parts) != len(other.parts):
        return type_
    pairs = zip(type_.parts, other.parts, strict=True)
    return other.with_parts(ValueType(_named_as(a.type, b.type), a.nullable) for a, b in pairs)


def type_in_common(values: Iterable[Typed]) -> Type | None:
    """Return the type that the values have in common, BOOLEAN where all are NULL; None where there is none."""
    types = [open_type(value) for value in values if not value.is_null]
    result = common_type(types) if types else VOID
    return None if result is None else _closed(result)


def settled(value: Typed) -> Typed:
    """Return a value of a type: a bare NULL gets one."""
    return coerced(value, value.type.type) if value.is_null else value


def can_coerce(typed: Typed, target: Type) -> bool:
    """Return whether Spark casts the value to the type."""
    return _has_conversion(open_type(typed), target)


def _has_conversion(source: Type, target: Type) -> bool:
    if source is VOID:
        return True
    if source.kind is not target.kind or not source.is_composite:
        return has_conversion(as_signed(source), target)
    return have_same_parts(source, target, _has_conversion)


def is_assignable(found: Type, target: Type, by_name: bool = False) -> bool:
    """Return whether a value of one type may be stored in a column of another: Spark's ANSI store assignment.

    Fields of structs are stored in their order, whatever their names, unless `by_name` wants the same names.
    """
    times = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
    if found is target or found is VOID or (found.is_numeric and target.is_numeric):
        return True
    if found.is_composite and found.kind is target.kind:
        return _are_assignable(found, target, by_name)
    if target is Type.STRING:
        return not found.is_composite and found is not Type.BINARY
    return found in times and target in times


def _are_assignable(found: Type, target: Type, by_name: bool) -> bool:
    """Return whether the parts of one composite type may be stored as those of another of the same kind."""
    if by_name and found.kind is Kind.STRUCT:
        fields = zip(found.fields, target.fields, strict=False)
        if any(a.name.lower() != b.name.lower() for a, b in fields):
            return False
    return have_same_parts(found, target, lambda a, b: is_assignable(a, b, by_name))

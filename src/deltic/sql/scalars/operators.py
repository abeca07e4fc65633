"""Operators: arithmetic, comparisons, logic, and text joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit.expressions import is_checked, is_literal
from deltic.functions import call
from deltic.sql.scalars.coercion import (
    as_decimal,
    as_signed,
    can_coerce,
    coerced,
    converted,
    mixes_texts,
    open_type,
    type_in_common,
)
from deltic.sql.scalars.comparing import compared
from deltic.sql.scalars.typed import (
    NULL,
    Fields,
    Mismatch,
    Typed,
    applied,
    attempted,
    constant,
    defined,
    folded,
    in_common,
    of_node,
    regrouped,
)
from deltic.sql.types import written
from deltic.values.types import Kind, Type

_SAFE: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.Add: exp.SafeAdd,
    exp.Sub: exp.SafeSubtract,
    exp.Mul: exp.SafeMultiply,
}
_TIMES = (Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ)
INTERVALS = (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL)
"""Of months, and of microseconds."""
ALL_FIELDS: dict[Type, Fields] = {INTERVALS[0]: ("YEAR", "MONTH"), INTERVALS[1]: ("DAY", "SECOND")}
"""The first and the last field of an interval that has all."""
_DAY = 86_400_000_000
# `applied` or `attempted`: an operation over operands.
Apply = Callable[..., Typed]


def arithmetic(kind: type[exp.Expression], left: Typed, right: Typed, apply: Apply = applied) -> Typed:
    """Return a sum, difference, product, quotient, whole quotient or remainder. `apply` decides about undefined
    ones.
    """
    known = [value.type.type for value in (left, right) if not value.is_null]
    if Type.TIME in known:
        return folded(_of_clocks(kind, left, right, apply))
    of = _of_times if any(x in (*_TIMES, *INTERVALS) for x in known) else _of_values
    return folded(of(kind, left, right, apply))


def _of_values(kind: type[exp.Expression], left: Typed, right: Typed, apply: Apply) -> Typed:
    if left.is_null and right.is_null:
        left = right = coerced(left, Type.INT64 if kind is exp.IntDiv else Type.FLOAT64)
    if Type.BOOLEAN in (t := [v.type.type for v in (left, right) if not v.is_null]) or any(x.is_composite for x in t):
        raise Mismatch
    if all(x is Type.STRING for x in t):
        raise Mismatch("two texts have no arithmetic; cast one of them")
    return _of_numbers(kind, left, right, apply)


def _of_numbers(kind: type[exp.Expression], left: Typed, right: Typed, apply: Apply) -> Typed:
    types = [as_signed(value.type.type) for value in (left, right) if not value.is_null]
    if left.is_null and kind is exp.Div:
        left = coerced(left, Type.FLOAT64)
        types = [Type.FLOAT64]
    if any(t.kind is Kind.DECIMAL for t in types) and all(t.is_integer or t.kind is Kind.DECIMAL for t in types):
        return apply(kind, *_as_decimals(left, right))
    target = type_in_common([left, right])
    if target is None or not target.is_numeric:
        raise Mismatch
    if kind is exp.Div:
        target = Type.FLOAT64
    elif kind is exp.IntDiv:
        target = Type.INT64 if target.is_integer else _refuse_quotient()
    a, b = (_brought(value, target, apply) for value in (left, right))
    if not target.is_integer:
        return apply(kind, a, b)
    if kind is exp.IntDiv:
        return _whole_quotient(a, b, apply)
    return apply(_SAFE.get(kind, kind), a, b)


def _brought(value: Typed, target: Type, apply: Apply) -> Typed:
    """Return an operand in the type of an operation; a text that is no number is NULL where the operation is tried."""
    return (converted if apply is attempted and value.type.type is Type.STRING else coerced)(value, target)


def _refuse_quotient() -> Type:
    raise Mismatch("`div` takes integers and decimals")


def _as_decimals(left: Typed, right: Typed) -> list[Typed]:
    """Both as decimals: an integer literal with the digits that it has, NULL as the other is."""
    known = next(v.type.type for v in (left, right) if v.type.type.kind is Kind.DECIMAL)
    return [coerced(v, known if v.is_null else _decimal_of(v)) for v in (left, right)]


def _decimal_of(value: Typed) -> Type:
    if value.is_number:
        digits = [node.this for node in value.expression.find_all(exp.Literal)]
        return Type.decimal(len(digits[0]))
    return as_decimal(as_signed(value.type.type))


def _whole_quotient(a: Typed, b: Typed, apply: Apply) -> Typed:
    """Return the quotient of two BIGINTs without its fraction; the least one has no opposite."""
    if is_literal(b.expression) and not isinstance(b.expression, exp.Neg):
        return apply(exp.IntDiv, a, b)
    minus = applied(exp.EQ, b, constant(-1, Type.INT64))
    return case([(minus, apply(exp.SafeNegate, a))], apply(exp.IntDiv, a, b))


def case(branches: Sequence[tuple[Typed, Typed]], default: Typed | None) -> Typed:
    """CASE WHEN … THEN … ELSE … END of Boolean conditions and values of one type."""
    ifs = [exp.If(this=c.expression.copy(), true=v.expression.copy()) for c, v in branches]
    node = exp.Case(ifs=ifs, default=default and default.expression.copy())
    values = [*(value for _, value in branches), *([default] if default else [])]
    result = of_node(node, *(part for branch in branches for part in branch), *([default] if default else []))
    return replace(result, modifier=in_common(values))


# Times and intervals


def _of_times(kind: type[exp.Expression], left: Typed, right: Typed, apply: Apply) -> Typed:
    """Times moved by intervals or days, differences of times, and multiples of intervals."""
    if kind is exp.Add and (left.is_null or left.type.type not in _TIMES) and right.type.type in (*_TIMES, Type.STRING):
        left, right = right, left
    a, b = (None if v.is_null else v.type.type for v in (left, right))
    if a in INTERVALS and kind in (exp.Mul, exp.Div) and b not in _TIMES:
        return _multiple(kind, left, right, apply)
    if b in INTERVALS and kind is exp.Mul and a not in _TIMES:
        return _multiple(kind, right, left, apply)
    if kind is exp.IntDiv and a in INTERVALS and a is b:
        return apply(kind, *(_of_call("units_of_interval", span) for span in (left, right)))
    if kind not in (exp.Add, exp.Sub):
        raise Mismatch
    if a is Type.STRING and b is Type.DAY_TIME_INTERVAL:
        time = (converted if apply is attempted else coerced)(left, Type.TIMESTAMP)
        return coerced(apply(kind, time, right), Type.STRING)
    if a in INTERVALS or (a is None and b in INTERVALS):
        same = a or b
        if b not in (same, None) or same is None:
            raise Mismatch("years and months are one kind of interval, days to seconds another")
        return replace(apply(kind, coerced(left, same), coerced(right, same)), modifier=in_common([left, right]))
    if a in _TIMES and b is None and kind is exp.Add:
        return coerced(right, Type.TIMESTAMP if a is Type.DATE else a)
    if a is Type.DATE and b in (Type.INT8, Type.INT16, Type.INT32):
        return apply(kind, left, coerced(right, Type.INT32))
    if b in INTERVALS:
        return _moved(kind, left, right, apply)
    return _difference(kind, left, right)


def _moved(kind: type[exp.Expression], time: Typed, span: Typed, apply: Apply) -> Typed:
    """Return a time moved by an interval; a date stays one if days are all that the interval has."""
    if time.type.type is not Type.DATE or span.type.type is Type.YEAR_MONTH_INTERVAL:
        return apply(kind, time, span)
    if span.fields == ("DAY", "DAY"):
        days = applied(exp.IntDiv, _of_call("units_of_interval", span), constant(_DAY, Type.INT64))
        return apply(kind, time, coerced(folded(days), Type.INT32))
    return apply(kind, coerced(time, Type.TIMESTAMP), span)


def _difference(kind: type[exp.Expression], left: Typed, right: Typed) -> Typed:
    """Return the interval between two times."""
    target = type_in_common([left, right])
    if kind is not exp.Sub or target not in _TIMES:
        raise Mismatch("a DATE is moved by an INT of days, and every time by an INTERVAL")
    instants = Type.TIMESTAMP_NTZ if target is Type.TIMESTAMP_NTZ else Type.TIMESTAMP
    result = applied(exp.Sub, *(coerced(coerced(side, target), instants) for side in (left, right)))
    return replace(result, modifier=("DAY", "DAY" if target is Type.DATE else "SECOND"))


def _multiple(kind: type[exp.Expression], span: Typed, number: Typed, apply: Apply) -> Typed:
    """Return an interval times or by a number."""
    if number.is_null:
        number = coerced(number, Type.INT32)
    type_ = as_signed(number.type.type)
    if not (type_.is_numeric or type_ is Type.STRING):
        raise Mismatch("an interval is multiplied with a number, and divided by one")
    wide = as_decimal(type_) if type_.is_integer or type_.kind is Kind.DECIMAL else Type.FLOAT64
    name = "times" if kind is exp.Mul else "part_of"
    operands = [span, _brought(number, wide, apply)]
    made = _of_call(name, *operands)
    result = made if apply is attempted else defined(made, *operands)
    return replace(result, modifier=ALL_FIELDS[span.type.type])


def _of_clocks(kind: type[exp.Expression], left: Typed, right: Typed, apply: Apply) -> Typed:
    """Return a time of a day moved by an interval of days to seconds, or the interval between two."""
    if kind is exp.Add and right.type.type is Type.TIME:
        left, right = right, left
    types = left.type.type, right.type.type
    if kind is exp.Sub and types == (Type.TIME, Type.TIME):
        span = arithmetic(exp.Sub, micros_of(left), micros_of(right))
        return replace(_of_call("interval_of_microseconds", span), modifier=("HOUR", "SECOND"))
    if kind not in (exp.Add, exp.Sub) or types != (Type.TIME, Type.DAY_TIME_INTERVAL):
        raise Mismatch("a TIME is moved by an INTERVAL of hours to seconds")
    micros = arithmetic(kind, micros_of(left), folded(_of_call("units_of_interval", right)))
    moved = _of_call("clock_of_micros", micros)
    return moved if apply is attempted else defined(moved, micros)


def micros_of(clock: Typed) -> Typed:
    """Return the microseconds since midnight of a time of a day."""
    return folded(_of_call("unix_micros", _of_call("instant_of_clock", clock)))


def _of_call(name: str, *operands: Typed) -> Typed:
    return of_node(call(name, *(operand.expression for operand in operands)), *operands)


# Comparisons and logic


def comparison(kind: type[exp.Expression], left: Typed, right: Typed) -> Typed:
    """Two values brought to one type and compared."""
    target = type_in_common([left, right]) or _structure_of(left, right)
    ordered = kind not in (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
    if target is None or (target.is_composite and _has_texts_apart(open_type(left), open_type(right))):
        raise Mismatch(f"cast one of them: CAST(… AS {written(as_signed(left.type.type))})")
    if target.kind is Kind.MAP or (ordered and not target.is_ordered):
        raise Mismatch("maps have no order, and are not compared; compare map_entries of them")
    left, right = compared([left, right], target)
    kinds = {value.type.type.kind for value in (left, right) if not value.is_null}
    if kinds == {Kind.DECIMAL}:
        null = Type.decimal(1)
        return folded(applied(kind, *(coerced(v, null) if v.is_null else v for v in (left, right))))
    return folded(applied(kind, coerced(left, target), coerced(right, target)))


def _has_texts_apart(left: Type, right: Type) -> bool:
    """Return whether texts within one value would be compared with other values within the other."""
    if left.is_composite and left.kind is right.kind:
        return any(_has_texts_apart(a.type, b.type) for a, b in zip(left.parts, right.parts, strict=False))
    return mixes_texts([left, right])


def _structure_of(left: Typed, right: Typed) -> Type | None:
    """Return the left one's type, of two structs that differ only in field names."""
    (a, b) = (value.type.type for value in (left, right))
    if a.kind is not Kind.STRUCT or b.kind is not Kind.STRUCT:
        return None
    return a if [f.type for f in a.fields] == [f.type for f in b.fields] else None


def logic(kind: type[exp.Expression], operands: Sequence[Typed]) -> Typed:
    """AND, OR and NOT; operands that cannot fail come first."""
    if not all(can_coerce(o, Type.BOOLEAN) and o.type.type in (Type.BOOLEAN, Type.STRING) for o in operands):
        raise Mismatch("conditions are BOOLEAN; compare: x <> 0")
    booleans = [coerced(operand, Type.BOOLEAN) for operand in operands]
    if kind is exp.Not:
        return applied(kind, *booleans)
    return regrouped(kind, sorted(booleans, key=lambda operand: is_checked(operand.expression)))


def negated(value: Typed) -> Typed:
    """Return the number or interval with the other sign; NULL where it is undefined."""
    type_ = value.type.type
    if value.is_null:
        return coerced(value, Type.FLOAT64)
    if type_ is Type.STRING:
        return negated(coerced(value, Type.FLOAT64))
    if not (type_.is_numeric or type_ in INTERVALS):
        raise Mismatch
    signed = coerced(value, as_signed(type_))
    result = applied(exp.SafeNegate if signed.type.type.is_integer else exp.Neg, signed)
    return folded(replace(result, modifier=value.modifier))


def bitwise(kind: type[exp.Expression], left: Typed, right: Typed) -> Typed:
    """AND, OR and exclusive OR of the bits of integers, and shifts by a number that counts modulo their width."""
    if kind in (exp.BitwiseLeftShift, exp.BitwiseRightShift):
        target: Type | None = Type.INT64 if left.type.type is Type.INT64 else Type.INT32
        amount = coerced(right, Type.INT32)
        return applied(kind, coerced(left, target or Type.INT32), coerced(amount, target or Type.INT32))
    target = type_in_common([left, right])
    if target is None or not target.is_integer:
        raise Mismatch("only integers have bits")
    return applied(kind, coerced(left, target), coerced(right, target))


def joined(parts: Sequence[Typed]) -> Typed:
    """Texts or bytes one after the other, NULL where one is."""
    if any(part.type.type.is_composite for part in parts):
        raise Mismatch("arrays are joined by concat")
    if any(part.is_null for part in parts):
        return coerced(NULL, Type.STRING)
    are_bytes = all(part.type.type is Type.BINARY for part in parts)
    own = [part if are_bytes else coerced(part, Type.STRING) for part in parts]
    return folded(of_node(call("concat", *(part.expression for part in own)), *own))

"""Types from Arrow types.

``type_of_arrow(t.arrow) is t`` for every type. Arrow has further layouts of the same values (large and view lists and
strings, dictionaries, other units of time): they map to the type of their values, if one fits.
"""

from __future__ import annotations

import pyarrow as pa

from deltic.errors import UnsupportedError
from deltic.values.types.value import Column, Type, ValueType

_OF_SIMPLE = {type_.arrow: type_ for type_ in Type.simple()} | {
    pa.float16(): Type.FLOAT32,
    pa.large_string(): Type.STRING,
    pa.string_view(): Type.STRING,
    pa.large_binary(): Type.BINARY,
    pa.binary_view(): Type.BINARY,
    pa.date64(): Type.DATE,
}


def type_of_arrow(arrow: pa.DataType) -> Type:
    """Return the type for the values of an Arrow type; UnsupportedError when there is none."""
    if arrow in _OF_SIMPLE:
        return _OF_SIMPLE[arrow]
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return type_of_arrow(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return Type.TIMESTAMP if arrow.tz else Type.TIMESTAMP_NTZ
    if pa.types.is_time(arrow):
        return Type.TIME
    if pa.types.is_duration(arrow):
        return Type.DAY_TIME_INTERVAL
    if pa.types.is_fixed_size_binary(arrow):
        return Type.BINARY
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= 38:
        return Type.decimal(arrow.precision, arrow.scale)
    return _composite_of_arrow(arrow)


def _composite_of_arrow(arrow: pa.DataType) -> Type:
    if pa.types.is_map(arrow):
        return Type.map(type_of_arrow(arrow.key_type), _value_type(arrow.item_field))
    if pa.types.is_struct(arrow):
        return Type.struct(Column(field.name, type_of_arrow(field.type), field.nullable) for field in arrow.fields)
    if any(is_a(arrow) for is_a in _LISTS):
        return Type.array(_value_type(arrow.value_field))
    raise UnsupportedError(f"Arrow's type {arrow} is not supported; there is no type of the same values")


_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def _value_type(field: pa.Field) -> ValueType:
    return ValueType(type_of_arrow(field.type), field.nullable)

"""Types from and to Arrow.

``of_arrow(to_arrow(t)) is t`` for every type. Arrow has further layouts of the same values (large and view lists and
strings, dictionaries, other units of time): they are read as the types of their values, as far as those fit. Months
are Arrow's `month_day_nano_interval` without days and nanoseconds, the one interval of months that pyarrow can make.
"""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from deltic.errors import UnsupportedError
from deltic.values.types.schema import Column
from deltic.values.types.value import Kind, Type, ValueType
from deltic.without_pandas import postpone_pandas

postpone_pandas()

_SIMPLE = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.UINT8: pa.uint8(),
    Type.UINT16: pa.uint16(),
    Type.UINT32: pa.uint32(),
    Type.UINT64: pa.uint64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.STRING: pa.string(),
    Type.BINARY: pa.binary(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.TIMESTAMP_NTZ: pa.timestamp("us"),
    Type.YEAR_MONTH_INTERVAL: pa.month_day_nano_interval(),
    Type.DAY_TIME_INTERVAL: pa.duration("us"),
}
_OF_SIMPLE = {arrow: type_ for type_, arrow in _SIMPLE.items()} | {
    pa.float16(): Type.FLOAT32,
    pa.large_string(): Type.STRING,
    pa.string_view(): Type.STRING,
    pa.large_binary(): Type.BINARY,
    pa.binary_view(): Type.BINARY,
    pa.date64(): Type.DATE,
}


@cache
def to_arrow(type_: Type) -> pa.DataType:
    """The Arrow type of a column of this type."""
    match type_.kind:
        case Kind.DECIMAL:
            return pa.decimal128(type_.precision, type_.scale)
        case Kind.ARRAY:
            return pa.list_(_field("item", type_.element))
        case Kind.STRUCT:
            return pa.struct([_field(column.name, column.value_type) for column in type_.fields])
        case Kind.MAP:
            return pa.map_(pa.field("key", to_arrow(type_.key), nullable=False), _field("value", type_.value))
        case _:
            return _SIMPLE[type_]


def _field(name: str, value: ValueType) -> pa.Field:
    return pa.field(name, to_arrow(value.type), nullable=value.nullable)


def of_arrow(arrow: pa.DataType) -> Type:
    """The type whose values an Arrow type holds; UnsupportedError when there is none."""
    if arrow in _OF_SIMPLE:
        return _OF_SIMPLE[arrow]
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return of_arrow(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return Type.TIMESTAMP if arrow.tz else Type.TIMESTAMP_NTZ
    if pa.types.is_duration(arrow):
        return Type.DAY_TIME_INTERVAL
    if pa.types.is_fixed_size_binary(arrow):
        return Type.BINARY
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= 38:
        return Type.decimal(arrow.precision, arrow.scale)
    return _composite_of_arrow(arrow)


def _composite_of_arrow(arrow: pa.DataType) -> Type:
    if pa.types.is_map(arrow):
        return Type.map(of_arrow(arrow.key_type), _value_type(arrow.item_field))
    if pa.types.is_struct(arrow):
        return Type.struct(Column(field.name, of_arrow(field.type), field.nullable) for field in arrow.fields)
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
    return ValueType(of_arrow(field.type), field.nullable)

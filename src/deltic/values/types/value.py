"""The types of values: a kind with parameters, nullable or not."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

from deltic.lazy import pa
from deltic.values.words import word
from deltic.without_pandas import postpone_pandas

MAX_PRECISION = 38
"""The most digits of a decimal, as in Spark and in Arrow's 128 bits."""


class Kind(enum.Enum):
    """The family of a type; kinds with parameters come last."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    TIME = "time"
    YEAR_MONTH_INTERVAL = "year_month_interval"
    DAY_TIME_INTERVAL = "day_time_interval"
    DECIMAL = "decimal"
    ARRAY = "array"
    STRUCT = "struct"
    MAP = "map"


_SIGNED = {Kind.INT8: 8, Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}
_UNSIGNED = {Kind.UINT8: 8, Kind.UINT16: 16, Kind.UINT32: 32, Kind.UINT64: 64}
_INTEGERS = _SIGNED | _UNSIGNED
_FLOATS = {Kind.FLOAT32: 32, Kind.FLOAT64: 64}
_COMPOSITE = (Kind.ARRAY, Kind.STRUCT, Kind.MAP)


@dataclass(frozen=True, eq=False, repr=False)
class Type:
    """The type of a value that is not NULL. There is one object for each type, so types compare by `is`.

    A TIMESTAMP is an instant and a TIMESTAMP_NTZ a local date and time without zone, both in microseconds, as in Spark.
    A TIME is the microseconds since midnight, a YEAR_MONTH_INTERVAL a number of months, a DAY_TIME_INTERVAL one of
    microseconds. `parameters` are precision and scale of a decimal, the element's ValueType of an array, the Columns of
    a struct, and the key's Type and the value's ValueType of a map.

    >>> print(Type.decimal(10, 2), Type.array(Type.STRING.or_null), Type.map(Type.STRING, Type.DATE))
    decimal(10, 2) array(string?) map(string, date)
    """

    kind: Kind
    parameters: tuple[Any, ...] = ()

    _made: ClassVar[dict[tuple[Kind, tuple[Any, ...]], Type]] = {}

    BOOLEAN: ClassVar[Type]
    INT8: ClassVar[Type]
    INT16: ClassVar[Type]
    INT32: ClassVar[Type]
    INT64: ClassVar[Type]
    UINT8: ClassVar[Type]
    UINT16: ClassVar[Type]
    UINT32: ClassVar[Type]
    UINT64: ClassVar[Type]
    FLOAT32: ClassVar[Type]
    FLOAT64: ClassVar[Type]
    STRING: ClassVar[Type]
    BINARY: ClassVar[Type]
    DATE: ClassVar[Type]
    TIMESTAMP: ClassVar[Type]
    TIMESTAMP_NTZ: ClassVar[Type]
    TIME: ClassVar[Type]
    YEAR_MONTH_INTERVAL: ClassVar[Type]
    DAY_TIME_INTERVAL: ClassVar[Type]

    @classmethod
    def _of(cls, kind: Kind, parameters: tuple[Any, ...] = ()) -> Type:
        """Return the one object of this kind and these parameters."""
        return cls._made.setdefault((kind, parameters), cls(kind, parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        return Type._of, (self.kind, self.parameters)

    @classmethod
    def simple(cls) -> tuple[Type, ...]:
        """Return the types without parameters."""
        return tuple(type_ for type_ in cls._made.values() if not type_.parameters and type_.kind is not Kind.STRUCT)

    @classmethod
    def decimal(cls, precision: int, scale: int = 0) -> Type:
        """Decimals of `precision` digits, `scale` of them after the decimal point; ValueError beyond 38 digits."""
        if not 0 <= scale <= precision or not 1 <= precision <= MAX_PRECISION:
            raise ValueError(
                f"decimal({precision}, {scale}) has 1 to {MAX_PRECISION} digits, none to all of them after the point"
            )
        return cls._of(Kind.DECIMAL, (precision, scale))

    @classmethod
    def array(cls, element: Type | ValueType) -> Type:
        """Arrays of elements."""
        return cls._of(Kind.ARRAY, (_value_type(element),))

    @classmethod
    def struct(cls, fields: Iterable[Column]) -> Type:
        """Structs of fields; ValueError when two have one name."""
        columns = tuple(fields)
        if len({column.name for column in columns}) != len(columns):
            raise ValueError(f"a struct's fields have distinct names, found {', '.join(c.name for c in columns)}")
        return cls._of(Kind.STRUCT, columns)

    @classmethod
    def map(cls, key: Type, value: Type | ValueType) -> Type:
        """Finite maps, with at most one value for each key."""
        return cls._of(Kind.MAP, (key, _value_type(value)))

    @cached_property
    def arrow(self) -> pa.DataType:
        """The Arrow type of a column of this type; `deltic.values.types.arrow` converts back."""
        match self.kind:
            case Kind.DECIMAL:
                return pa.decimal128(self.precision, self.scale)
            case Kind.ARRAY:
                return pa.list_(_arrow_field("item", self.element))
            case Kind.STRUCT:
                return pa.struct([_arrow_field(column.name, column.value_type) for column in self.fields])
            case Kind.MAP:
                return pa.map_(pa.field("key", self.key.arrow, nullable=False), _arrow_field("value", self.value))
            case _:
                return _simple_arrow()[self.kind]

    @property
    def or_null(self) -> ValueType:
        """The nullable version of this type."""
        return ValueType(self, nullable=True)

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers, signed or not."""
        return self.kind in _INTEGERS

    @property
    def is_float(self) -> bool:
        """Whether the values are binary floating-point numbers."""
        return self.kind in _FLOATS

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined on this type."""
        return self.is_integer or self.is_float or self.kind is Kind.DECIMAL

    @property
    def is_composite(self) -> bool:
        """Whether the values are arrays, structs or maps."""
        return self.kind in _COMPOSITE

    @property
    def parts(self) -> tuple[ValueType, ...]:
        """The types within: an array's element, the fields of a struct, or the key and the value of a map."""
        match self.kind:
            case Kind.STRUCT:
                return tuple(column.value_type for column in self.fields)
            case Kind.MAP:
                return ValueType(self.key), self.value
        return (self.element,) if self.kind is Kind.ARRAY else ()

    def with_parts(self, parts: Iterable[ValueType]) -> Type:
        """Return the composite type of the same kind, with the same names of fields, and other types within."""
        match self.kind:
            case Kind.STRUCT:
                pairs = zip(self.fields, parts, strict=True)
                return Type.struct(Column(column.name, part.type, part.nullable) for column, part in pairs)
            case Kind.MAP:
                key, value = parts
                return Type.map(key.type, value)
        return Type.array(*parts)

    @property
    def is_ordered(self) -> bool:
        """Whether the values have an order; maps, and types that contain them, have none."""
        return self.kind is not Kind.MAP and all(part.type.is_ordered for part in self.parts)

    @property
    def signed(self) -> bool:
        """Whether the integers of this type may be negative."""
        return self.kind in _SIGNED

    @property
    def bits(self) -> int:
        """The width of an integer or a float; KeyError for other types."""
        return (_INTEGERS | _FLOATS)[self.kind]

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest integer of an integer type; KeyError for other types."""
        bits = _INTEGERS[self.kind]
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)

    @property
    def precision(self) -> int:
        """The number of digits of a decimal."""
        return int(self.parameters[0])

    @property
    def scale(self) -> int:
        """The number of digits of a decimal after the decimal point."""
        return int(self.parameters[1])

    @property
    def element(self) -> ValueType:
        """The element type of an array."""
        element: ValueType = self.parameters[0]
        return element

    @property
    def fields(self) -> tuple[Column, ...]:
        """The fields of a struct."""
        return self.parameters

    @property
    def key(self) -> Type:
        """The key type of a map."""
        key: Type = self.parameters[0]
        return key

    @property
    def value(self) -> ValueType:
        """The value type of a map."""
        value: ValueType = self.parameters[1]
        return value

    def __str__(self) -> str:
        if self.kind is Kind.STRUCT:
            return "struct{" + ", ".join(map(str, self.parameters)) + "}"
        parameters = f"({', '.join(map(str, self.parameters))})" if self.parameters else ""
        return f"{self.kind.value}{parameters}"

    def __repr__(self) -> str:
        return f"<Type {self}>"


@dataclass(frozen=True)
class ValueType:
    """A type and whether the value may be NULL; as text `int64?`."""

    type: Type
    nullable: bool = False

    def __str__(self) -> str:
        return f"{self.type}{'?' if self.nullable else ''}"


@dataclass(frozen=True)
class Column:
    """A named, typed column of a schema, or field of a struct."""

    name: str
    type: Type
    nullable: bool = False

    @property
    def value_type(self) -> ValueType:
        """The type and nullability of its values."""
        return ValueType(self.type, self.nullable)

    def __str__(self) -> str:
        return f"{word(self.name)}: {self.value_type}"


def _arrow_field(name: str, value: ValueType) -> pa.Field:
    return pa.field(name, value.type.arrow, nullable=value.nullable)


@cache
def _simple_arrow() -> dict[Kind, pa.DataType]:
    """Return the Arrow types of the kinds without parameters.

    Months are `month_day_nano_interval` without days and nanoseconds, the only interval of months that pyarrow can
    make.
    """
    postpone_pandas()
    return {
        Kind.BOOLEAN: pa.bool_(),
        Kind.INT8: pa.int8(),
        Kind.INT16: pa.int16(),
        Kind.INT32: pa.int32(),
        Kind.INT64: pa.int64(),
        Kind.UINT8: pa.uint8(),
        Kind.UINT16: pa.uint16(),
        Kind.UINT32: pa.uint32(),
        Kind.UINT64: pa.uint64(),
        Kind.FLOAT32: pa.float32(),
        Kind.FLOAT64: pa.float64(),
        Kind.STRING: pa.string(),
        Kind.BINARY: pa.binary(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
        Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
        Kind.TIME: pa.time64("us"),
        Kind.YEAR_MONTH_INTERVAL: pa.month_day_nano_interval(),
        Kind.DAY_TIME_INTERVAL: pa.duration("us"),
    }


def _value_type(type_: Type | ValueType) -> ValueType:
    return type_ if isinstance(type_, ValueType) else ValueType(type_)


for _kind in Kind:
    if _kind is not Kind.DECIMAL and _kind not in _COMPOSITE:
        setattr(Type, _kind.name, Type._of(_kind))

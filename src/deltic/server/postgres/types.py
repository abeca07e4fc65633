"""The types of PostgreSQL that stand for those of columns, and for those of parameters."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deltic.values.types import Kind, Schema, Type

BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID = 16, 17, 20, 21, 23, 25, 26
JSON, FLOAT4, FLOAT8, UNKNOWN, VARCHAR = 114, 700, 701, 705, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID, JSONB = 1082, 1083, 1114, 1184, 1186, 1700, 2950, 3802


@dataclass(frozen=True)
class PostgresType:
    """A type: its oid, its name in pg_type, the oid of arrays of it, and its length in bytes, -1 where that varies.

    `written` is its name in SQL, where that is another one. `kinds` are those of the columns that have the type, and
    `sample` is a value of it.
    """

    oid: int
    name: str
    array: int
    size: int
    category: str
    written: str = ""
    kinds: tuple[Kind, ...] = ()
    sample: Any = ""


_INTERVALS = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)
_MIDNIGHT, _ZONE = dt.datetime(2000, 1, 1), " time zone"
_IN_UTC = _MIDNIGHT.replace(tzinfo=dt.UTC)
TYPES = (
    PostgresType(BOOL, "bool", 1000, 1, "B", "boolean", (Kind.BOOLEAN,), False),
    PostgresType(BYTEA, "bytea", 1001, -1, "U", "", (Kind.BINARY,), b""),
    PostgresType(18, "char", 1002, 1, "Z", '"char"'),
    PostgresType(19, "name", 1003, 64, "S"),
    PostgresType(INT8, "int8", 1016, 8, "N", "bigint", (Kind.INT64, Kind.UINT32), 1 << 40),
    PostgresType(INT2, "int2", 1005, 2, "N", "smallint", (Kind.INT8, Kind.INT16, Kind.UINT8), 0),
    PostgresType(INT4, "int4", 1007, 4, "N", "integer", (Kind.INT32, Kind.UINT16), 0),
    PostgresType(TEXT, "text", 1009, -1, "S", "", (Kind.STRING,)),
    PostgresType(OID, "oid", 1028, 4, "N", sample=1 << 31),
    PostgresType(JSON, "json", 199, -1, "U", "", (Kind.STRUCT, Kind.MAP)),
    PostgresType(FLOAT4, "float4", 1021, 4, "N", "real", (Kind.FLOAT32,), 0.0),
    PostgresType(FLOAT8, "float8", 1022, 8, "N", "double precision", (Kind.FLOAT64,), 0.0),
    PostgresType(UNKNOWN, "unknown", 0, -2, "X"),
    PostgresType(1042, "bpchar", 1014, -1, "S", "character"),
    PostgresType(VARCHAR, "varchar", 1015, -1, "S", "character varying"),
    PostgresType(DATE, "date", 1182, 4, "D", "", (Kind.DATE,), _MIDNIGHT.date()),
    PostgresType(TIME, "time", 1183, 8, "D", "time without time zone", (Kind.TIME,)),
    PostgresType(TIMESTAMP, "timestamp", 1115, 8, "D", f"timestamp without{_ZONE}", (Kind.TIMESTAMP_NTZ,), _MIDNIGHT),
    PostgresType(TIMESTAMPTZ, "timestamptz", 1185, 8, "D", f"timestamp with{_ZONE}", (Kind.TIMESTAMP,), _IN_UTC),
    PostgresType(INTERVAL, "interval", 1187, 16, "T", "", _INTERVALS, dt.timedelta()),
    PostgresType(NUMERIC, "numeric", 1231, -1, "N", "", (Kind.UINT64, Kind.DECIMAL), Decimal("0.5")),
    PostgresType(UUID, "uuid", 2951, 16, "U"),
    PostgresType(JSONB, "jsonb", 3807, -1, "U"),
    PostgresType(2205, "regclass", 2210, 4, "N"),
)
BY_OID = {type_.oid: type_ for type_ in TYPES}
BY_NAME = {type_.name: type_ for type_ in TYPES}
ELEMENTS = {type_.array: type_ for type_ in TYPES if type_.array}

_OF_KIND = {kind: type_.oid for type_ in TYPES for kind in type_.kinds}


@dataclass(frozen=True)
class Field:
    """A column of a result: its name, the oid of its type and the type's modifier, -1 where it has none."""

    name: str
    oid: int
    modifier: int = -1

    @classmethod
    def of(cls, name: str, type_: Type) -> Field:
        """Return a column of that type."""
        return cls(name, oid_of(type_), _modifier_of(type_))

    @property
    def size(self) -> int:
        """The length of its values in bytes, -1 where that varies."""
        return BY_OID[self.oid].size if self.oid in BY_OID else -1


def oid_of(type_: Type) -> int:
    """Return the oid of a column's type; arrays of arrays, structs and maps are JSON."""
    if type_.kind is not Kind.ARRAY:
        return _OF_KIND[type_.kind]
    (element,) = type_.parameters
    is_simple = element.type.kind not in (Kind.ARRAY, Kind.STRUCT, Kind.MAP, Kind.YEAR_MONTH_INTERVAL)
    return BY_OID[_OF_KIND[element.type.kind]].array if is_simple else JSON


def _modifier_of(type_: Type) -> int:
    """Return what PostgreSQL keeps of a decimal's precision and scale."""
    if type_.kind is not Kind.DECIMAL:
        return -1
    precision, scale = type_.parameters
    return (int(precision) << 16 | int(scale)) + 4


def fields_of(schema: Schema) -> list[Field]:
    """Return the columns of rows."""
    return [Field.of(column.name, column.type) for column in schema]


def samples(oids: Sequence[int]) -> list[Any]:
    """Values of types: what a statement is planned with before its parameters have values."""
    return [[ELEMENTS[oid].sample] if oid in ELEMENTS else BY_OID[oid].sample if oid in BY_OID else "" for oid in oids]

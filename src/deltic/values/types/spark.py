"""Types from and to Spark types.

``type_of_spark(spark_type(t)) is t`` for every type that Spark has. It has no unsigned integers: they become the next
wider type, as when Spark reads Parquet (`smallint`, `int`, `bigint`, `decimal(20,0)`), and values that are read back
have that wider type until they are written to a column that is declared unsigned. Spark's texts of limited length map
to STRING, its intervals of other fields to the interval types of years to months or of days to seconds.
"""

from __future__ import annotations

from pyspark.sql import types as spark

from deltic.errors import UnsupportedError
from deltic.values.types.value import Column, Kind, Type, ValueType

_SIMPLE: dict[Type, spark.DataType] = {
    Type.BOOLEAN: spark.BooleanType(),
    Type.INT8: spark.ByteType(),
    Type.INT16: spark.ShortType(),
    Type.INT32: spark.IntegerType(),
    Type.INT64: spark.LongType(),
    Type.FLOAT32: spark.FloatType(),
    Type.FLOAT64: spark.DoubleType(),
    Type.STRING: spark.StringType(),
    Type.BINARY: spark.BinaryType(),
    Type.DATE: spark.DateType(),
    Type.TIMESTAMP: spark.TimestampType(),
    Type.TIMESTAMP_NTZ: spark.TimestampNTZType(),
    Type.YEAR_MONTH_INTERVAL: spark.YearMonthIntervalType(),
    Type.DAY_TIME_INTERVAL: spark.DayTimeIntervalType(),
    **({Type.TIME: spark.TimeType()} if hasattr(spark, "TimeType") else {}),  # from 4.1 on
}
_UNSIGNED: dict[Type, spark.DataType] = {
    Type.UINT8: spark.ShortType(),
    Type.UINT16: spark.IntegerType(),
    Type.UINT32: spark.LongType(),
    Type.UINT64: spark.DecimalType(20, 0),
}
_OF_SIMPLE = {type(found): type_ for type_, found in _SIMPLE.items()} | {
    spark.CharType: Type.STRING,
    spark.VarcharType: Type.STRING,
}


def spark_type(type_: Type) -> spark.DataType:
    """Return the Spark type of a column of this type."""
    match type_.kind:
        case Kind.DECIMAL:
            return spark.DecimalType(type_.precision, type_.scale)
        case Kind.ARRAY:
            return spark.ArrayType(spark_type(type_.element.type), type_.element.nullable)
        case Kind.STRUCT:
            return spark.StructType([spark.StructField(c.name, spark_type(c.type), c.nullable) for c in type_.fields])
        case Kind.MAP:
            return spark.MapType(spark_type(type_.key), spark_type(type_.value.type), type_.value.nullable)
        case _:
            return (_SIMPLE | _UNSIGNED)[type_]


def type_of_spark(found: spark.DataType) -> Type:
    """Return the type for the values of a Spark type; UnsupportedError when there is none."""
    match found:
        case spark.DecimalType():
            return Type.decimal(found.precision, found.scale)
        case spark.ArrayType():
            return Type.array(ValueType(type_of_spark(found.elementType), found.containsNull))
        case spark.StructType():
            return Type.struct(Column(f.name, type_of_spark(f.dataType), f.nullable) for f in found.fields)
        case spark.MapType():
            value = ValueType(type_of_spark(found.valueType), found.valueContainsNull)
            return Type.map(type_of_spark(found.keyType), value)
    if type(found) not in _OF_SIMPLE:
        raise UnsupportedError(f"Spark's type {found.simpleString()} is not supported; cast it in the DataFrame first")
    return _OF_SIMPLE[type(found)]

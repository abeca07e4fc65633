"""Literals and types of Spark Connect as texts of SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

from deltic.pipeline.spark.plan_errors import PlanErrors

_EPOCH = datetime(1970, 1, 1)


def written_literal(literal: Any, errors: PlanErrors) -> str:
    """Return a literal. Raises CatalogError for one of a kind that it does not know."""
    kind = literal.WhichOneof("literal_type")
    if kind == "array":
        return f"array({', '.join(written_literal(each, errors) for each in literal.array.elements)})"
    write = _KINDS.get(kind)
    if write is None:
        raise errors.unsupported(f"a literal of the kind {kind}")
    return write(getattr(literal, kind))


def written_text(text: str) -> str:
    """Return a text as a literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def type_name(type_: Any) -> str:
    """Return the name of a type."""
    from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

    return str(proto_schema_to_pyspark_data_type(type_).simpleString())


def _null(type_: Any) -> str:
    name = type_name(type_)
    return "NULL" if name == "void" else f"CAST(NULL AS {name})"


def _double(value: float) -> str:
    return f"{value!r}D" if isfinite(value) else f"CAST('{value}' AS DOUBLE)"


def _decimal(decimal: Any) -> str:
    """Return a decimal as the server reads it: of at least the digits that the client names."""
    _, digits, exponent = Decimal(decimal.value).as_tuple()
    scale = max(-int(exponent), decimal.scale, 0)
    precision = max(len(digits) + max(int(exponent), 0), decimal.precision, scale)
    return f"CAST('{decimal.value}' AS DECIMAL({precision}, {scale}))"


def _moment(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ")


_KINDS: Mapping[str | None, Callable[[Any], str]] = {
    "null": _null,
    "binary": lambda value: f"X'{value.hex()}'",
    "boolean": lambda value: str(value).upper(),
    "byte": lambda value: f"CAST({value} AS TINYINT)",
    "short": lambda value: f"CAST({value} AS SMALLINT)",
    "integer": lambda value: f"({value})" if value < 0 else str(value),
    "long": lambda value: f"CAST({value} AS BIGINT)",
    "float": lambda value: f"CAST('{value}' AS FLOAT)",
    "double": _double,
    "decimal": _decimal,
    "string": written_text,
    "date": lambda days: f"DATE '{date(1970, 1, 1) + timedelta(days)}'",
    "timestamp": lambda micros: f"TIMESTAMP '{_moment(micros)} UTC'",
    "timestamp_ntz": lambda micros: f"TIMESTAMP_NTZ '{_moment(micros)}'",
    "day_time_interval": lambda micros: f"make_dt_interval(0, 0, 0, CAST({micros} AS DECIMAL(20)) / 1000000)",
}

"""Missing values in plans of Spark Connect: rows that have some are dropped, or others stand for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.pipeline.spark.connect_literals import written_literal
from deltic.pipeline.spark.connect_rows import PlanColumn, PlanRows
from deltic.pipeline.spark.plan_errors import PlanErrors

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_FLOATS = ("float", "double")


def drop_na(drop: Any, rows: PlanRows, types: Sequence[str]) -> PlanRows:
    """Return the rows with enough values in some columns."""
    names = {name.lower() for name in drop.cols}
    columns = zip(rows.columns, types, strict=True)
    typed = [(column, type_) for column, type_ in columns if not names or column.name.lower() in names]
    least = drop.min_non_nulls if drop.HasField("min_non_nulls") else len(typed)
    present = " + ".join(f"CASE WHEN {_missing(c.number, t)} THEN 0 ELSE 1 END" for c, t in typed)
    return rows.within(f"SELECT * FROM ({rows.query}) WHERE {present} >= {least}")


def fill_na(
    fill: Any, rows: PlanRows, types: Sequence[str], new_column: Callable[[str], PlanColumn], errors: PlanErrors
) -> PlanRows:
    """Return the rows with values for missing ones: one for all columns that it fits, or one for each named column."""
    columns, texts = list[PlanColumn](), list[str]()
    for column, type_ in zip(rows.columns, types, strict=True):
        value = _value_for(fill, column, type_)
        columns.append(column if value is None else new_column(column.name))
        if value is None:
            texts.append(column.number)
            continue
        cast = f"CAST({written_literal(value, errors)} AS {type_})"
        filled = f"CASE WHEN {_missing(column.number, type_)} THEN {cast} ELSE {column.number} END"
        texts.append(f"{filled} AS {columns[-1].number}")
    return PlanRows(f"SELECT {', '.join(texts)} FROM ({rows.query})", tuple(columns), plans=rows.plans)


def _value_for(fill: Any, column: PlanColumn, type_: str) -> Any:
    """Return the literal for a column; None if it stays as it is."""
    names = [name.lower() for name in fill.cols]
    if names and column.name.lower() not in names:
        return None
    if len(fill.values) > 1:
        return fill.values[names.index(column.name.lower())]
    return fill.values[0] if _fits(fill.values[0], type_) else None


def _missing(column: str, type_: str) -> str:
    """Return whether a value is NULL or NaN."""
    return f"{column} IS NULL{f' OR isnan({column})' if type_ in _FLOATS else ''}"


def _fits(literal: Any, type_: str) -> bool:
    """Return whether `fillna` puts a value into columns of a type."""
    kind = literal.WhichOneof("literal_type")
    return type_.startswith({"boolean": ("boolean",), "string": ("string",)}.get(kind, NUMBERS))

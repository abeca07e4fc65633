"""Calls of functions over rows as Deltic computes them, as a view of a table and for single values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import sqlglot

import deltic
from deltic.circuit.expressions import column
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import EvaluationError
from deltic.sql.dialect import Deltic
from deltic.sql.scalars import Typed, typed
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values import from_arrow
from deltic.values.types import Kind, Type, ValueType
from tests.sql.scalars.ask_spark import plain
from tests.sql.scalars.calls import COLUMNS, columns_of

UNDEFINED = {"error": ""}


def spelled(type_: Type) -> str:
    """A type as PySpark writes it."""
    return written(type_).lower().replace(", ", ",").replace(": ", ":")


def spelled_by_spark(type_: str) -> str:
    """A type as PySpark writes it, whose intervals have fields of their own."""
    return re.sub("interval day( to [a-z]+)?", "interval day to second", type_)


def as_view(call: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """The type of a call, and its values for rows as a view has them that come in one change, or are rejected alone."""
    declared = "".join(f", {name} {written(COLUMNS[name][0])}" for name in columns_of(call))
    pipeline = deltic.Pipeline()
    pipeline.sql(f"CREATE TABLE t (place INT{declared}); CREATE VIEW answers AS SELECT place, {call} AS r FROM t")
    rejected: set[int] = set()

    def insert(numbered: Sequence[tuple[Any, ...]]) -> None:
        try:
            with pipeline.transaction() as change:
                change.insert("t", numbered)
        except EvaluationError:
            if len(numbered) == 1:
                rejected.add(numbered[0][0])
                return
            half = len(numbered) // 2
            insert(numbered[:half])
            insert(numbered[half:])

    insert([(i, *row) for i, row in enumerate(rows)])
    type_ = pipeline.views["answers"].value_types["r"].type
    answers = pipeline["answers"].to_arrow().sort_by("place")
    values = iter(from_arrow(answers.column("r"), type_))
    return spelled(type_), [UNDEFINED if i in rejected else shown(next(values), type_) for i in range(len(rows))]


def one_by_one(call: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The values of a call for rows, each computed alone."""
    names = columns_of(call)
    found = translated(call)
    types = {name: COLUMNS[name][0] for name in names}
    return [_value(found, dict(zip(names, row, strict=True)), types) for row in rows]


def translated(call: str) -> Typed:
    """A call as an expression of circuits."""
    text = f"SELECT {call}"
    tree = sqlglot.parse_one(text, dialect=Deltic).expressions[0]
    return typed(tree, lambda c: Typed(column(c.name), ValueType(COLUMNS[c.name][0], True)), SourceText(text))


def _value(found: Typed, row: dict[str, Any], types: dict[str, Type]) -> Any:
    try:
        return shown(evaluate(found.expression, row, types), found.type.type)
    except EvaluationError:
        return UNDEFINED


def shown(value: Any, type_: Type) -> Any:
    """A value of a row as `plain` has Spark's, the entries of maps by their keys."""
    if value is None:
        return None
    match type_.kind:
        case Kind.ARRAY:
            return [shown(part, type_.element.type) for part in value]
        case Kind.STRUCT:
            return [shown(part, c.type) for c, part in zip(type_.fields, value, strict=True)]
        case Kind.MAP:
            return sorted([shown(key, type_.key), shown(part, type_.value.type)] for key, part in value)
    return plain(value)


def agree(one: Any, other: Any) -> bool:
    """Whether two values are equal as `plain` has them, floats but for their last bit, which may be another in Java."""
    if one == other:
        return True
    if isinstance(one, dict) or isinstance(other, dict):
        return isinstance(one, dict) and isinstance(other, dict)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(agree, one, other))
    if not (isinstance(one, str) and isinstance(other, str) and _FLOAT.fullmatch(one) and _FLOAT.fullmatch(other)):
        return False
    return math.isclose(float(one), float(other), rel_tol=4e-16)


_FLOAT = re.compile(r"-?[0-9]+[.][0-9]+(e[+-][0-9]+)?")

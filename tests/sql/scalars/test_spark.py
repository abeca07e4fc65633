"""Expressions of SQL against what Spark made of them, see ask_spark.py: types, values, errors.

Catches a type, a coercion, a rounding, a NULL or an error that is not Spark's, and what is refused unawares.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import sqlglot

from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import DelticError
from deltic.sql.dialect import Deltic
from deltic.sql.scalars import typed
from deltic.sql.text import SourceText
from deltic.sql.types import written
from deltic.values.types import Kind, Type
from tests.sql.scalars.ask_spark import HERE, answers, in_order_of_keys

ANSWERS = {e: (t, v) for e, t, v in map(json.loads, (HERE / "spark.jsonl").read_text().splitlines())}
# Refused by name, or with a message that says what to do; docs/sql-functions.md says so too.
REFUSED = {
    "get_json_object('[1,2]', '$[-1]')",
    """from_json('{"a":1}', 'a INT', map('noSuchOption', 'true'))""",
    *(e for e in ANSWERS if e.startswith("get_json_object") and e.endswith(("'$.')", "'$.*')"))),
    *("transform(array(1, 2), x -> null)", "transform(array(1, 2), 3)"),
}
# NULL of no type is BOOLEAN, Spark refuses the last three.
OTHERWISE = {
    "array_max(array())": ("boolean", "None"),
    "array_max(NULL)": ("boolean", "None"),
    "array_min(NULL)": ("boolean", "None"),
    "sort_array(NULL)": ("array<boolean>", "None"),
    "array_distinct(NULL)": ("array<boolean>", "None"),
    "array_compact(NULL)": ("array<boolean>", "None"),
    "map_keys(NULL)": ("array<boolean>", "None"),
    "map_values(NULL)": ("array<boolean>", "None"),
    "slice(NULL, 1, 1)": ("array<boolean>", "None"),
    "arrays_zip(NULL, array(1))": ("array<struct<0:boolean,1:int>>", "None"),
    "map_entries(NULL)": ("array<struct<key:boolean,value:boolean>>", "None"),
    """from_json('{"a":{"k":1,"l":2}}', 'a MAP<STRING, INT>')""": (
        "struct<a:map<string,int>>",
        "Row(a={'k': 1, 'l': 2})",
    ),
    "assert_true(true)": ("boolean", "None"),
    "array()": ("array<boolean>", "[]"),
    "map()": ("map<boolean,boolean>", "{}"),
    "array(array())": ("array<array<boolean>>", "[[]]"),
    "nullif(array(), array())": ("array<boolean>", "None"),
    "named_struct('a', null)": ("struct<a:boolean>", "Row(a=None)"),
    "named_struct('a', null).a": ("boolean", "None"),
}


class Row(tuple):  # as PySpark shows a struct
    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self)})"


def shown(value: Any, type_: Type) -> Any:
    """A value of a row as PySpark has it."""
    if value is None:
        return None
    match type_.kind:
        case Kind.ARRAY:
            return [shown(item, type_.element.type) for item in value]
        case Kind.MAP:
            return in_order_of_keys({shown(k, type_.key): shown(v, type_.value.type) for k, v in value})
        case Kind.STRUCT:
            return Row((c.name, shown(v, c.type)) for c, v in zip(type_.fields, value, strict=True))
        case Kind.TIMESTAMP:
            return value.replace(tzinfo=None)
    return value


def ours(expression: str) -> tuple[str, Any]:
    """The type and the value here."""
    text = f"SELECT {expression}"
    found = typed(sqlglot.parse_one(text, dialect=Deltic).expressions[0], None, SourceText(text))
    if found.is_null:
        return "void", None
    type_ = found.type.type
    name = written(type_).lower().replace(", ", ",").replace(": ", ":")
    return name, shown(evaluate(found.expression, {}, {}), type_)


@pytest.mark.parametrize("expression", ANSWERS)
def test_an_expression_is_what_it_is_in_spark(expression: str) -> None:
    type_, value = OTHERWISE.get(expression) or ANSWERS[expression]
    if expression in REFUSED or type_ == "ERR":
        with pytest.raises((DelticError, sqlglot.errors.ParseError)):
            ours(expression)
        return
    found, actual = ours(expression)
    assert found == ("interval day to second" if type_.startswith("interval") else re.sub(" collate \\w+", "", type_))
    if type_ == "double" and isinstance(actual, float) and math.isfinite(actual):
        assert actual == pytest.approx(float(value), rel=4e-16)  # Java's last bit may be another one
    else:
        assert repr(actual) == value


@pytest.mark.spark
@pytest.mark.slow
def test_the_answers_are_sparks(spark) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        known = {e: (t, v) for e, t, v in answers(spark)}
    finally:
        spark.conf.unset("spark.sql.timeType.enabled")
    assert {e: known.get(e) for e in ANSWERS} == ANSWERS

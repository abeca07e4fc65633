"""Expressions of SQL against what Spark made of them, see ask_spark.py: types, values, errors.

Catches a type, a coercion, a rounding, a NULL or an error that is not Spark's, and what is refused unawares.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import sqlglot

from deltic.circuit.oracle.evaluate import evaluate
from deltic.circuit.types import Kind, Type
from deltic.errors import DelticError
from deltic.sql.dialect import Deltic
from deltic.sql.scalars import typed
from deltic.sql.text import SourceText
from deltic.sql.types import written
from tests.sql.scalars.ask_spark import HERE, answers

ANSWERS = {e: (t, v) for e, t, v in map(json.loads, (HERE / "spark.jsonl").read_text().splitlines())}
# Refused by name, or with a message that says what to do; docs/sql-functions.md says so too.
REFUSED = {
    *("interval 1 day * 2", "interval 1 day * 2.5", "split('a,b,c', ',', 2)", "regexp_instr('a1b22', '\\\\d+')"),
    *("conv('100', 2, 10)", "format_string('%.2f', 1.5D)", "format_number(12332.123456, 4)", "format_number(12345, 0)"),
    *("soundex('Miller')", "ceil(double('NaN'))", "round(125.315, -2)", "bround(2.5)", "bround(25, -1)"),
    *("shiftrightunsigned(-8, 1)", "shiftrightunsigned(-8L, 1)", "width_bucket(5.3, 0.2, 10.6, 5)"),
    *("extract(days from interval 5 days 3 hours)", "extract(month from interval '1-5' year to month)"),
    *("date_trunc('foo', timestamp '2020-02-29 10:11:12')", "trunc(date '2020-02-29', 'day')"),
    *("make_dt_interval(1, 2, 3, 4.5)", "make_ym_interval(1, 2)", "array()", "array_max(array())", "map()"),
    *("array_insert(array(1, 2), 1, 5)", "sequence(date '2020-01-01', date '2020-01-03')"),
    *("array(named_struct('a', 1), named_struct('a', null)).a", "str_to_map('a:1,b:2')", "assert_true(true)"),
    *("hash(1)", "xxhash64(1)", "parse_url('http://a.b/c?d=1', 'HOST')", "get_json_object('[1,2]', '$[-1]')"),
    *("luhn_check('79927398713')", "is_valid_utf8('a')", "mask('AbCD123')", "url_encode('a b')", "quote('a')"),
    *(e for e in ANSWERS if e.startswith("get_json_object") and e.endswith((", 'a')", "'$.')", "'$.*')"))),
    *(e for e in ANSWERS if e.startswith(("to_json(", "from_json(", "schema_of_json("))),
    *("transform(array(1, 2), x -> null)", "transform(array(1, 2), 3)", "array_sort(array(3, 1, 2), (l, r) -> r - l)"),
}
# NULL of no type is BOOLEAN, intervals of days have no fields of their own; Spark refuses the last three.
OTHERWISE = {
    "greatest(null, null)": ("boolean", "None"),
    "typeof(interval 1 day)": ("string", "'interval day to second'"),
    "charindex('b', 'abcb')": ("int", "2"),
    "case when null then 1 else 2 end": ("int", "2"),
}
DAYS = ("interval day", "interval day to hour")


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
            return {shown(k, type_.key): shown(v, type_.value.type) for k, v in value}
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
    assert found == ("interval day to second" if type_ in DAYS else type_)
    if type_ == "double" and isinstance(actual, float) and math.isfinite(actual):
        assert actual == pytest.approx(float(value), rel=4e-16)  # Java's last bit may be another one
    else:
        assert repr(actual) == value


@pytest.mark.spark
@pytest.mark.slow
def test_the_answers_are_sparks(spark) -> None:
    known = {e: (t, v) for e, t, v in answers(spark)}
    assert {e: known.get(e) for e in ANSWERS} == ANSWERS

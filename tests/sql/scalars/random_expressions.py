"""Random expressions of SQL of every type, well typed, as Spark writes them; some that DuckDB means alike."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from deltic.values.types import Type

COLUMNS: Mapping[str, tuple[Type, Sequence[Any]]] = {
    "i": (Type.INT32, (0, 1, -1, 7, 100, -40)),
    "j": (Type.INT32, (0, 2, -3, 12, 5, 1)),
    "l": (Type.INT64, (0, 1, -9, 10**10, 3, -(10**6))),
    "d": (Type.FLOAT64, (0.0, -1.5, 3.25, 1e6, 0.125, -0.5)),
    "p": (Type.decimal(10, 2), tuple(map(Decimal, ("0.00", "1.55", "-99.99", "2.50", "100.00", "0.01")))),
    "q": (Type.decimal(6, 3), tuple(map(Decimal, ("0.000", "1.555", "-9.125", "12.500", "0.001", "3.000")))),
    "s": (Type.STRING, ("", "a", "abc", "Hello", "12", "x-y")),
    "t": (Type.STRING, ("b", "l", " pad ", "7", "ABC", "-")),
    "b": (Type.BOOLEAN, (True, False)),
    "c": (Type.BOOLEAN, (True, False)),
    "x": (Type.DATE, (date(2020, 1, 31), date(2020, 2, 29), date(1969, 12, 31), date(2024, 7, 4))),
    "y": (Type.DATE, (date(2020, 3, 1), date(2019, 2, 28), date(2000, 1, 1))),
    "z": (Type.TIMESTAMP, tuple(datetime(2020, 2, d, h, 11, 12, 500000, UTC) for d, h in ((1, 0), (29, 23), (15, 12)))),
}
OF_TYPE = {
    "int": ("i", "j"),
    "bigint": ("l",),
    "double": ("d",),
    "decimal": ("p", "q"),
    "string": ("s", "t"),
    "boolean": ("b", "c"),
    "date": ("x", "y"),
    "timestamp": ("z",),
}
LITERALS = {
    "int": ("1", "0", "-7", "13", "NULL"),
    "bigint": ("5L", "-2L", "0L"),
    "double": ("0.5D", "2D", "-1e2"),
    "decimal": ("1.5", "0.25", "-3.00"),
    "string": ("'ab'", "''", "'-'", "'l'"),
    "boolean": ("TRUE", "FALSE", "NULL"),
    "date": ("DATE '2021-03-04'", "DATE '1999-12-31'"),
    "timestamp": ("TIMESTAMP '2021-03-04 05:06:07'",),
}
# For each type its forms; what stands in braces is an expression of the type that it names.
SHARED: Mapping[str, Sequence[str]] = {
    "int": (
        "({int} + {int})",
        "({int} - {int})",
        "-({int})",
        "abs({int})",
        "length({string})",
        "year({date})",
        "month({date})",
        "day({date})",
        "hour({timestamp})",
        "datediff({date}, {date})",
        "greatest({int}, {int}, {int})",
        "least({int}, {int})",
        "nullif({int}, {int})",
        "CASE {int} WHEN 1 THEN {int} WHEN {int} THEN 2 ELSE {int} END",
        "instr({string}, {string})",
    ),
    "bigint": ("({bigint} + {int})", "({bigint} - {bigint})", "CAST({int} AS BIGINT)", "coalesce({bigint}, {int})"),
    "double": (
        "({double} + {double})",
        "({double} * {double})",
        "({double} - {int})",
        "CAST({int} AS DOUBLE)",
        "abs({double})",
    ),
    "decimal": (
        "({decimal} + {decimal})",
        "({decimal} - {decimal})",
        "abs({decimal})",
        "CAST({int} AS DECIMAL(12, 2))",
    ),
    "string": (
        "upper({string})",
        "lower({string})",
        "({string} || {string})",
        "trim({string})",
        "replace({string}, 'a', 'bc')",
        "substring({string}, 2)",
        "substring({string}, 1, 2)",
        "reverse({string})",
        "CAST({int} AS STRING)",
        "CAST({date} AS STRING)",
        "concat_ws('+', {string}, {string})",
        "left({string}, 2)",
        "lpad({string}, 4, '*')",
    ),
    "boolean": (
        "({int} < {int})",
        "({int} = {bigint})",
        "({decimal} >= {int})",
        "({decimal} <> {decimal})",
        "({double} <= {int})",
        "({string} = {string})",
        "({string} > {string})",
        "({date} < {date})",
        "({date} <= {timestamp})",
        "({int} IS NULL)",
        "({string} IS NOT NULL)",
        "({boolean} AND {boolean})",
        "({boolean} OR {boolean})",
        "(NOT {boolean})",
        "({int} BETWEEN {int} AND {int})",
        "({int} IN ({int}, {int}, 3))",
        "({string} NOT IN ({string}, 'a'))",
        "({int} IS DISTINCT FROM {int})",
        "({string} <=> {string})",
        "({string} LIKE '%a%')",
        "({boolean} IS TRUE)",
        "startswith({string}, {string})",
        "contains({string}, 'b')",
    ),
    "date": (
        "CAST(date_add({date}, 3) AS DATE)",
        "CAST({date} + INTERVAL 1 MONTH AS DATE)",
        "last_day({date})",
        "CAST({timestamp} AS DATE)",
    ),
    "timestamp": (
        "({timestamp} + INTERVAL 90 MINUTE)",
        "CAST({date} AS TIMESTAMP)",
        "date_trunc('month', {timestamp})",
    ),
}
OURS: Mapping[str, Sequence[str]] = {
    "int": (
        "({int} * {int})",
        "({int} % {int})",
        "CAST({bigint} DIV {int} AS INT)",
        "try_cast({string} AS INT)",
        "size(split({string}, '-'))",
        "pmod({int}, 7)",
        "levenshtein({string}, {string})",
        "element_at(array({int}, {int}), 2)",
        "aggregate(array({int}, 2), 0, (acc, v) -> acc + v)",
        "width_bucket({double}, 0, 10, 4)",
        "unix_date({date})",
    ),
    "bigint": (
        "({bigint} * {int})",
        "CAST({double} AS BIGINT)",
        "try_add({bigint}, {bigint})",
        "unix_micros({timestamp})",
    ),
    "double": (
        "({int} / {int})",
        "sqrt(abs({double}))",
        "round({double}, 1)",
        "try_divide({double}, {int})",
        "nanvl({double}, 1D)",
    ),
    "decimal": (
        "({decimal} * {decimal})",
        "round({decimal}, 1)",
        "bround({decimal}, 0)",
        "ceil({decimal})",
        "({decimal} / {decimal})",
    ),
    "string": (
        "CAST({double} AS STRING)",
        "CAST({decimal} AS STRING)",
        "date_format({timestamp}, 'yyyy-MM')",
        "array_join(array({string}, {string}), ',')",
        "to_json(named_struct('a', {int}, 'b', {string}))",
        "get_json_object(to_json(map('k', {string})), '$.k')",
        "format_number({decimal}, 1)",
        "split_part({string}, '-', 1)",
        "map({string}, {string})[{string}]",
        "soundex({string})",
        "CAST(array({int}, {int}) AS STRING)",
    ),
    "boolean": (
        "array_contains(array({int}, {int}), {int})",
        "exists(array({int}, 1), v -> v > {int})",
        "isnan({double})",
    ),
    "date": (
        "add_months({date}, {int})",
        "try_cast({string} AS DATE)",
        "trunc({date}, 'year')",
        "next_day({date}, 'MON')",
    ),
    "timestamp": ("({timestamp} + INTERVAL 1 DAY * {int})", "timestamp_seconds({int})", "({date} + INTERVAL 1 HOUR)"),
}
ANY = (
    "coalesce({T}, {T})",
    "CASE WHEN NOT {boolean} THEN {T} ELSE {T} END",
    "CASE WHEN NOT {boolean} THEN {T} END",
    "if({boolean}, {T}, {T})",
    "nvl2({int}, {T}, {T})",
)


def random_expression(rng: random.Random, type_: str, depth: int, *, shared: bool) -> str:
    """An expression of the type; only of what DuckDB means alike where it is `shared`."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(OF_TYPE[type_] if rng.random() < 0.75 else LITERALS[type_])
    forms = [*SHARED[type_], *(form.replace("{T}", f"{{{type_}}}") for form in ANY)]
    form = rng.choice(forms if shared else [*forms, *OURS[type_]])
    while "{" in form:
        begin, end = form.index("{"), form.index("}")
        inner = random_expression(rng, form[begin + 1 : end], depth - 1, shared=shared)
        form = form[:begin] + inner.replace("{", "\1").replace("}", "\2") + form[end + 1 :]
    return form.replace("\1", "{").replace("\2", "}")


def random_rows(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    """Rows of the columns, with NULLs."""
    return [tuple(None if rng.random() < 0.15 else rng.choice(v) for _, v in COLUMNS.values()) for _ in range(count)]

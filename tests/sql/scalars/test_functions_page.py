"""docs/sql-functions.md names every function that there is, and every one that is refused with a remedy.

Catches a function that is added and not told of, and one that is told of and not there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from sqlglot import exp

from deltic.errors import ProgramError
from deltic.functions import FUNCTIONS, PROVIDED, names_in_sql
from deltic.sql.scalars.functions.definitions import DEFINED
from deltic.sql.scalars.functions.lookup import known
from deltic.sql.scalars.functions.refused import REFUSED
from deltic.sql.scalars.functions.rules import RULES
from tests.sql.scalars.replayed import translated

PAGE = (Path(__file__).parents[3] / "docs" / "sql-functions.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_every_function_is_in_the_table():
    rows = [line.split("|")[2] for line in section("Functions").splitlines() if line.startswith("| ")][1:]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted({*known(), "struct"})


def test_every_refused_function_is_named():
    assert set(re.findall(r"`(\w+)`", section("What a view cannot have"))) == set(REFUSED)


def test_every_entry_of_the_table_has_a_tier_and_a_reason_where_it_is_the_last():
    own = {name: f for name, f in FUNCTIONS.items() if name not in PROVIDED}  # those of users and front ends say none
    assert {f.tier for f in own.values()} <= {"numpy", "Arrow", "DuckDB", "Python"}
    assert [name for name, f in own.items() if (f.tier == "Python") != bool(f.reason)] == []


def test_every_name_has_one_entry():
    names = Counter(
        own for name, f in FUNCTIONS.items() if f.takes for own in ((name,) if f.names is None else f.names)
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert [alias for alias, name in names_in_sql().items() if alias in RULES and alias != name] == []


def test_every_definition_is_an_expression_of_its_parameters_and_of_functions_that_there_are():
    """One that is never called would be found by nobody else."""
    for definitions in DEFINED.values():
        for definition in definitions:
            node, _ = definition.parsed
            names = {parameter.name for parameter in definition.parameters}
            assert {column.name for column in node.find_all(exp.Column)} <= names, definition
            for call in node.find_all(exp.Anonymous):
                own = call.name.rpartition("spark_")[2]
                assert own in (FUNCTIONS if "spark_" in call.name else known()), call.name


@pytest.mark.parametrize(
    "call",
    [
        *("array_distinct(xs, s)", "array_sort(2, s)", "arrays_zip(xs, xs)", "to_unix_timestamp()", "decode(s, t)"),
        *("round(d, 'a')", "isnan(x)", "shiftleft(s, x)", "try_add(s, INTERVAL 1 DAY)", "ltrim(s, t, u)"),
    ],
)
def test_arguments_that_a_function_does_not_take_are_told_with_their_place(call):
    with pytest.raises(ProgramError, match="<sql>:1:8"):
        translated(call)

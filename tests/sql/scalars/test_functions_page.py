"""docs/sql-functions.md has every function that there is, and every one that is refused with a remedy.

Catches a function that is added and not told of, one that is told of and not there, and one that is said to be computed
by something else than it is.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from deltic.cli.functions import functions_command
from deltic.datalog.checks.functors import CALLS as CALLS_OF_SOUFFLE
from deltic.datalog.checks.functors import TESTS
from deltic.datalog.souffle.words import SOUFFLE
from deltic.errors import DelticError, ProgramError
from deltic.functions import FUNCTIONS, PROVIDED, is_call, names_in_sql
from deltic.functions.function import PREFIX
from deltic.pipeline import registry
from deltic.sql.dialect import Deltic
from deltic.sql.remedies import REFUSED
from deltic.sql.scalars.functions.bodies import calls, parsed
from deltic.sql.scalars.functions.definitions import DEFINED
from deltic.sql.scalars.functions.lookup import known
from deltic.sql.scalars.functions.rules import RULES
from tests.sql.scalars.calls import CALLS
from tests.sql.scalars.replayed import translated

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sql-functions.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def function_name(node: exp.Expression) -> str:
    return node.name.removeprefix(PREFIX).lower()


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
            node, _ = parsed(definition.body)
            names = {parameter.name for parameter in definition.parameters}
            assert {column.name for column in node.find_all(exp.Column)} <= names, definition
            for call in node.find_all(exp.Anonymous):
                own = call.name.rpartition("spark_")[2]
                assert own in (FUNCTIONS if "spark_" in call.name else known()), call.name


@pytest.mark.parametrize(
    "call",
    [
        *("array_distinct(xs, s)", "array_sort(2, s)", "arrays_zip(xs, xs)", "to_unix_timestamp()", "decode(s, t)"),
        *("round(d, 'a')", "isnan(x)", "shiftleft(s, x)", "try_add(s, INTERVAL 1 MONTH)", "ltrim(s, t, u)"),
    ],
)
def test_arguments_that_a_function_does_not_take_are_told_with_their_place(call):
    with pytest.raises(ProgramError, match="<sql>:1:8"):
        translated(call)


def test_a_name_of_each_language_is_found_and_a_wrong_one_told_with_the_nearest(capsys):
    functions_command("substr")
    functions_command("to_unsigned")
    told = capsys.readouterr().out
    assert "SQL: substr, substring\nSoufflé: substr\n" in told
    assert "computed by Python (uint64_of_text)" in told
    with pytest.raises(DelticError, match=re.escape("there is no function sbstr; did you mean `substr`?")):
        functions_command("sbstr")


def test_the_list_names_the_functions_of_every_language(capsys):
    functions_command(None)
    names = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert len(names) == len(registry.listed())
    assert "" not in names


def test_the_names_of_souffle_are_those_that_there_are():
    assert set(SOUFFLE) == {*CALLS_OF_SOUFFLE, *TESTS}
    assert {own for own, _ in SOUFFLE.values() if own} <= set(known())
    assert {entry for _, entry in SOUFFLE.values() if entry} <= set(FUNCTIONS)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_calls_what_the_registry_says(call):
    node = sqlglot.parse_one(f"SELECT {call}", dialect=Deltic).expressions[0]
    if not isinstance(node, exp.Anonymous) or any(
        isinstance(n, exp.Func | exp.DPipe) for n in node.walk() if n is not node
    ):
        pytest.skip("it has others inside")
    if node.name.lower() in ("dateadd", "datediff") and len(node.expressions) == 3:
        pytest.skip("with a unit these are timestampadd and timestampdiff")
    found = {function_name(n) for n in translated(call).expression.find_all(exp.Anonymous) if is_call(n)}
    assert found - {"unhex"} <= {*calls(node.name.lower())}  # a literal of bytes is a call of unhex

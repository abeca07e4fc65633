"""theory/STATEMENTS.md is what the markers in tests say: catches a law that lost its test, and an outdated page."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "theory_table.py"


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("theory_table", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(table):
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), "run python scripts/theory_table.py"


def test_the_example_of_the_introduction_runs():
    results = doctest.testfile(str(SCRIPT.parents[1] / "docs" / "theory.md"), module_relative=False)
    assert results.attempted > 3
    assert results.failed == 0


def test_every_numbered_statement_of_the_paper_is_listed(table):
    """Numbers 1 to 49 are shared by definitions, propositions, theorems and corollaries."""
    listed = {line.split("|")[1].strip() for line in table.page().splitlines() if line.startswith("| FIX ")}
    numbers = {
        int(law.split()[2]) for law in listed if law.split()[1] in ("Def", "Prop", "Thm", "Cor") and "." not in law
    }
    assert numbers == set(range(1, 50))
    assert {"FIX Fig 1", "FIX Fig 2", "FIX Thm 10.1"} <= listed


DBSP = {"3": 30, "4": 5, "5": 8, "6": 13, "7": 2, "8": 1, "9": 1, "11": 1, "A": 3}
"""How many statements the sections of the paper number; all kinds of them are counted together."""


def test_every_numbered_statement_of_dbsp_is_listed(table):
    listed = [line.split("|")[1].split() for line in table.page().splitlines() if line.startswith("| DBSP ")]
    kinds = ("Def", "Lemma", "Prop", "Thm", "Cor", "Alg")
    numbers = [law[2] for law in listed if law[1] in kinds]
    assert sorted(numbers) == sorted(f"{part}.{i}" for part, count in DBSP.items() for i in range(1, count + 1))


def test_every_numbered_statement_of_the_paper_on_elasticity_is_listed(table):
    """Its algorithms are numbered by themselves, all else by section."""
    listed = {line.split("|")[1].strip() for line in table.page().splitlines() if line.startswith("| ELA ")}
    assert {f"ELA Alg {i}" for i in (1, 2, 3)} <= listed
    others = (
        f"Def 2.{i}" if part == 2 else f"3.{i}" for part, count in {2: 2, 3: 6}.items() for i in range(1, count + 1)
    )
    for statement in others:
        assert any(law.endswith(statement) for law in listed), statement


CATALOGUE = {
    "statements": {"FIX Def 1": ["Change action", "change_action.ChangeAction", "change_action.Missing"]},
    "same": {"CONF Def 1": "FIX Def 9"},
    "notes": {"FIX Def 3": "none"},
    "differences": {},
}


def test_problems_are_named(table):
    tests = {"FIX Def 2": ["tests/a.py::test"], "ANY Thm 3.3": ["tests/b.py::test"]}
    assert table.problems(CATALOGUE, tests) == [
        "FIX Def 1: no test has this marker",
        "FIX Def 2: a test has this marker, theory.toml has no such statement",
        "CONF Def 1: is said to be FIX Def 9, which is no statement",
        "FIX Def 3: has a remark and is no statement",
        "change_action.Missing: not in the code",
    ]


def test_statements_are_sorted_by_number(table):
    laws = ["DBSP Thm 4.10", "DBSP Thm 4.9", "DBSP Prop 3.2"]
    assert sorted(laws, key=table.in_order) == ["DBSP Prop 3.2", "DBSP Thm 4.9", "DBSP Thm 4.10"]

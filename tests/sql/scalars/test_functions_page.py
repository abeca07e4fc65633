"""docs/sql-functions.md names every function that there is, and every one that is refused with a remedy.

Catches a function that is added and not told of, and one that is told of and not there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from deltic.functions import FUNCTIONS, PROVIDED, names_in_sql
from deltic.sql.scalars.functions.lookup import known
from deltic.sql.scalars.functions.refused import REFUSED
from deltic.sql.scalars.functions.rules import RULES

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

"""docs/sql-functions.md names every function that there is, and every one that is refused with a remedy.

Catches a function that is added and not told of, and one that is told of and not there.
"""

from __future__ import annotations

import re
from pathlib import Path

from deltic.sql.scalars.functions.lookup import known
from deltic.sql.scalars.functions.refused import REFUSED

PAGE = (Path(__file__).parents[3] / "docs" / "sql-functions.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_every_function_is_in_the_table():
    rows = [line.split("|")[2] for line in section("Functions").splitlines() if line.startswith("| ")][1:]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted({*known(), "struct"})


def test_every_refused_function_is_named():
    assert set(re.findall(r"`(\w+)`", section("What a view cannot have"))) == set(REFUSED)

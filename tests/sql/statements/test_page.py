"""docs/sql.md does what it says. Catches an example that has gone stale."""

from __future__ import annotations

import re
from pathlib import Path

import deltic

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")


def test_the_statements_of_the_page_run_one_after_the_other():
    pipeline = deltic.Pipeline()
    statements = PAGE[PAGE.index("## Statements") : PAGE.index("## The shell")]
    blocks = re.findall(r"^```sql\n(.*?)^```$", statements, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 11
    for block in blocks:
        pipeline.sql(block, file="docs/sql.md")
    assert sorted(map(str, (row[0] for row in pipeline["revenue"]))) == ["ada", "bob"]

"""What a user is told about a view: the sections of `explain`, and that they are about this view alone."""

from __future__ import annotations

from collections.abc import Callable

from deltic.datalog import check, lower, parse
from deltic.engine.local.engine import LocalEngine

PROGRAM = """
    .decl follows(who: symbol, whom: symbol)
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
    .decl blocked(x: symbol)
    .decl visible(x: symbol, y: symbol)
    visible(x, y) :- reaches(x, y), !blocked(y), x != y.
"""


def test_explain(golden: Callable[[str, str], None]) -> None:
    golden("plans/explain.txt", LocalEngine(lower(check([parse(PROGRAM)]))).explain("visible"))


def test_explain_leaves_other_views_out() -> None:
    explained = LocalEngine(lower(check([parse(PROGRAM)]))).explain("reaches")
    assert "visible" not in explained
    assert "blocked" not in explained

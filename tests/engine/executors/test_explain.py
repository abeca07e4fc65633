"""What a user is told about a view: the sections of `explain`, and that they are about this view alone."""

from __future__ import annotations

from collections.abc import Callable

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from tests.conformance.engines import Driver, on_shards

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
    golden("plans/explain.txt", IncrementalEngine(lower(check([parse(PROGRAM)]))).explain("visible", full=True))


def test_the_short_form(golden: Callable[[str, str], None]) -> None:
    golden("plans/explain-short.txt", IncrementalEngine(lower(check([parse(PROGRAM)]))).explain("visible"))


def test_the_short_form_of_a_long_program_fits_a_screen() -> None:
    rules = "\n".join(f".decl v{i}(x: symbol)\nv{i}(x) :- reaches(x, y), v{i - 1}(y)." for i in range(1, 20))
    program = f"{PROGRAM}\n.decl v0(x: symbol)\nv0(x) :- follows(x, _).\n{rules}"
    assert len(IncrementalEngine(lower(check([parse(program)]))).explain("v19").splitlines()) <= 40


def test_explain_leaves_other_views_out() -> None:
    explained = IncrementalEngine(lower(check([parse(PROGRAM)]))).explain("reaches", full=True)
    assert "visible" not in explained
    assert "blocked" not in explained


def test_the_memory_of_each_relation_is_told_once_there_is_any():
    circuit = lower(check([parse(".decl t(x: number)\n.input t\n.decl v(x: number)\nv(x) :- t(x).")]))
    driver = Driver(IncrementalEngine(circuit), circuit)
    assert "KiB" not in driver.engine.explain("v")
    driver.insert(t=[(n,) for n in range(1024)])
    assert "t: table; sorted [x]; 8.0 KiB now" in driver.engine.explain("v")


def test_shards_explain_operators_and_circuits_as_one_store_does() -> None:
    circuit = lower(check([parse(PROGRAM)]))
    one, shards = IncrementalEngine(circuit), on_shards(circuit, shards=2)
    assert shards.explain("visible").split("\n\n")[0] == one.explain("visible").split("\n\n")[0]
    titles = ("circuit:", "steps to the incremental circuit:", "the derivative of each", "incremental circuit:")
    for title in titles:
        (first,) = (part for part in one.explain("visible", full=True).split("\n\n") if part.startswith(title))
        assert first in shards.explain("visible", full=True).split("\n\n")
    assert "2 shards" in shards.explain("visible")

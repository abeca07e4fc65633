"""Work is proportional to the change: thirty times the rows in the tables, the same rows visited for a small edit.

`rows_visited` counts rows and index entries that the searches looked at; a plan that scans a table, or an operator
that is visited although nothing below it changed, shows as a factor of thirty.
"""

from __future__ import annotations

import pytest

import deltic
from tests.conformance.engines import Driver

TABLES = ".decl a(x: number, y: number)\n.input a\n.decl b(x: number, y: number)\n.input b\n"
VIEWS = {
    "join": ".decl v(x: number, z: number)\nv(x, z) :- a(x, y), b(y, z).",
    "join through the second column": ".decl v(x: number, z: number)\nv(x, z) :- a(y, x), b(y, z), x != z.",
    "three atoms": ".decl v(x: number, w: number)\nv(x, w) :- a(x, y), b(y, z), a(z, w).",
    "negation": ".decl v(x: number, y: number)\nv(x, y) :- a(x, y), !b(y, _).",
    "projection": ".decl v(x: number)\nv(y) :- a(_, y).",
    "computed key": ".decl v(x: number, z: number)\nv(x, z) :- a(x, y), b(y + 1, z).",
    "difference as key": ".decl v(x: number, z: number)\nv(x, z) :- a(x, y), b(-(7 - y), z).",
    "union": ".decl v(x: number, y: number)\nv(x, y) :- a(x, y).\nv(x, y) :- b(x, y).",
    "short chains": ".decl v(x: number, z: number)\nv(x, y) :- a(x, y).\nv(x, z) :- v(x, y), b(y, z).",
    "totals": ".decl v(c: number, s: number)\nv(c, s) :- c = count : { a(_, _) }, s = sum y : { b(_, y) }.",
    "least and greatest": ".decl v(l: number, g: number)\nv(l, g) :- l = min x : { a(x, _) }, g = max y : { b(_, y) }.",
    "groups": ".decl v(x: number, n: number)\nv(x, n) :- a(x, y), n = count : { b(y, _) }.",
    "constant": ".decl v(z: number)\nv(z) :- a(5, y), b(y, z).",
}
FEW = 60


def visited(view: str, size: int) -> list[int]:
    """The rows visited by each of some small edits of tables of this size."""
    driver = Driver.of_program("local", TABLES + view)
    driver.insert(a=[(i, 10 * i) for i in range(size)], b=[(10 * i, i + 1_000_000) for i in range(size)])
    edits = [{"a": [((3, 30), -1)]}, {"a": [((3, 30), 1)]}, {"b": [((50, 1_000_005), -1), ((50, 7), 1)]}, {}]
    return [driver.apply(edit).rows_visited for edit in edits]


@pytest.mark.law("ELA §4.2 scheduling")
@pytest.mark.parametrize("name", VIEWS)
def test_a_small_edit_of_large_tables(name):
    small, large = visited(VIEWS[name], 300), visited(VIEWS[name], 9_000)
    assert all(count <= FEW for count in large), large
    assert all(a <= b + FEW // 2 for a, b in zip(large, small, strict=True)), (small, large)
    assert large[-1] == 0


def test_a_bootstrap_visits_a_few_times_the_rows():
    driver = Driver.of_program("local", TABLES + VIEWS["join"])
    rows = 20_000
    result = driver.insert(a=[(i, i) for i in range(rows)], b=[(i, i) for i in range(rows)])
    assert rows <= result.rows_visited <= 12 * rows


@pytest.mark.law("DBSP §6.6.2")
@pytest.mark.parametrize(("rows", "both"), [(300, 5), (9_000, 8)])
def test_a_join_visits_what_changed_and_its_matches(rows, both):
    """Three entries for a changed row that matches one, and no product of the changes where both sides change.

    Few rows are merged with their change, so that `both` sides meet no row that has gone.
    """
    driver = Driver.of_program("local", TABLES + VIEWS["join"])
    pairs = [(i, i) for i in range(rows)]
    driver.insert(a=pairs, b=pairs)
    for changed in (1, 10, 100):
        gone, back = ([(row, weight) for row in pairs[:changed]] for weight in (-1, 1))
        assert driver.apply({"a": gone}).rows_visited == 3 * changed
        driver.apply({"a": back})
        assert driver.apply({"a": gone, "b": gone}).rows_visited == both * changed
        driver.apply({"a": back, "b": back})


@pytest.mark.law("DBSP §7.2.1")
def test_a_recursion_visits_what_changes_in_its_iterations():
    """An edge cut from a chain: three to six entries for a pair that goes or comes, however many chains there are."""
    chain = ".decl r(x: number, y: number)\nr(x, y) :- a(x, y).\nr(x, z) :- r(x, y), a(y, z)."

    def cut(chains, length):
        driver = Driver.of_program("local", TABLES + chain)
        driver.insert(a=[(1000 * c + i, 1000 * c + i + 1) for c in range(chains) for i in range(length)])
        edge = length // 2, length // 2 + 1
        return [driver.apply({"a": [(edge, weight)]}).rows_visited for weight in (-1, 1)]

    assert cut(10, 10) == cut(300, 10)
    for length in (10, 20, 40):
        pairs = (length // 2 + 1) * (length - length // 2)
        assert all(3 * pairs <= visited <= 6 * pairs for visited in cut(1, length)), length


def test_an_atom_without_a_row_ends_the_search_before_another_has_many():
    """A semijoin: of the hundred rows that match in b, none is visited where a has no match."""
    star = ".decl hub(y: number)\n.input hub\n.decl v(x: number, z: number)\nv(x, z) :- hub(y), b(y, z), a(y, x)."
    driver = Driver.of_program("local", TABLES + star)
    driver.insert(a=[(0, 1)], b=[(y, z) for y in range(10) for z in range(100)])
    assert driver.apply({"hub": [((y,), 1) for y in range(1, 10)]}).rows_visited < 5 * 9
    assert driver.apply({"hub": [((0,), 1)]}).rows_visited >= 100


# Rules of which some variable is wanted nowhere, and what they say.
COUNTED = {
    "v(x) :- a(x, y), b(y, _).": lambda a, b: {x for x, y in a if any(y == z for z, _ in b)},
    "v(y) :- a(_, y), b(y, _).": lambda a, b: {y for _, y in a if any(y == z for z, _ in b)},
    "v(x) :- a(x, _), b(_, _).": lambda a, b: {x for x, _ in a if b},
}


@pytest.mark.parametrize("rule", COUNTED)
def test_rows_of_which_only_the_number_counts_are_visited_as_one(rule):
    """Rows have up to 60,000 derivations each; the view is right until the last of them is gone."""
    driver = Driver.of_program("local", TABLES + ".decl v(x: number)\n" + rule)
    a = {(x, y) for x in range(3) for y in range(100)}
    b = {(y, z) for y in range(100) for z in range(5)} | {(y, y) for y in range(100)}
    assert driver.insert(a=a, b=b).rows_visited < 6 * (len(a) + len(b))
    for least in (90, 40, 3, 1, 0):
        gone = {row for row in b if row[0] >= least}
        b -= gone
        driver.apply({"b": [(row, -1) for row in gone]})
        assert driver.rows("v") == {(x,) for x in COUNTED[rule](a, b)}


def test_more_derivations_than_a_number_holds():
    """2¹⁴ rows three times over are 2⁴² derivations: past 2⁴⁰ of them rows are visited one by one again."""
    program = ".decl i(x: number)\n.input i\n.decl n(x: number)\n.input n\n.decl v(x: number)\n"
    driver = Driver.of_program("local", program + "v(x) :- i(x), n(_), n(_), n(_).")
    rows = [(y,) for y in range(1 << 14)]
    driver.insert(i=[(0,), (1,)], n=rows)
    assert driver.rows("v") == {(0,), (1,)}
    driver.apply({"n": [(row, -1) for row in rows[1:]]})
    assert driver.rows("v") == {(0,), (1,)}
    driver.apply({"n": [(rows[0], -1)]})
    assert not driver.rows("v")


def test_a_join_of_many_values_that_all_change_visits_each_of_them_a_few_times():
    """Before the values were merged, a search met each as it was, as removed and as added: 3^12 times together."""
    views = ", ".join(f"(SELECT sum(y) + {i} FROM a WHERE x >= {i}) AS s{i}" for i in range(12))
    pipeline = deltic.Pipeline()
    pipeline.sql(f"CREATE TABLE a (x INT, y INT); CREATE VIEW v AS SELECT {views}")
    for i in range(3):
        with pipeline.transaction() as change:
            change.insert("a", [(100 + i, 7)])
    assert list(pipeline["v"]) == [tuple(21 + i for i in range(12))]
    assert change.report.rows_visited < 1_000

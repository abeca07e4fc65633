"""Reading tables and views: all rows, rows of a key, their number."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from tests.conformance.programs import BOTH, FOLLOWS, NULLARY, TYPES

ROWS = [(i % 3 - 1, i % 4, i % 2 * 0.5, f"s{i % 5}") for i in range(60)]
NAMES = ("n", "u", "f", "s")
TYPED = (pa.int64(), pa.uint64(), pa.float64(), pa.string())


@pytest.fixture
def typed(drive):
    driver = drive(TYPES)
    driver.insert(t=set(ROWS))
    return driver


@pytest.mark.law("DBSP §12.3")
def test_read_gives_every_row_once_with_its_types(typed):
    assert typed.rows("copy") == {row[::-1] for row in ROWS}
    assert typed.engine.read("copy").schema.types == [pa.string(), pa.float64(), pa.uint64(), pa.int64()]
    assert typed.engine.read("t", table=True).column_names == list(NAMES)


@pytest.mark.parametrize("columns", [c for n in range(5) for c in itertools.combinations(range(4), n)], ids=str)
@pytest.mark.parametrize("name", ["t", "copy"])
def test_lookup_by_any_columns(typed, name, columns):
    for wanted in ROWS[:5]:
        key = {NAMES[i]: wanted[i] for i in columns}
        expected = {row for row in ROWS if all(row[i] == wanted[i] for i in columns)}
        expected = expected if name == "t" else {(r[3], r[2], r[1], r[0]) for r in expected}
        assert typed.lookup(name, **key) == expected


@pytest.mark.parametrize("columns", [c for n in range(1, 5) for c in itertools.combinations(range(4), n)], ids=str)
def test_rows_of_many_keys_are_counted(typed, columns):
    wanted = [*ROWS[:7], ROWS[2], (99, 1, 0.5, "s1"), (1, 77, 0.5, "s1"), (1, 1, 0.5, "nobody")]
    keys = pa.table({NAMES[i]: pa.array([row[i] for row in wanted], TYPED[i]) for i in columns})
    typed.apply({"t": [(ROWS[0], -1), (ROWS[5], -1), ((5, 3, 1.5, "s2"), 1)]})
    there = {*ROWS, (5, 3, 1.5, "s2")} - {ROWS[0], ROWS[5]}
    expected = [sum(all(row[i] == key[i] for i in columns) for row in there) for key in wanted]
    assert typed.engine.count_each("t", keys).tolist() == expected
    assert typed.engine.count_each("copy", keys).tolist() == expected
    assert typed.engine.entries("t")


@pytest.mark.parametrize(
    "key",
    [{"n": 7}, {"n": -(2**63)}, {"n": 2**63 - 1}, {"u": 2**64 - 1}, {"f": -1e300}, {"s": "absent"}, {"n": 0, "s": ""}],
    ids=str,
)
def test_lookup_of_values_that_are_not_there(typed, key):
    assert typed.lookup("copy", **key) == set()
    assert typed.lookup("t", **key) == set()


@pytest.mark.law("DBSP §12.2")
def test_lookup_sees_the_latest_epoch(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[("ada", "bob"), ("bob", "cy")])
    assert social.lookup("reaches", x="ada") == {("ada", "bob"), ("ada", "cy")}
    assert social.lookup("reaches", y="cy") == {("bob", "cy"), ("ada", "cy")}
    social.apply({"follows": [(("bob", "cy"), -1), (("bob", "dan"), 1)]})
    assert social.lookup("reaches", x="ada") == {("ada", "bob"), ("ada", "dan")}
    assert social.lookup("reaches", x="ada", y="cy") == set()
    assert social.lookup("follows", who="bob") == {("bob", "dan")}


def test_lookup_means_the_view_where_a_table_has_its_name(drive):
    both = drive(BOTH)
    both.insert(p=[(2, 3)])
    assert both.lookup("p", x=1) == {(1, 2), (1, 3)}


def test_lookup_in_a_nullary_relation(drive):
    lamps = drive(NULLARY)
    lamps.apply({})
    assert lamps.lookup("always") == {()}
    assert lamps.lookup("some") == set()


def test_count(typed):
    assert typed.engine.count("t") == typed.engine.count("copy") == len(set(ROWS))
    typed.apply({"t": [(row, -1) for row in set(ROWS)]})
    assert typed.engine.count("t") == typed.engine.count("copy") == 0
    assert typed.rows("copy") == set()


def test_before_the_first_epoch_everything_is_empty(drive):
    social = drive(FOLLOWS)
    assert all(not rows for rows in social.everything().values())
    assert social.engine.count("reaches") == 0
    assert social.lookup("reaches", x="ada") == set()


@pytest.mark.parametrize("read", ["read", "count", "explain"])
def test_unknown_names(drive, read):
    with pytest.raises(KeyError):
        getattr(drive(FOLLOWS).engine, read)("nobody")


def test_explain_names_the_view(drive):
    assert "reaches" in drive(FOLLOWS).engine.explain("reaches")

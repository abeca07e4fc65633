"""Sets and bags: which weights a table takes under each policy for conflicts, and which rows are shown."""

from __future__ import annotations

import pytest

from deltic.algebra.zset import ZSet
from deltic.circuit.reading import parse_circuit
from deltic.circuit.tables import WEIGHT
from deltic.engine.reference import from_arrow
from deltic.errors import ChangeError
from tests.conformance.engines import Driver, as_zset

A, B, C = ("a",), ("b",), ("c",)
BAG = parse_circuit("""
%0 = source t : zset{x: string}
%1 = source s : set{x: string}
%2 = distinct (%0) : set{x: string}
%3 = plus (%0, %1) : zset{x: string}
%4 = negate (%1) : zset{x: string}
%5 = plus (%0, %4) : zset{x: string}
%6 = join (%0, %1) : zset{x: string}
%7 = antijoin (%2, %1) : set{x: string}
%8 = sink once (%2) : set{x: string}
%9 = sink both (%3) : zset{x: string}
%10 = sink less (%5) : zset{x: string}
%11 = sink met (%6) : zset{x: string}
%12 = sink alone (%7) : set{x: string}
""")


@pytest.fixture
def bags(drive) -> Driver:
    driver: Driver = drive(BAG)
    driver.apply({"t": [(A, 3), (B, 1)], "s": [(A, 1)]})
    return driver


def shown(driver: Driver, name: str, *, table: bool = False) -> dict[tuple, int]:
    """The rows of a view, as often as they are shown; both ways of reading agree, and the number of rows."""
    rows = as_zset(driver.engine.read(name, table=table))
    counted = driver.engine.read(name, table=table, counted=True)
    assert from_arrow(counted) == rows
    assert counted.num_rows >= len(rows)
    assert counted.column_names[-1] == WEIGHT
    if not table:
        assert driver.engine.count(name) == sum(weight for _, weight in rows)
        assert as_zset(driver.engine.lookup(name, {})) == rows
    return dict(rows)


def test_a_bag_s_rows_are_shown_as_often_as_they_weigh(bags):
    assert shown(bags, "t", table=True) == {A: 3, B: 1}
    assert shown(bags, "once") == {A: 1, B: 1}
    assert shown(bags, "both") == {A: 4, B: 1}
    assert shown(bags, "less") == {A: 2, B: 1}
    assert shown(bags, "met") == {A: 3}
    assert shown(bags, "alone") == {B: 1}
    assert as_zset(bags.engine.lookup("t", {"x": "a"})) == ZSet({A: 3})
    assert from_arrow(bags.engine.lookup("t", {"x": "a"}, counted=True)) == ZSet({A: 3})


def test_signed_changes_of_a_bag(bags):
    assert bags.changes({"t": [(A, -2), (C, 3)]}) == {
        "once": {C: 1},
        "both": {A: -2, C: 3},
        "less": {A: -2, C: 3},
        "met": {A: -2},
        "alone": {C: 1},
    }
    assert bags.changes({"t": [(A, -1), (C, -1)]})["once"] == {A: -1}
    assert shown(bags, "t", table=True) == {B: 1, C: 2}


def test_a_view_with_a_row_of_negative_weight_is_read_with_its_weights(bags):
    bags.apply({"s": [(C, 1)]})
    for counted in (False, True):
        assert from_arrow(bags.engine.read("less", counted=counted)) == ZSet({A: 2, B: 1, C: -1})
    assert bags.engine.count("less") == 3
    assert from_arrow(bags.engine.lookup("less", {"x": "c"}, counted=True)) == ZSet({C: -1})
    bags.apply({"t": [(C, 1)]})
    assert shown(bags, "less") == {A: 2, B: 1}


@pytest.mark.parametrize("change", [[(A, -4)], [(C, -1)], [(A, -2), (A, -2)], [(B, 1), (C, -1)]])
def test_a_weight_below_zero_rejects_the_epoch(bags, change):
    before = bags.everything()
    with pytest.raises(ChangeError, match="table t: the transaction would delete a row") as caught:
        bags.apply({"t": change, "s": [(B, 1)]})
    assert repr(change[-1][0][0]) in str(caught.value)
    assert bags.everything() == before


def test_normalize_takes_no_more_from_a_bag_than_there_is(bags):
    result = bags.apply({"t": [(A, -5), (B, 2), (C, -1)]}, "normalize")
    assert result.rows_in == 2
    assert shown(bags, "t", table=True) == {B: 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ([(B, 1), (B, 1)], "insert the same row more than once: ('b')"),
        ([(B, 2)], "insert the same row more than once: ('b')"),
        ([(A, 1)], "insert a row that is present: ('a')"),
        ([(B, -1)], "delete a row that is absent: ('b')"),
        ([(A, -2)], "delete a row more often than it is present: ('a')"),
    ],
)
def test_what_a_set_refuses(bags, change, message):
    with pytest.raises(ChangeError) as caught:
        bags.apply({"s": change})
    assert message in str(caught.value)


def test_trust_never_shows_a_row_of_a_set_that_is_not_there(bags):
    """The set keeps the sum of the weights; its rows are the distinct of that, for tables and views alike."""
    bags.apply({"s": [(B, -1)]}, "trust")
    assert shown(bags, "s", table=True) == {A: 1}
    assert shown(bags, "both") == {A: 4, B: 1}
    bags.apply({"s": [(A, 1)]}, "trust")
    assert shown(bags, "s", table=True) == {A: 1}
    assert shown(bags, "met") == {A: 3}


def test_trust_takes_changes_in_any_order(bags):
    """A deletion may come before its insertion."""
    for weight in (-1, 1, 1):
        bags.apply({"s": [(B, weight)]}, "trust")
    assert shown(bags, "s", table=True) == {A: 1, B: 1}


def test_a_checked_change_counts_from_what_is_shown(bags):
    bags.apply({"s": [(B, -3), (A, 5)], "t": [(C, -2)]}, "trust")
    bags.apply({"s": [(B, 1), (A, -1)], "t": [(C, 1)]})
    assert shown(bags, "s", table=True) == {B: 1}
    assert shown(bags, "t", table=True) == {A: 3, B: 1, C: 1}
    bags.apply({"s": [(B, -1)]}, "trust")
    assert shown(bags, "s", table=True) == {}


def test_trust_lets_a_bag_go_below_zero_and_shows_it(bags):
    bags.apply({"t": [(B, -2)]}, "trust")
    assert from_arrow(bags.engine.read("t", table=True)) == ZSet({A: 3, B: -1})
    assert shown(bags, "once") == {A: 1}
    bags.apply({"t": [(B, 2)]}, "trust")
    assert shown(bags, "t", table=True) == {A: 3, B: 1}

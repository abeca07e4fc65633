"""What an engine has after a change of its circuit in the middle, and what it says of the change.

Catches state of the old definitions that shows in the new views, and state that was to be kept and is not.
"""

from __future__ import annotations

import pytest

from deltic.circuit.reading import parse_circuit
from tests.conformance.programs import FOLLOWS

AB, BC, CA = ("ada", "bob"), ("bob", "cy"), ("cy", "ada")
ADDED = FOLLOWS + ".decl circle(x: symbol) circle(x) :- reaches(x, x). .decl fans(x: symbol, n: number) .input fans"
REPLACED = FOLLOWS.replace("reaches(x, z) :- reaches(x, y), reaches(y, z).", "reaches(y, x) :- reaches(x, y).")
WINDOW = """%0 = source seen : set{at: int64, who: int64}
%1 = map [at] (%0) : zset{at: int64}
%2 = window [at, 2] (%0, %1) : set{at: int64, who: int64}
%3 = sink recent (%2) : set{at: int64, who: int64}"""
DELAY = """%0 = source seen : set{at: int64, who: int64}
%1 = delay (%0) : set{at: int64, who: int64}
%2 = sink before (%1) : set{at: int64, who: int64}"""
BESIDE = """%0 = source seen : set{at: int64, who: int64}
%1 = delay (%0) : set{at: int64, who: int64}
%2 = fixpoint (%0, %1) : <p: set{at: int64, who: int64}>
  body {
    %0 = import 0 : set{at: int64, who: int64}^1
    %1 = import 1 : set{at: int64, who: int64}^1
    %2 = feedback p : set{at: int64, who: int64}^1
    %3 = plus (%0, %2) : zset{at: int64, who: int64}^1
    %4 = distinct (%3) : set{at: int64, who: int64}^1
    %5 = sink p (%4) : set{at: int64, who: int64}^1
  }
%3 = component p (%2) : set{at: int64, who: int64}
%4 = sink all (%3) : set{at: int64, who: int64}"""
PEOPLE = """%0 = source seen : set{at: int64, who: int64}
%1 = map [who] (%0) : zset{who: int64}
%2 = distinct (%1) : set{who: int64}
%3 = sink people (%2) : set{who: int64}"""


def test_a_program_added_in_the_middle(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC, CA], blocked=[("ada",)])
    assert social.extend(ADDED) == {}
    assert social.changes({"blocked": [(("ada",), -1)]})["circle"] == {("ada",): 1, ("bob",): 1, ("cy",): 1}
    assert social.rows("fans", table=True) == set()
    social.insert(fans=[("ada", 1)])
    assert social.rows("fans", table=True) == {("ada", 1)}
    assert social.extend(FOLLOWS) == {}
    assert social.changes({"follows": [(CA, -1)]})["reaches"].keys() > {CA}


def test_a_view_replaced_in_the_middle(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC])
    expected = {("ada", "cy"): -1, ("bob", "ada"): 1, ("cy", "bob"): 1}
    assert social.extend(REPLACED) == {"reaches": expected}
    assert social.changes({"follows": [(AB, -1)]})["reaches"] == {AB: -1, ("bob", "ada"): -1}
    assert social.extend(FOLLOWS) == {"reaches": {("cy", "bob"): -1}}


def test_views_that_change_their_names(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC])
    renamed = FOLLOWS.replace("lonely", "alone")
    assert social.extend(renamed) == {"alone": {("ada",): 1}}
    assert social.changes({"follows": [(CA, 1)]})["alone"] == {("ada",): -1}


def test_a_view_with_other_columns(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC])
    other = FOLLOWS.replace("lonely(who: symbol)", "lonely(n: number)").replace("lonely(x)", "lonely(1)")
    assert social.extend(other) == {"lonely": {(1,): 1}}
    assert social.rows("lonely") == {(1,)}


def test_tables_that_go_take_their_rows_with_them(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB], blocked=[("bob",)])
    without = ".decl follows(who: symbol, whom: symbol) .decl all(x: symbol) all(x) :- follows(x, _)."
    assert social.extend(without) == {"all": {("ada",): 1}}
    assert social.extend(FOLLOWS) == {"reaches": {AB: 1}, "lonely": {("ada",): 1}}
    assert social.rows("blocked", table=True) == set()


def test_a_window_that_stays_knows_the_time(drive):
    log = drive(parse_circuit(WINDOW))
    log.insert(seen=[(1, 7), (10, 8)])
    log.apply({"seen": [((10, 8), -1)]})
    both = f"{WINDOW}\n%4 = map [who] (%2) : zset{{who: int64}}\n%5 = sink people (%4) : zset{{who: int64}}"
    assert log.extend(parse_circuit(both)) == {}
    assert log.changes({"seen": [((9, 5), 1), ((2, 5), 1)]}) == {"recent": {(9, 5): 1}, "people": {(5,): 1}}


def test_a_window_that_is_new_takes_the_time_from_what_is_there(drive):
    log = drive(parse_circuit(PEOPLE))
    log.insert(seen=[(1, 7), (9, 7), (10, 8)])
    log.apply({"seen": [((10, 8), -1)]})
    assert log.extend(parse_circuit(WINDOW)) == {"recent": {(9, 7): 1}}
    assert log.changes({"seen": [((7, 1), 1)]}) == {"recent": {(7, 1): 1}}


def test_a_delay_that_stays_owes_what_it_owed_and_a_new_one_everything(drive):
    log = drive(parse_circuit(DELAY))
    log.insert(seen=[(1, 7)])
    two = (
        f"{DELAY}\n%3 = delay (%1) : set{{at: int64, who: int64}}\n%4 = sink twice (%3) : set{{at: int64, who: int64}}"
    )
    assert log.extend(parse_circuit(two)) == {"before": {(1, 7): 1}}
    assert log.changes({}) == {"twice": {(1, 7): 1}}
    assert log.changes({}) == {}


def test_a_delay_that_no_rule_reads_owes_what_it_owed(drive):
    """What a circuit remembers depends on its nodes, and not on which of them its rules read."""
    log = drive(parse_circuit(BESIDE))
    log.insert(seen=[(1, 7)])
    read = parse_circuit(f"{BESIDE}\n%5 = sink before (%1) : set{{at: int64, who: int64}}")
    assert log.extend(read) == {"before": {(1, 7): 1}}
    assert log.changes({"seen": [((1, 7), -1)]}) == {"all": {(1, 7): -1}}
    assert log.changes({}) == {"before": {(1, 7): -1}}


def test_a_table_that_becomes_a_bag_is_another_table(drive):
    people = drive(parse_circuit(PEOPLE))
    people.insert(seen=[(1, 7)])
    bag = PEOPLE.replace("source seen : set", "source seen : zset")
    assert people.extend(parse_circuit(bag)) == {"people": {(7,): -1}}
    assert people.changes({"seen": [((1, 8), 3)]}) == {"people": {(8,): 1}}


@pytest.mark.parametrize("keys", [1, 300])
def test_columns_that_are_first_compared_by_an_added_rule(drive, keys):
    """They have had domains of their own, with other ranges."""
    tables = ".decl a(x: number, s: symbol) .input a .decl b(x: number) .input b "
    values = drive(tables + ".decl v(x: number) v(x) :- a(x, _).")
    values.insert(a=[(10**12 + i, str(i)) for i in range(keys)], b=[(i,) for i in (5, 10**12)])
    joined = tables + ".decl v(x: number) v(x) :- a(x, _). .decl w(x: number, s: symbol) w(x, s) :- a(x, s), b(x)."
    assert values.extend(joined) == {"w": {(10**12, "0"): 1}}
    assert values.changes({"b": [((10**12 + keys,), 1), ((10**12,), -1)], "a": [((5, "five"), 1)]}) == {
        "v": {(5,): 1},
        "w": {(10**12, "0"): -1, (5, "five"): 1},
    }

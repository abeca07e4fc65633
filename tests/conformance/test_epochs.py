"""What an epoch returns, and what it must leave alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.errors import ChangeError
from tests.conformance.engines import as_set
from tests.conformance.programs import BOTH, FOLLOWS, NULLARY, TYPES

AB, BC, CA = ("ada", "bob"), ("bob", "cy"), ("cy", "ada")


def test_changes_of_views(drive):
    social = drive(FOLLOWS)
    assert social.changes({"follows": [(AB, 1), (BC, 1)]}) == {
        "reaches": {AB: 1, BC: 1, ("ada", "cy"): 1},
        "lonely": {("ada",): 1},
    }
    assert social.changes({"blocked": [(("bob",), 1)]}) == {"reaches": {BC: -1, ("ada", "cy"): -1}}
    assert social.changes({"follows": [(AB, -1), (BC, -1)], "blocked": [(("bob",), -1)]}) == {
        "reaches": {AB: -1},
        "lonely": {("ada",): -1},
    }


def test_a_deletion_takes_a_cycle_s_rows_with_it(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC, ("cy", "bob")])
    assert social.rows("reaches") == {AB, BC, ("cy", "bob"), ("ada", "cy"), ("bob", "bob"), ("cy", "cy")}
    social.apply({"follows": [(BC, -1)]})
    assert social.rows("reaches") == {AB, ("cy", "bob")}


def test_a_row_derived_twice_stays_until_the_last_derivation_goes(drive):
    social = drive(FOLLOWS)
    social.insert(follows=[AB, BC, ("ada", "cy")])
    assert social.changes({"follows": [(("ada", "cy"), -1)]}) == {}
    assert social.changes({"follows": [(BC, -1)]})["reaches"] == {BC: -1, ("ada", "cy"): -1}


@pytest.mark.parametrize("conflicts", ["error", "normalize", "trust"])
def test_empty_epochs(drive, conflicts):
    social = drive(FOLLOWS)
    assert social.apply({}, conflicts).changes == {}
    assert social.apply({"follows": []}, conflicts).changes == {}
    social.insert(follows=[AB])
    before = social.everything()
    for changes in ({}, {"follows": []}, {"follows": [], "blocked": []}):
        result = social.apply(changes, conflicts)
        assert (result.changes, result.rows_in) == ({}, 0)
    assert social.everything() == before


def test_facts_are_derived_in_the_first_epoch_and_never_again(drive):
    both = drive(BOTH)
    assert both.rows("p") == set()
    assert both.changes({}) == {"p": {(1, 2): 1}}
    assert both.changes({}) == {}


def test_a_table_and_a_view_of_one_name(drive):
    both = drive(BOTH)
    assert both.changes({"p": [((2, 3), 1)]}) == {"p": {(1, 2): 1, (2, 3): 1, (1, 3): 1}}
    assert both.changes({"p": [((1, 3), 1), ((1, 2), 1)]}) == {}
    assert both.rows("p", table=True) == {(2, 3), (1, 3), (1, 2)}
    assert both.changes({"p": [((2, 3), -1), ((1, 2), -1)]}) == {"p": {(2, 3): -1}}
    assert both.rows("p") == {(1, 2), (1, 3)}
    assert both.engine.count("p") == 2


def test_rows_in_counts_rows_that_really_changed(drive):
    social = drive(FOLLOWS)
    assert social.insert(follows=[AB, BC], blocked=[("eve",)]).rows_in == 3
    assert social.apply({"follows": [(AB, -1), (CA, 1), (CA, -1)]}).rows_in == 1


def test_changes_are_consolidated_and_typed(drive):
    driver = drive(TYPES)
    row = (-(2**63), 2**64 - 1, -1.5, "é")
    result = driver.insert(t=[row, (1, 1, 1.0, "")])
    (name, table), *_ = result.changes.items()
    assert name == "copy"
    assert table.column_names == ["s", "f", "u", "n", WEIGHT]
    assert table.schema.types == [pa.string(), pa.float64(), pa.uint64(), pa.int64(), pa.int64()]
    assert table.num_rows == len(set(map(tuple, zip(*(c.to_pylist() for c in table.columns), strict=True)))) == 2
    assert result.seconds >= 0
    assert result.rows_visited >= 0


def test_batches_of_many_chunks_and_slices(drive):
    driver = drive(TYPES)
    rows = [(i, i, float(i), f"s{i % 3}") for i in range(20)]
    whole = driver.batch("t", [(row, 1) for row in rows])
    chunks = pa.concat_tables([whole.slice(0, 3), whole.slice(3, 0), whole.slice(3, 9), whole.slice(12, 8)])
    driver.engine.apply({"t": chunks})
    assert driver.rows("t", table=True) == set(rows)
    gone = whole.slice(5, 7).set_column(4, WEIGHT, pa.array([-1] * 7, pa.int64()))
    driver.engine.apply({"t": gone})
    assert driver.rows("t", table=True) == set(rows[:5] + rows[12:])


def test_the_order_of_rows_in_a_batch_does_not_matter(drive):
    pairs = [((f"{i}", f"{(i * 7) % 10}"), 1) for i in range(10)] + [(AB, 1), (AB, -1)]
    one, other = drive(FOLLOWS), drive(FOLLOWS)
    assert one.changes({"follows": pairs}) == other.changes({"follows": pairs[::-1]})
    assert one.everything() == other.everything()


def test_nullary_relations(drive):
    lamps = drive(NULLARY)
    assert lamps.changes({}) == {"always": {(): 1}}
    assert lamps.changes({"lamp": [(("a",), 1), (("b",), 1)]}) == {"dark": {(): 1}, "some": {(): 1}}
    assert lamps.changes({"on": [((), 1)]}) == {"dark": {(): -1}, "shines": {("a",): 1, ("b",): 1}}
    assert lamps.changes({"lamp": [(("b",), -1)]}) == {"shines": {("b",): -1}}
    assert lamps.rows("on", table=True) == {()}
    assert [lamps.engine.count(n) for n in ("always", "dark", "some", "shines")] == [1, 0, 1, 1]
    assert lamps.engine.read("some").num_rows == 1
    assert lamps.engine.read("dark").num_rows == 0
    assert lamps.changes({"on": [((), -1)], "lamp": [(("a",), -1)]}) == {"shines": {("a",): -1}, "some": {(): -1}}


def test_two_engines_of_one_circuit_are_apart(drive):
    one, other = drive(FOLLOWS), drive(FOLLOWS)
    one.insert(follows=[AB])
    assert other.rows("follows", table=True) == set()
    other.insert(follows=[CA])
    assert one.rows("reaches") == {AB}


def test_results_do_not_change_later(drive):
    """A result that was handed out is not a window into the engine's memory."""
    social = drive(FOLLOWS)
    first = social.insert(follows=[AB, BC]).changes["reaches"]
    contents = social.engine.read("reaches")
    social.apply({"follows": [(AB, -1), (CA, 1)]})
    assert as_set(contents) == {AB, BC, ("ada", "cy")}
    assert as_set(first.drop_columns([WEIGHT])) == {AB, BC, ("ada", "cy")}


def test_nan_is_a_value_that_equals_itself(drive):
    driver = drive(TYPES)
    row = (1, 1, float("nan"), "a")
    driver.insert(t=[row])
    with pytest.raises(ChangeError, match="insert a row that is present"):
        driver.insert(t=[row])
    assert driver.apply({"t": [(row, -1)]}).rows_in == 1
    assert driver.engine.count("copy") == 0


def test_zero_has_no_sign(drive):
    driver = drive(TYPES)
    driver.insert(t=[(1, 1, -0.0, "a")])
    assert driver.apply({"t": [((1, 1, 0.0, "a"), -1)]}).rows_in == 1
    assert driver.engine.count("copy") == 0

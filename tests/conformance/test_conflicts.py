"""The check of changes against the contents of tables [DBSP §12.4]: error, normalize, trust."""

from __future__ import annotations

import pytest

from deltic.errors import ChangeError
from tests.conformance.programs import FOLLOWS, NULLARY

AB, BC, CA = ("ada", "bob"), ("bob", "cy"), ("cy", "ada")


@pytest.fixture
def social(drive):
    driver = drive(FOLLOWS)
    driver.insert(follows=[AB, BC], blocked=[("cy",)])
    return driver


WRONG = {
    "insert what is present": {"follows": [(AB, 1)]},
    "delete what is absent": {"follows": [(CA, -1)]},
    "insert twice": {"follows": [(CA, 1), (CA, 1)]},
    "insert with weight two": {"follows": [(CA, 2)]},
    "delete twice": {"follows": [(AB, -1), (AB, -1)]},
    "a good change beside a bad one": {"follows": [(CA, 1), (AB, 1)]},
    "a good table before a bad one": {"blocked": [(("ada",), 1)], "follows": [(AB, 1)]},
    "a good table after a bad one": {"follows": [(AB, 1)], "blocked": [(("ada",), 1)]},
}


@pytest.mark.law("DBSP §12.4")
@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_a_conflict_rejects_the_whole_transaction(social, changes):
    before = social.everything()
    with pytest.raises(ChangeError):
        social.apply(changes)
    assert social.everything() == before
    assert social.changes({"follows": [(CA, 1)]}) == {"lonely": {("ada",): -1}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"follows": [(AB, 1)]}, ["table follows", "insert a row that is present", "('ada', 'bob')"]),
        ({"follows": [(CA, -1)]}, ["table follows", "delete a row that is absent", "('cy', 'ada')"]),
        ({"blocked": [(("cy",), 1)]}, ["table blocked", "('cy')"]),
    ],
)
def test_a_conflict_names_table_operation_and_row(social, changes, words):
    with pytest.raises(ChangeError) as caught:
        social.apply(changes)
    assert all(word in str(caught.value) for word in words)
    assert "nothing was changed" in str(caught.value)


def test_many_conflicts_are_counted(social):
    with pytest.raises(ChangeError, match="and 2 more"):
        social.apply({"blocked": [((f"x{i}",), -1) for i in range(12)]})


def test_all_kinds_of_conflicts_are_told(social):
    message = r"insert a row that is present: \('ada', 'bob'\), .*once: \('x', 'y'\).*absent: \('cy', 'ada'\);"
    with pytest.raises(ChangeError, match=message):
        social.apply({"follows": [(CA, -1), (("x", "y"), 2), (AB, 1)]})


CANCELLING = {
    "delete and insert what is present": [(AB, -1), (AB, 1)],
    "insert and delete what is absent": [(CA, 1), (CA, -1)],
    "insert, delete, insert": [(CA, 1), (CA, -1), (CA, 1)],
}


@pytest.mark.parametrize("pairs", CANCELLING.values(), ids=CANCELLING)
@pytest.mark.parametrize("conflicts", ["error", "normalize", "trust"])
def test_changes_of_one_row_add_up(social, pairs, conflicts):
    total = sum(weight for _, weight in pairs)
    result = social.apply({"follows": pairs}, conflicts)
    assert result.rows_in == total
    assert social.rows("follows", table=True) == {AB, BC} | ({CA} if total else set())


@pytest.mark.law("DBSP §12.4")
def test_normalize_ignores_what_does_not_fit(social):
    changes = [(AB, 1), (CA, -1), (BC, -1), (("dan", "eve"), 3), (("fay", "gus"), -2)]
    result = social.apply({"follows": changes}, "normalize")
    assert result.rows_in == 2
    assert social.rows("follows", table=True) == {AB, ("dan", "eve")}
    assert social.rows("reaches") == {AB, ("dan", "eve")}


def test_normalize_of_nothing_but_no_ops_changes_nothing(social):
    result = social.apply({"follows": [(AB, 1)], "blocked": [(("ada",), -1)]}, "normalize")
    assert (result.changes, result.rows_in) == ({}, 0)


@pytest.mark.law("DBSP §12.4")
def test_trust_takes_good_changes_as_they_are(social):
    assert social.changes({"follows": [(CA, 1), (AB, -1)]}, "trust")["lonely"] == {("ada",): -1, ("bob",): 1}
    assert social.rows("follows", table=True) == {BC, CA}


def test_conflicts_of_a_nullary_table(drive):
    lamps = drive(NULLARY)
    with pytest.raises(ChangeError, match="delete a row that is absent"):
        lamps.apply({"on": [((), -1)]})
    lamps.insert(on=[()])
    with pytest.raises(ChangeError, match="insert a row that is present"):
        lamps.insert(on=[()])
    assert lamps.apply({"on": [((), 1)]}, "normalize").rows_in == 0

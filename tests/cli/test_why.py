"""`deltic why`: rows as they are typed, the forms of output, and a state in the place of a program."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.cli.conftest import command


def test_a_row_and_an_absence(workshop):
    result = command("why", "reach.dl", 'reaches("ada", _)', "--facts", "facts")
    assert (result.status, result.out.splitlines()[-1].strip()) == (0, 'follows("ada", "bob")')
    result = command("why", "reach.dl", 'reaches(x="zoe")', "--facts", "facts", "--not")
    assert "fails: no row of follows with" in result.out


def test_what_is_missing(workshop):
    result = command("why", "reach.dl", 'reaches("ada", "zoe")', "--facts", "facts", "--missing", "1")
    assert 'follows("ada", "zoe")' in result.out.splitlines()
    document = command(
        "why", "reach.dl", 'reaches("zoe", "ada")', "--facts", "facts", "--missing", "1", "--json"
    ).document
    assert [{"table": "follows", "row": ["zoe", "ada"]}] in document


def test_json_and_drawings(workshop):
    document = command("why", "reach.dl", 'reaches("ada", _)', "--facts", "facts", "--json").document
    assert [step["relation"] for step in document["steps"]] == ["reaches", "follows"]
    assert document["steps"][0]["premises"] == [1]
    assert "n0 -> n1" in command("why", "reach.dl", 'reaches("ada", _)', "--facts", "facts", "--dot").out
    picture = command("why", "reach.dl", 'reaches("ada", _)', "--facts", "facts", "--svg").out
    assert 'class="box end"' in picture
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_a_state(workshop):
    assert command("run", "reach.dl", "--facts", "facts", "--state", "kept").status == 0
    for place in (["kept"], ["--state", "kept"]):
        assert 'follows("ada", "bob")' in command("why", *place, 'reaches("ada", "bob")').out
        assert "n0 -> n1" in command("why", *place, 'reaches("ada", "bob")', "--dot").out
        document = command("why", *place, 'reaches("ada", "zoe")', "--not", "--json").document
        assert document["ways"][0]["fails"] == 'no row of follows with who = "ada", whom = "zoe"'
    for wrong in (["reach.dl"], ["reach.dl", 'reaches("ada", _)', "--state", "kept"]):
        assert (command("why", *wrong).status, "give a program and a row" in command("why", *wrong).err) == (2, True)
    assert "does not exist" in command("why", "reech.dl", 'reaches("ada", _)').err


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('reaches("ada"', "is no row: a row is written as"),
        ('reaches("ada")', "reaches has the columns x, y"),
        ('reches("ada", _)', "did you mean"),
        ("reaches(x=1)", "column x: expected"),
        ("reaches(w=1)", "there is no column 'w' in reaches"),
        ('reaches("ada", "ada")', "why_not says what is missing"),
    ],
)
def test_mistakes(workshop, row, told):
    result = command("why", "reach.dl", row, "--facts", "facts")
    assert (result.status, told in result.err) == (1, True), result.err

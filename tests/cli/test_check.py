"""The gate for CI: costs are counted, kept in a file, and a program that costs more than that fails."""

from __future__ import annotations

import json

import pytest

import deltic
from deltic.cli.check import ProgramCosts, differences
from tests.cli.conftest import command

RULES = "reaches(x, y) :- follows(x, y).\nreaches(x, z) :- reaches(x, y), follows(y, z).\n"


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head = ".decl follows(x: symbol, y: symbol)\n.input follows\n.decl reaches(x: symbol, y: symbol)\n.output reaches\n"
    (tmp_path / "reach.dl").write_text(head + RULES)
    for folder in ("facts", "changes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "facts/follows.facts").write_text("".join(f"a{n}\ta{n + 1}\n" for n in range(30)))
    (tmp_path / "changes/1.follows.tsv").write_text("-\ta0\ta1\n")
    return tmp_path / "reach.dl"


def check(*more):
    return command("check", "reach.dl", "-F", "facts", "--changes", "changes", *more)


def test_costs_are_written_and_then_held(program):
    assert check().err.startswith("error: reach.costs.json: there is no such file")
    assert check("--update").out == "reach.costs.json has the costs of 1 view and 2 epochs\n"
    costs = json.loads((program.parent / "reach.costs.json").read_text())
    assert costs["incremental"] == {"reaches": True}
    assert costs["visited"].keys() == {"initial", "1.follows.tsv"}
    assert costs["entries"]["reaches"] > 400
    result = check()
    assert (result.status, result.out.splitlines()[-1]) == (0, "no cost is above reach.costs.json")
    assert costs["seconds"].keys() == costs["visited"].keys()
    place = program.parent / "reach.costs.json"
    place.write_text(json.dumps(costs | {"seconds": dict.fromkeys(costs["seconds"], 1e-9)}))
    assert check().status == 0
    slow = check("--slower", "50")
    assert (slow.status, "1.follows.tsv: seconds" in slow.out) == (1, True)


def test_a_program_that_visits_and_keeps_more_fails(program):
    check("--update")
    program.write_text(program.read_text() + "reaches(x, z) :- reaches(x, y), reaches(y, z).\n")
    result = check()
    assert result.status == 1
    assert any(
        line.split()[:1] == ["1.follows.tsv:"] and line.endswith("too high")
        for line in map(str.rstrip, result.out.splitlines())
    )
    assert "differences from reach.costs.json are too high" in result.out


def test_a_state_is_measured_and_stays_as_it_is(program):
    with deltic.Pipeline(state="kept", program=program) as pipeline, pipeline.transaction() as change:
        change.insert("follows", [(f"a{n}", f"a{n + 1}") for n in range(30)])
    ask = ("check", "reach.dl", "--state", "kept", "--changes", "changes")
    assert command(*ask, "--update").status == 0
    costs = json.loads((program.parent / "reach.costs.json").read_text())
    assert costs["visited"].keys() == {"initial", "1.follows.tsv"}
    assert costs["visited"]["1.follows.tsv"] > 20
    assert costs["entries"]["reaches"] > 400
    assert command(*ask).status == 0
    with deltic.Pipeline(state="kept") as pipeline:
        assert (pipeline.epoch, len(pipeline["follows"])) == (1, 30)
    program.write_text(program.read_text() + "reaches(x, z) :- reaches(x, y), reaches(y, z).\n")
    assert command(*ask).status == 1


def test_a_state_that_is_none(program):
    (program.parent / "empty").mkdir()
    assert "empty has no state" in command("check", "reach.dl", "--state", "empty").err
    both = command("check", "reach.dl", "--state", "empty", "--facts", "facts").err
    assert "from --facts or from --state" in both


def test_without_facts_the_views_alone_are_compared(program):
    assert command("check", "reach.dl", "--update", "--file", "a.json").status == 0
    assert command("check", "reach.dl", "--file", "a.json").status == 0
    assert json.loads((program.parent / "a.json").read_text()) == {
        "entries": {},
        "incremental": {"reaches": True},
        "seconds": {},
        "visited": {},
    }
    (program.parent / "a.json").write_text("[]")
    assert "the file has no costs" in command("check", "reach.dl", "--file", "a.json").err


def test_which_differences_fail():
    before = ProgramCosts({"a": True, "gone": True}, {"1": 100.0, "2": 5.0}, {"r": 50})
    now = ProgramCosts({"a": False, "new": True}, {"1": 110.0, "2": 5.6}, {"r": 40})
    assert [(each.what.partition(":")[0], each.fails) for each in differences(before, now)] == [
        ("view a", True),
        ("view new", False),
        ("view gone", False),
        ("1", False),
        ("2", True),
        ("r", False),
    ]

"""The example of a front end is installed and found. Catches an entry point that is not, and a guide that misleads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import deltic
from deltic.errors import ProgramError

EXAMPLE = Path(__file__).parents[2] / "examples" / "front_end"
PROGRAM = (EXAMPLE / "trips.paths").read_text(encoding="utf-8")


pytestmark = pytest.mark.xdist_group("front end")  # one worker installs it for all


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder in which the example is installed, as pip does it, without what it requires."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(folder), str(EXAMPLE)], check=True, capture_output=True)
    return folder


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)


def closure(pairs: set) -> set:
    found = set(pairs)
    while more := {(a, d) for a, b in found for c, d in pairs if b == c} - found:
        found |= more
    return found


def joined(first: set, then: set) -> set:
    return {(a, d) for a, b in first for c, d in then if b == c}


def test_views_follow_random_changes(installed, tmp_path):
    rng, places = random.Random(7), "abcdef"
    tables = {"train": set(), "ferry": set()}
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.define(PROGRAM, "paths")
        for _ in range(20):
            with pipeline.transaction() as change:
                for name, rows in tables.items():
                    flipped = {(rng.choice(places), rng.choice(places)) for _ in range(2)}
                    change.insert(name, sorted(flipped - rows))
                    change.delete(name, sorted(flipped & rows))
                    rows ^= flipped
            trip = closure(tables["train"] | tables["ferry"])
            island = joined(joined(trip, tables["ferry"]), closure(tables["train"]) | tables["ferry"])
            assert (set(pipeline["trip"]), set(pipeline["island"])) == (trip, island)
    with deltic.Pipeline(state=tmp_path) as pipeline:
        assert set(pipeline["island"]) == island
        pipeline.sql("CREATE TABLE bus (a STRING NOT NULL, b STRING NOT NULL, PRIMARY KEY (a, b))")
        pipeline.define("town = bus trip", "paths")
        pipeline.sql("INSERT INTO bus VALUES ('x', 'a')")
        assert set(pipeline["town"]) == joined({("x", "a")}, trip)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("edges 1", "<paths>:1:7: a name is expected here"),
        ("edges t\nx = t | u", "<paths>:2:9: there are no edges u"),
        ("edges t\nx = (t t", "<paths>:2:9: `)` is expected here"),
        ("edges t\nx = t) t", "<paths>:2:6: nothing more is expected, found `)`"),
    ],
)
def test_mistakes_have_their_place(installed, text, message):
    pipeline = deltic.Pipeline()
    with pytest.raises(ProgramError) as error:
        pipeline.define(text, "paths")
    assert str(error.value).startswith(message)
    assert list(pipeline) == []


def test_the_commands_know_its_files(site, tmp_path):
    (tmp_path / "train.facts").write_text("a\tb\nb\tc\n")
    (tmp_path / "ferry.facts").write_text("c\td\nd\te\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}

    def command(*arguments: str) -> str:
        whole = [sys.executable, "-m", "deltic.cli.main", *arguments]
        return subprocess.run(whole, check=True, capture_output=True, text=True, env=environment).stdout

    program = str(EXAMPLE / "trips.paths")
    command("run", program, "--facts", str(tmp_path), "--out", str(tmp_path / "out"))
    assert sorted((tmp_path / "out" / "island.csv").read_text().splitlines()) == ["a\te", "b\te"]
    assert "fixpoint" in command("explain", program, "trip")

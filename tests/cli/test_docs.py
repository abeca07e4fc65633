"""docs/running.md does what it says. Catches an example that has gone stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import command, without_measurements

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The files of the example, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return command_line()


def command_line():
    (line,) = re.findall(r"^    deltic (run .*)$", PAGE, re.MULTILINE)
    return [*line.split(), "--engine", "local"]


def block_after(words):
    return re.search(re.escape(words) + r".*?```\w+\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_first_run(example):
    result = command(*example)
    assert result.status == 0
    assert without_measurements(result.out) == without_measurements(block_after("The run prints:"))
    assert len(Path("out/changes/2.follows.csv/reaches.tsv").read_text().splitlines()) == 5


def test_the_mistake(example):
    with open("changes/2.follows.csv", "w") as file:
        file.write("+,bob,eve\n+,eve,kim,lee\n")
    result = command(*example)
    assert result.status == 1
    assert result.err == block_after("rejects its epoch:")


def test_every_option_is_one_of_the_command():
    known = "".join(command(name, "--help").out for name in ("run", "explain", "check", "why"))
    for option in set(re.findall(r"--[a-z][a-z-]+", PAGE)):
        assert option in known

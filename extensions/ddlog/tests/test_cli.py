"""DDlog from the shell. Catches commands that print something else, wrong statuses, and options that do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import command

FIREWALL = Path(__file__).parents[1] / "examples/firewall"

PROGRAM = """
import shapes
input relation Edge(from: u32, to: u32)
output relation Path(from: u32, to: u32)
Path(x, y) :- Edge(x, y), shapes::is_wide(y).
Path(x, z) :- Path(x, y), Edge(y, z).
"""
COMMANDS = """
start;
insert Edge(1, 2), insert Edge(2, 1);
commit dump_changes;
start; delete Edge(2, 1); commit dump_changes;
dump Path;
"""
PRINTED = """Path:
Path{.from = 1, .to = 1}: +1
Path{.from = 1, .to = 2}: +1
Path{.from = 2, .to = 1}: +1
Path{.from = 2, .to = 2}: +1
Path:
Path{.from = 1, .to = 1}: -1
Path{.from = 2, .to = 1}: -1
Path{.from = 2, .to = 2}: -1
Path{.from = 1, .to = 2}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/shapes.dl").write_text("function is_wide(x: u32): bool { x > 0 }\n")
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "p.dat").write_text(COMMANDS)
    (tmp_path / "wrong.dat").write_text(COMMANDS + "dump Nothing;\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_are_run(folder):
    result = command("run", "p.dl", "--language", "ddlog", "--commands", "p.dat", "-L", "lib")
    assert (result.status, result.out, result.err) == (0, PRINTED, "")


def test_the_first_wrong_command_ends_the_run(folder):
    result = command("run", "p.dl", "--language", "ddlog", "--commands", "wrong.dat", "-L", "lib")
    assert (result.status, result.out) == (1, PRINTED)
    assert "wrong.dat:7:1: there is no output relation Nothing" in result.err


def test_explain(folder):
    result = command("explain", "p.dl", "Path", "--language", "ddlog", "-L", "lib")
    assert (result.status, result.err) == (0, "")
    assert "Path(x, z) += ΔPath(x, y), Edge(y, z)" in result.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "p.dl", "--language", "ddlog", "--commands", "p.dat", "--state", "s"),
        ("explain", "p.dl", "--language", "ddlog", "--facts", "lib"),
        ("explain", "p.dl", "--language", "ddlog", "-M", "N=1"),
    ],
)
def test_options_that_do_not_go_together(folder, arguments):
    assert command(*arguments).status == 2


def test_a_module_that_is_nowhere_is_told(folder):
    result = command("run", "p.dl", "--language", "ddlog", "--commands", "p.dat")
    assert result.status == 1
    assert "shapes" in result.err


def test_the_firewall_of_the_examples():
    result = command(
        "run", str(FIREWALL / "policy.dl"), "--language", "ddlog", "--commands", str(FIREWALL / "policy.dat")
    )
    assert (result.status, result.out, result.err) == (0, (FIREWALL / "policy.expected").read_text(), "")

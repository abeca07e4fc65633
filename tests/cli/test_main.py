"""The other commands, and the command as a process: how quickly it answers and what a missing Java is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from deltic import __version__
from tests.cli.conftest import command
from tests.test_layers import HEAVY


def process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "deltic.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_version():
    assert command("version").out == f"deltic {__version__}\n"


def test_help_names_the_commands():
    out = process("--help").stdout
    for name in ("run", "explain", "demo", "version"):
        assert f" {name} " in out


def test_help_loads_nothing_heavy():
    """What takes time to load is not loaded; the time itself varies with the machine."""
    program = "import sys, json, deltic.cli.main; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    names = {name.split(".")[0] for name in json.loads(loaded)}
    assert HEAVY.isdisjoint(names)
    assert not [name for name in json.loads(loaded) if name.startswith("deltic.") and not name.startswith("deltic.cli")
                and name != "deltic.errors"]  # fmt: skip


@pytest.mark.parametrize("view", [["reaches"], []])
def test_explain(workshop, view):
    result = command("explain", "reach.dl", *view)
    assert result.status == 0
    assert "follows" in result.out
    assert ("adult" in result.out) == (not view)


DRAWINGS = {"dot": "digraph deltic {\n", "mermaid": "flowchart TD\n", "svg": "<svg "}


@pytest.mark.parametrize(("form", "start"), DRAWINGS.items())
@pytest.mark.parametrize("view", [["reaches"], []])
def test_explain_draws(workshop, view, form, start):
    result = command("explain", "reach.dl", *view, "--format", form)
    assert (result.status, result.out.startswith(start)) == (0, True)
    assert "sink reaches" in result.out
    assert "incremental circuit" in result.out
    assert ("sink adult" in result.out) == (not view)
    assert ("semi-naive" in result.out) == bool(view)


@pytest.mark.parametrize("form", ["text", *DRAWINGS])
def test_explain_of_what_there_is_not(workshop, form):
    result = command("explain", "reach.dl", "reach", "--format", form)
    assert (result.status, result.out) == (1, "")
    assert result.err == "error: there is no view 'reach'; did you mean `reaches`?\n"


def test_a_missing_java_is_one_line_with_the_remedy(workshop, monkeypatch):
    result = process("run", "reach.dl", "--facts", "facts", JAVA_HOME="/nowhere")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(
        "error: Spark needs Java, and JAVA_HOME is /nowhere, which has no bin/java: install "
    )
    assert "`--engine local`" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_old_java_is_told_as_such(workshop):
    java = workshop.folder / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    java.chmod(0o755)
    result = process("run", "reach.dl", "--facts", "facts", JAVA_HOME=str(java.parents[1]))
    assert result.returncode == 1
    assert f"Spark needs Java 17 or later, and {java} is version 8" in result.stderr


@pytest.mark.spark
def test_the_whole_command_with_a_session_of_its_own(workshop):
    """Nothing of Spark's and Java's chatter is seen, and it ends by itself."""
    result = process("run", "reach.dl", "--facts", "facts", "--changes", "changes", "--master", "local[1]",
                     "--driver-memory", "512m", "--format", "parquet")  # fmt: skip
    said = [line for line in result.stderr.splitlines() if not line.startswith(("first use: ", "compiling "))]
    assert (result.returncode, said) == (0, [])
    assert "adult\t2\n" in result.stdout
    assert (workshop.folder / "out/reaches.parquet/_SUCCESS").exists()


@pytest.mark.spark
def test_a_session_that_does_not_start_is_told_in_one_line(workshop):
    result = process("run", "reach.dl", "--facts", "facts", "--master", "locl")
    assert result.returncode == 1
    assert result.stderr.startswith("error: Spark did not start: ")
    assert "aster" in result.stderr
    assert result.stderr.count("\n") == 1

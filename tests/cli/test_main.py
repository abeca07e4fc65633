"""The other commands, and the command as a process: how quickly it answers and what a missing Java is told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

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
    assert command("--version").out == f"deltic {__version__}\n"


def test_help_names_the_commands():
    out = process("--help").stdout
    for name in ("run", "explain", "demo", "--version"):
        assert f" {name} " in out


def test_help_loads_nothing_heavy():
    """What takes time to load is not loaded; the time itself varies with the machine."""
    program = "import sys, json, deltic.cli.main; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    names = {name.split(".")[0] for name in json.loads(loaded)}
    assert HEAVY.isdisjoint(names)
    assert not [name for name in json.loads(loaded) if name.startswith("deltic.") and not name.startswith("deltic.cli")
                and name not in ("deltic.errors", "deltic.passwords")]  # fmt: skip


@pytest.mark.parametrize("view", [["reaches"], []])
def test_explain(workshop, view):
    result = command("explain", "reach.dl", *view)
    assert (result.status, "circuit:" in result.out, len(result.out.splitlines()) <= 40) == (0, False, True)
    result = command("explain", "reach.dl", *view, "--full")
    assert (result.status, "incremental circuit:" in result.out) == (0, True)
    assert "follows" in result.out
    assert ("adult" in result.out) == (not view)


EXISTENTIAL = """
.decl i(x: number)
.decl n(x: number)
.decl o(x: number)
.input i, n
.output o
o(x) :- i(x), n(a), n(b).
"""


def test_explain_a_state(workshop):
    assert command("run", "reach.dl", "--facts", "facts", "--state", "kept").status == 0
    assert (
        command("explain", "kept", "reaches").out == command("explain", "reach.dl", "reaches", "--facts", "facts").out
    )
    refused = command("explain", "kept", "reaches", "--facts", "facts")
    assert (refused.status, "a state has its rows" in refused.err) == (2, True)


def test_explain_the_plan_for_facts(workshop):
    workshop.write("pairs.dl", EXISTENTIAL)
    for table in "in":
        workshop.write(f"rows/{table}.facts", "".join(f"{n}\n" for n in range(200)))
    assert "expected" not in command("explain", "pairs.dl", "o").out
    found = command("explain", "pairs.dl", "o", "--facts", "rows")
    assert found.status == 0
    assert "() :- n(x'); expected: the work of" in found.out
    assert "so far: " in found.out
    missing = command("explain", "pairs.dl", "o", "--facts", "changes")
    assert missing.status == 1
    assert "i.facts" in missing.err


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
    result = process("run", "reach.dl", "--facts", "facts", "--master", "local[1]", JAVA_HOME="/nowhere")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(
        "error: Spark needs Java, and JAVA_HOME is /nowhere, which has no bin/java: install "
    )
    assert "without --master Deltic reads and writes the files itself" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_demonstration_without_java_advises_nothing_that_it_has_not(tmp_path):
    result = process("demo", "--out", str(tmp_path), JAVA_HOME="/nowhere")
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "which has no bin/java: install Java 17" in result.stderr
    assert "--" not in result.stderr


def test_three_rows_need_no_java(workshop):
    result = process("run", "reach.dl", "--facts", "facts", JAVA_HOME="/nowhere")
    assert result.returncode == 0
    assert workshop.read("out/reaches.csv")


def java_of(workshop, version):
    """A home of Java that tells its version, and runs nothing."""
    java = workshop.folder / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return str(java.parents[1])


def test_a_master_that_does_not_answer_is_told_before_spark_is_started(workshop):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    given = ["--facts", "facts", "--master", f"spark://{address}"]
    result = process("run", "reach.dl", *given, JAVA_HOME=java_of(workshop, "17.0.1"))
    assert result.returncode == 1
    assert result.stderr.startswith(
        f"error: no answer from the Spark master spark://{address} ({address}: Connection ref"
    )
    assert "start it, correct its address, or use local[*]" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_old_java_is_told_as_such(workshop):
    home = java_of(workshop, "1.8.0_402")
    result = process("run", "reach.dl", "--facts", "facts", "--master", "local[1]", JAVA_HOME=home)
    assert result.returncode == 1
    assert f"Spark needs Java 17 or later, and {home}/bin/java is version 8" in result.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_the_whole_command_with_a_session_of_its_own(workshop):
    """Nothing of Spark's and Java's chatter is seen, and it ends by itself."""
    result = process("run", "reach.dl", "--facts", "facts", "--changes", "changes", "--master", "local[1]",
                     "--driver-memory", "512m", "--shards", "2", "--format", "parquet",
                     "--conf", "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs=false")  # fmt: skip
    said = [line for line in result.stderr.splitlines() if not line.startswith(("first use: ", "compiling "))]
    assert (result.returncode, said) == (0, [])
    assert "adult\t2\n" in result.stdout
    names = [path.name for path in (workshop.folder / "out/reaches.parquet").iterdir()]
    assert [name[:5] for name in names if not name.startswith(".")] == ["part-"]


@pytest.mark.spark
def test_a_session_that_does_not_start_is_told_in_one_line(workshop):
    result = process("run", "reach.dl", "--facts", "facts", "--master", "locl")
    assert result.returncode == 1
    assert result.stderr.startswith("error: Spark did not start with the master locl: ")
    assert "aster" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_run_and_leaves_nothing_unfinished(workshop, number, status):
    """The signal comes while an output is being written, to a pipe that nobody reads."""
    workshop.write("reach.dl", "".join(f'.decl p(x: symbol)\n.output p\np("{"x" * 100_000}").'))
    (workshop.folder / "out").mkdir()
    pipe = workshop.folder / "out/.p.csv.unfinished"
    os.mkfifo(pipe)
    started = start("run", "reach.dl", TMPDIR=str(workshop.folder))
    reader = os.open(pipe, os.O_RDONLY)
    os.read(reader, 1)
    started.send_signal(number)
    assert started.wait(30) == status
    os.close(reader)
    assert list((workshop.folder / "out").iterdir()) == []


@pytest.mark.spark
def test_terminated_while_spark_runs_no_temporary_folder_stays(workshop):
    temporary = workshop.folder / "tmp"
    temporary.mkdir()
    started = start("run", "reach.dl", "--facts", "facts", "--master", "local[1]", TMPDIR=str(temporary))
    deadline = time.monotonic() + 60
    while not list(temporary.glob("deltic-spark-*/local/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    assert started.wait(60) == 143
    assert list(temporary.glob("deltic-*")) == []


def start(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "deltic.cli.main", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | environment,
    )

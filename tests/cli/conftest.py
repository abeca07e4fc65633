"""A small program with facts and changes, and the command to run it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

PROGRAM = """
.decl follows(who: symbol, whom: symbol)
.input follows
.decl age(who: symbol, years: number)
.input age
.decl reaches(x: symbol, y: symbol)
.output reaches
reaches(x, y) :- follows(x, y).
reaches(x, z) :- reaches(x, y), follows(y, z).
.decl adult(x: symbol)
.printsize adult
adult(x) :- age(x, years), years >= 18.
"""


@dataclass
class Result:
    """What a run of the command gave."""

    status: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)


@dataclass
class Workshop:
    """A folder with a program, its facts and its changes."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> list[str]:
        """The lines of a file, or of a folder's part files, sorted."""
        path = self.folder / name
        files = [part for part in path.iterdir() if part.name.startswith("part-")] if path.is_dir() else [path]
        return sorted(line for file in files for line in file.read_text(encoding="utf-8").splitlines())

    def run(self, *arguments: str, engine: str = "auto") -> Result:
        """`deltic run` with the folder's program and facts, in this process; "spark" reads and writes through Spark."""
        chosen = ["--master", "local[2]"] if engine == "spark" else ["--engine", engine]
        options = ["--facts", "facts", "--out", "out", *chosen, *arguments]
        return command("run", "reach.dl", *options)


def command(*arguments: str) -> Result:
    from deltic.cli.main import app

    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


def without_measurements(text: str) -> list[str]:
    """The lines of what a run prints, but for times, memory, rows visited and the widths that they give to columns."""
    lines = (line for line in text.strip().splitlines() if "─" not in line)
    words = (re.sub(r"[\d.]+ (ms|s|GiB)", "?", line) for line in lines)
    return [" ".join(re.sub(r"\? +[\d,]+ *$", "? ?", line).split()) for line in words]


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Workshop(tmp_path)
    made.write("reach.dl", PROGRAM)
    made.write("facts/follows.facts", "ada\tbob\nbob\teve\nada\tbob\n")
    made.write("facts/age.csv", "ada,36\nbob,12\n")
    made.write("changes/2.follows.tsv", "-\tada\tbob\n")
    made.write("changes/10/follows.csv", "+eve,ada\n+,ada,bob\n")
    made.write("changes/10/age.json", '{"op": "+", "who": "eve", "years": 40}\n')
    return made

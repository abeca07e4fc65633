"""The options of `deltic run`, and the values that they take."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from typer import BadParameter

_WORD = re.compile(r'(?:"(?:\\.|[^"\\])*"|\S)+')
"""A word, in which blanks stand in quotes."""


def macros_of(given: Sequence[str]) -> dict[str, str]:
    """The macros that options `--define NAME` and `--define NAME=TEXT` define; as in C, 1 where nothing is said.

    One option may define several, as Soufflé's does: they are words.
    """
    split = (word.partition("=") for text in given for word in _WORD.findall(text))
    return {name: text if sign else "1" for name, sign, text in split}


def pragmas_of(given: Sequence[str], directories: Sequence[Path] = ()) -> dict[str, str]:
    """The pragmas that options `--pragma NAME` and `--pragma NAME=VALUE` say, or with Soufflé NAME:VALUE.

    That of `directories` says where included files are sought.
    """
    said = {name: value for name, _, value in (re.sub("[=:]", "=", text, count=1).partition("=") for text in given)}
    return said | {"include-dir": os.pathsep.join(map(str, directories))} if directories else said


def settings_of(given: Sequence[str]) -> dict[str, str]:
    """The settings of Spark that options `--conf NAME=VALUE` say; raises typer.BadParameter for one without a value."""
    split = {name: (sign, value) for name, sign, value in (text.partition("=") for text in given)}
    for name, (sign, _) in split.items():
        if not (name and sign):
            raise BadParameter(f"--conf is a setting of Spark, as in spark.executor.memory=4g; found {name!r}")
    return {name: value for name, (_, value) in split.items()}


class EngineChoice(StrEnum):
    """What reads and writes, and what evaluates."""

    auto = "auto"
    local = "local"
    spark = "spark"
    reference = "reference"


class DemoEngine(StrEnum):
    """What keeps the views of the demonstration."""

    auto = "auto"
    local = "local"
    spark = "spark"


class RoundsOption(StrEnum):
    """When recursions that preserve no key take rounds on shards."""

    auto = "auto"
    always = "always"
    never = "never"


class ExecutorOption(StrEnum):
    """What computes a transaction on shards."""

    auto = "auto"
    process = "process"
    job = "job"


class CopiesOption(StrEnum):
    """Whether every shard has a copy of what is small beside what it is joined with."""

    auto = "auto"
    never = "never"


class RefreshChoice(StrEnum):
    """When recursive views are computed anew."""

    auto = "auto"
    incremental = "incremental"
    strict = "incremental strict"
    full = "full"


class OutputFormat(StrEnum):
    """The form of the views that are written."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    arrow = "arrow"


class ExplainFormat(StrEnum):
    """How `deltic explain` shows circuits."""

    text = "text"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


class LogFormat(StrEnum):
    """The form of the records of epochs on standard error."""

    text = "text"
    json = "json"


class OnError(StrEnum):
    """What a malformed row does to its epoch."""

    stop = "stop"
    skip = "skip"


class MissingFacts(StrEnum):
    """What to do where a table with `.input` has no file."""

    error = "error"
    empty = "empty"


class ConflictPolicy(StrEnum):
    """What to do with changes that do not fit their table."""

    error = "error"
    normalize = "normalize"
    trust = "trust"


class LateChoice(StrEnum):
    """What to do with rows that come too late."""

    drop = "drop"
    error = "error"


class RewriteChoice(StrEnum):
    """Rewrites that a plan may use; see `deltic.calculus.planning`."""

    eliminate = "eliminate"
    share = "share"
    demand = "demand"


@dataclass(frozen=True)
class DdlogOptions:
    """How a DDlog program is run: by which commands, with modules from where, and what is printed at first."""

    commands: Path
    libraries: tuple[Path, ...]
    initial: bool


@dataclass(frozen=True)
class RunOptions:
    """The command line of `deltic run`, with the types of its values checked."""

    program: Path
    facts: Path
    changes: Path | None
    out: Path
    engine: EngineChoice
    master: str | None
    driver_memory: str | None
    conf: tuple[str, ...]
    format: OutputFormat | None
    on_error: OnError
    missing: MissingFacts
    conflicts: ConflictPolicy
    late: LateChoice
    strategy: tuple[str, ...]
    refresh: RefreshChoice
    switch: float
    iteration_limit: int
    now: str | None
    functions: Path | None
    macros: tuple[str, ...]
    pragmas: tuple[str, ...]
    directories: tuple[Path, ...]
    threads: int | None
    spill: Path | None
    memory: str | None
    without: tuple[RewriteChoice, ...]
    state: str | None
    as_json: bool
    quiet: bool
    metrics: int | None
    log: LogFormat | None
    shards: int | None
    directory: str | None
    executor: ExecutorOption | None
    rounds: RoundsOption | None
    task_memory: str | None
    copies: CopiesOption | None
    ddlog: DdlogOptions | None = None

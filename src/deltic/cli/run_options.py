"""The options of `deltic run`, in groups."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal

from typer import BadParameter

from deltic.cli.grouped import option
from deltic.cli.options import AllowOutside, Json, Language, Program, ProgramOptions, State, TextOptions, file, folder

ON_STDOUT = Path("-")
"""The folder of outputs that stands for standard output."""


EngineChoice = Literal["auto", "local", "spark", "reference"]
"""What evaluates the views."""


class RewriteChoice(StrEnum):
    """Rewrites that a plan may use; see `deltic.calculus.planning`. Options of typer may not be lists of literals."""

    eliminate = "eliminate"
    share = "share"
    demand = "demand"


@dataclass(frozen=True)
class FileOptions:
    """Where rows are read and views are written."""

    panel: ClassVar = "Files"

    facts: Path = option(Path(), folder("Folder of initial rows.", True, "--facts", "-F"))
    changes: Path | None = option(None, folder("Folder of changes: each file or sub-folder is one epoch."))
    out: Path = option(
        Path("out"), "Folder for views, their changes and rejects; -: print the views.", "--out", "-D", file_okay=False
    )
    output_format: Literal["csv", "parquet", "json", "arrow"] | None = option(
        None, "Format of views.", "--format", shown="csv, or as .output says"
    )
    text: TextOptions = field(default_factory=TextOptions)
    on_error: Literal["stop", "skip"] = option("stop", "On malformed rows: stop, or skip and list them.")
    reject_limit: int = option(
        1000, "With --on-error skip: the run ends where more malformed rows than this are skipped.", min=0
    )
    missing: Literal["error", "empty"] = option(
        "error", "A missing file of .input: an error, or no rows.", "--missing-facts"
    )
    outside: AllowOutside = False

    def check(self) -> None:
        """Raise BadParameter for options that do not go together."""
        if self.out == ON_STDOUT and (self.changes or self.output_format):
            raise BadParameter("--out - prints the final views, without --changes and --format")
        if self.changes and (self.out / "changes").resolve() == self.changes.resolve():
            raise BadParameter("the changes of views go to OUT/changes, which is --changes here; choose another --out")


@dataclass(frozen=True)
class ViewOptions:
    """How changes are checked, and how views are updated."""

    panel: ClassVar = "Changes and views"

    conflicts: Literal["error", "normalize", "trust"] = option(
        "error", "On insertion of a present row, or deletion of an absent one."
    )
    late: Literal["drop", "error"] = option(
        "drop", "On rows later than a table's LATENESS: drop and list them, or stop."
    )
    engine: EngineChoice = option("auto", "Engine of the views; spark: shards; reference: slow, for comparison.")
    strategy: list[str] | None = option(
        None,
        "Counts of recursive views, or of one: at all iterations, the first, or none. May be repeated.",
        metavar="[VIEW=]nested|elastic|full",
        shown="nested",
    )
    refresh: Literal["auto", "incremental", "incremental strict", "full"] = option(
        "auto", "When views are recomputed instead of updated."
    )
    switch: float = option(
        0.2, "With --refresh auto: fraction of a recomputation that an update may always cost.", min=0
    )
    iteration_limit: int = option(100_000, "Maximal iterations of a recursion that computes values.", min=1)
    recursion_timeout: float = option(
        10.0, "Maximal time of a recursion that computes values; 0: no limit.", min=0, metavar="SECONDS"
    )
    now: str | None = option(
        None, "Value of current_timestamp, as in 2026-03-01T12:30:00Z.", metavar="TIME", shown="the machine's time"
    )
    without: list[RewriteChoice] | None = option(
        None,
        "Plan without this kind of hidden relations. May be repeated.",
        metavar="eliminate|share|demand",
        shown="with all",
    )


@dataclass(frozen=True)
class StateOptions:
    """Where state is stored, and what it may use of the machine."""

    panel: ClassVar = "State and resources"

    state: State = None
    threads: int | None = option(
        None, "Threads that compute large changes.", "--threads", "-j", min=1, shown="one per processor"
    )
    spill: Path | None = option(
        None, "Directory for state that exceeds memory.", metavar="DIR", shown="none, in memory"
    )
    memory: str | None = option(
        None,
        "With --spill or --state: memory of large arrays, as in 2GiB; the rest are files.",
        metavar="SIZE",
        shown="half of the free memory",
    )


@dataclass(frozen=True)
class ShardOptions:
    """How rows are spread over shards; see `deltic.Shards`."""

    panel: ClassVar = "Shards: with --engine spark or --master"

    shards: int | None = option(None, "Number of shards.", min=1, shown="8")
    directory: str | None = option(
        None,
        "Directory of their files, visible to all executors, or an address such as s3://bucket/shop.",
        metavar="DIR",
        shown="a temporary one, if Spark runs on this machine",
    )
    executor: Literal["auto", "process", "job"] | None = option(
        None, "Run transactions in this process or as Spark jobs; auto: the quicker one.", shown="auto"
    )
    rounds: Literal["auto", "always", "never"] | None = option(
        None, "When a recursion without a preserved key takes rounds; auto: if it outgrows a task.", shown="auto"
    )
    task_memory: str | None = option(
        None, "Memory of a recursion in one task, as in 4GiB.", metavar="SIZE", shown="half of the task's memory"
    )
    copies: Literal["auto", "never"] | None = option(
        None, "Whether shards copy small relations for joins.", shown="auto"
    )


@dataclass(frozen=True)
class SparkOptions:
    """The Spark session that reads and writes files."""

    panel: ClassVar = "Spark"

    master: str | None = option(
        None,
        "Read and write files by Spark with this master, as in local[*].",
        metavar="URL",
        shown="none, without Spark",
    )
    driver_memory: str | None = option(None, "With --master: driver memory, as in 2g.", metavar="SIZE")
    conf: list[str] | None = option(
        None,
        "With --master: a Spark setting, as in spark.executor.memory=4g. May be repeated.",
        metavar="NAME=VALUE",
        shown="none",
    )

    @property
    def settings(self) -> dict[str, str]:
        """The Spark settings of `--conf`."""
        return {name: value for name, _, value in (text.partition("=") for text in self.conf or ())}

    def check(self, engine: EngineChoice) -> None:
        """Raise BadParameter for options that do not go together, or with the engine."""
        for name, given in {
            "--master": self.master,
            "--driver-memory": self.driver_memory,
            "--conf": self.conf,
        }.items():
            if given and engine not in ("auto", "spark"):
                raise BadParameter(f"{name} is for Spark, and --engine {engine} has none")
            if given and self.master is None:
                raise BadParameter(f"{name} needs Spark: add --master, as in --master 'local[*]'")
        for text in self.conf or ():
            if not re.match("[^=]+=", text):
                raise BadParameter(f"--conf is a setting of Spark, as in spark.executor.memory=4g; found {text!r}")
        if self.driver_memory and not re.fullmatch(r"[1-9][0-9]*[kmgtKMGT]", self.driver_memory):
            raise BadParameter(f"--driver-memory is a number and a unit, as in 2g; found {self.driver_memory!r}")


@dataclass(frozen=True)
class ReportOptions:
    """What a run reports, and where."""

    panel: ClassVar = "Reports"

    as_json: Json = False
    quiet: bool = option(False, "Print only errors, notes and the program's output.", "--quiet", "-q")
    metrics: int | None = option(
        None, "Serve Prometheus metrics on this machine during the run.", metavar="PORT", min=0, max=65535, shown="none"
    )
    log: Literal["text", "json"] | None = option(
        None, "Log each epoch to standard error, as text or JSON.", shown="none"
    )


@dataclass(frozen=True)
class CommandOptions:
    """The commands that run a program, in languages with commands such as DDlog."""

    panel: ClassVar = "Commands, for programs of DDlog"

    commands: Path | None = option(
        None,
        file("Run the commands of this file, or of standard input (-), instead of reading rows.", "none", dash=True),
    )
    initial: bool = option(True, "With commands: print first what follows from facts alone.")


@dataclass(frozen=True)
class RunOptions:
    """The command line of `deltic run`, with the types of its values checked."""

    program: Program
    files: FileOptions
    text: ProgramOptions
    views: ViewOptions
    kept: StateOptions
    shards: ShardOptions
    spark: SparkOptions
    reports: ReportOptions
    by: CommandOptions
    language: Language = ""

    def check(self) -> None:
        """Raise BadParameter for options that do not go together."""
        self.spark.check(self.views.engine)
        self.files.check()
        if self.by.commands is not None and (self.files.changes or self.kept.state or self.spark.master):
            raise BadParameter("commands provide the rows, in memory: leave out --changes, --state and --master")

"""The options of commands in groups, each with its name, type, default and help."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Argument, BadParameter, Option

from deltic.cli.grouped import option

if TYPE_CHECKING:
    from deltic.pipeline.io.directives import TextForm
    from deltic.pipeline.session import Pipeline

ON_STDOUT = Path("-")
"""The folder of outputs that stands for standard output."""

EngineChoice = Literal["auto", "local", "spark", "reference"]
"""What evaluates the views."""
ExplainFormat = Literal["text", "dot", "mermaid", "svg"]
"""How `deltic explain` shows circuits."""


class RewriteChoice(StrEnum):
    """Rewrites that a plan may use; see `deltic.calculus.planning`. Options of typer may not be lists of literals."""

    eliminate = "eliminate"
    share = "share"
    demand = "demand"


def folder(told: str, default: str | bool = True, *names: str) -> Any:
    """Return an option whose value is a folder that exists."""
    return Option(*names, exists=True, file_okay=False, help=told, show_default=default)


def file(told: str, default: str | bool = True, dash: bool = False) -> Any:
    """Return an option whose value is a file that exists, or with `dash` standard input."""
    return Option(exists=True, dir_okay=False, allow_dash=dash, help=told, show_default=default)


def read_file(told: str, default: str | bool = True) -> Any:
    """Return an argument whose value is a file that is read."""
    return Argument(exists=True, dir_okay=False, readable=True, help=told, show_default=default)


DEFINITIONS = "All tables and views: SQL (.sql) or Datalog (.dl)."
Program = Annotated[Path, read_file("A program: SQL (.sql), Datalog (.dl), or --language.")]
ProgramOrState = Annotated[
    Path, Argument(exists=True, readable=True, help="A program: SQL (.sql), Datalog (.dl), or a directory of state.")
]
State = Annotated[
    str | None,
    Option(
        metavar="DIR",
        help="Store tables, views and definitions in this directory, or at an address such as s3://bucket/shop.",
        show_default="none, in memory",
    ),
]
Functions = Annotated[
    Path | None,
    Option(
        "--functions",
        "--functors",
        help="A Python module with functions, aggregates and operators for SQL and Datalog.",
        show_default="none",
    ),
]
Json = Annotated[bool, Option("--json", help="One JSON document on standard output.")]
Language = Annotated[
    str,
    Option(
        "--language",
        metavar="NAME",
        help="Language of the program: sql, datalog, or that of a package, such as ddlog.",
        show_default="by the file's suffix",
    ),
]
AllowOutside = Annotated[bool, Option("--allow-outside", help="Let the program name files outside --facts and --out.")]


@dataclass(frozen=True)
class TextOptions:
    """The form of delimited text that the program does not describe."""

    panel: ClassVar = "Files"

    headers: bool = option(False, "First lines name the columns, for tables without .input.", "--headers")
    rfc4180: bool = option(False, "Fields may be quoted, as spreadsheets write them.", "--rfc4180")

    @property
    def form(self) -> TextForm:
        """The same as options of files."""
        from deltic.pipeline.io.directives import TextForm

        return TextForm(self.headers, self.rfc4180)


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
    text: TextOptions = TextOptions()
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
class ProgramOptions:
    """What completes the text of a program."""

    panel: ClassVar = "The program"

    functions: Functions = None
    define: list[str] | None = option(
        None,
        "Add #define NAME TEXT to Datalog programs. Several words, or repeated.",
        "--define",
        "-M",
        metavar="NAME[=TEXT]",
        shown="none",
    )
    pragma: list[str] | None = option(
        None,
        'Add .pragma "NAME" "VALUE" to Datalog programs: word-size=32, legacy. May be repeated.',
        "--pragma",
        "-P",
        metavar="NAME[=VALUE]",
        shown="none",
    )
    include_dir: list[Path] | None = option(
        None,
        "Folder of included files and modules. May be repeated.",
        "--include-dir",
        "-I",
        "-L",
        "--ddlog-library",
        exists=True,
        file_okay=False,
        metavar="DIR",
        shown="beside the including file",
    )

    @property
    def macros(self) -> dict[str, str]:
        """The macros of `--define`; as in C, 1 by default.

        One option may define several, as Soufflé's does: they are words. Raises BadParameter if one is not a name.
        """
        split = [word.partition("=") for text in self.define or () for word in _WORD.findall(text)]
        for name, sign, text in split:
            if not _MACRO.fullmatch(name):
                raise BadParameter(f"--define is NAME or NAME=TEXT, as in LIMIT=10; found {f'{name}{sign}{text}'!r}")
        return {name: text if sign else "1" for name, sign, text in split}

    @property
    def pragmas(self) -> dict[str, str]:
        """The pragmas of `--pragma`, with = or Soufflé's colon, and the folders of included files."""
        texts = (re.sub("[=:]", "=", text, count=1) for text in self.pragma or ())
        said = {name: value for name, _, value in (text.partition("=") for text in texts)}
        return said | ({"include-dir": os.pathsep.join(map(str, self.include_dir))} if self.include_dir else {})


_WORD = re.compile(r'(?:"(?:\\.|[^"\\])*"|\S)+')
"""A word, in which blanks stand in quotes."""

_MACRO = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class LoadingOptions:
    """How a program and the rows of its tables are read."""

    written: TextOptions = TextOptions()
    text: ProgramOptions = ProgramOptions()
    language: Language = ""

    def opened(self, program: Path, facts: Path | None, allow_outside: bool = False) -> Pipeline:
        """Return the pipeline of a directory of state, for reading, or of a program with the rows of a folder."""
        from deltic.pipeline.options import Durability
        from deltic.pipeline.session import Pipeline

        if not program.is_dir():
            return self.pipeline(program, facts, allow_outside)
        return Pipeline(state=program, functions=self.text.functions or (), durability=Durability(readonly=True))

    def pipeline(self, program: Path, facts: Path | None, allow_outside: bool = False) -> Pipeline:
        """Return a pipeline with a program, and the rows of a folder if there is one."""
        from deltic.pipeline.definitions.front_ends import front_end_of
        from deltic.pipeline.io.splits import ArrowReader
        from deltic.pipeline.job.job import load_facts, load_program
        from deltic.pipeline.session import Pipeline

        front, text = front_end_of(program, self.language), self.text
        pipeline = Pipeline(functions=text.functions or (), pragmas=text.pragmas)
        load_program(program, front, pipeline, text.macros, text.include_dir or ())
        if facts is not None:
            load_facts(front, facts, self.written.form, pipeline, ArrowReader(), allow_outside)
        return pipeline


@dataclass(frozen=True)
class ExplainOptions:
    """The command line of `deltic explain`."""

    program: ProgramOrState
    view: str | None = option(None, Argument(help="One view; default: all.", show_default=False))
    output_format: ExplainFormat = option("text", "Text, or a drawing for Graphviz, Mermaid, or as SVG.", "--format")
    full: bool = option(False, "With text: also circuits, derivations and all plans.", "--full")
    facts: Path | None = option(None, folder("A folder of rows: compute the views, and show the plan for them.", False))
    by: LoadingOptions = LoadingOptions()
    outside: AllowOutside = False


@dataclass(frozen=True)
class WhyOptions:
    """The command line of `deltic why`."""

    program: Annotated[
        str, Argument(help="A program: SQL (.sql), Datalog (.dl), or a directory of state; left out with --state.")
    ]
    row: str | None = option(
        None, Argument(metavar="ROW", help="""As in 'reaches("ada", "cyd")'; _ is any value. Or by column: x="ada".""")
    )
    state: Path | None = option(None, folder("A state, which has a program and rows.", "none"))
    facts: Path = option(Path(), folder("Folder of rows.", True, "--facts", "-F"))
    is_not: bool = option(False, "Explain why there is no such row.", "--not")
    as_json: Json = False
    as_dot: bool = option(False, "Print the explanation as a graph for Graphviz.", "--dot")
    as_svg: bool = option(False, "Print the explanation as a picture.", "--svg")
    missing: int | None = option(
        None, "Print the smallest sets of at most N rows that would make the row.", min=1, metavar="N"
    )
    depth: int | None = option(None, "Maximal height of the explanation.", min=1, shown="all")
    by: LoadingOptions = LoadingOptions()


@dataclass(frozen=True)
class CheckOptions:
    """The command line of `deltic check`."""

    program: Program
    facts: Path | None = option(None, folder("A folder of rows.", "no rows", "--facts", "-F"))
    state: Path | None = option(None, folder("A state to read rows from, without changing it.", "none"))
    changes: Path | None = option(None, folder("A folder of changes, epoch by epoch.", "none"))
    file: Path | None = option(None, "The file of costs.", dir_okay=False, shown="PROGRAM.costs.json")
    update: bool = option(False, "Write the file of costs instead of comparing.", "--update")
    slower: float | None = option(
        None, "Fail if an epoch takes this many times its seconds in the file.", min=1, shown="never"
    )
    by: LoadingOptions = LoadingOptions()


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

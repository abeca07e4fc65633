"""The options of commands in groups, each with its name, type, default and help."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Argument, BadParameter, Option

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
    """An option whose value is a folder that exists."""
    return Option(*names, exists=True, file_okay=False, help=told, show_default=default)


def file(told: str, default: str | bool = True, dash: bool = False) -> Any:
    """An option whose value is a file that exists, or with `dash` standard input."""
    return Option(exists=True, dir_okay=False, allow_dash=dash, help=told, show_default=default)


def read_file(told: str, default: str | bool = True) -> Any:
    """An argument whose value is a file that is read."""
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

    headers: Annotated[bool, Option("--headers", help="First lines name the columns, for tables without .input.")] = (
        False
    )
    rfc4180: Annotated[bool, Option("--rfc4180", help="Fields may be quoted, as spreadsheets write them.")] = False

    @property
    def form(self) -> TextForm:
        """The same as options of files."""
        from deltic.pipeline.io.directives import TextForm

        return TextForm(self.headers, self.rfc4180)


@dataclass(frozen=True)
class FileOptions:
    """Where rows are read and views are written."""

    panel: ClassVar = "Files"

    facts: Annotated[Path, folder("Folder of initial rows.", True, "--facts", "-F")] = Path()
    changes: Annotated[Path | None, folder("Folder of changes: each file or sub-folder is one epoch.")] = None
    out: Annotated[
        Path,
        Option(
            "--out",
            "-D",
            file_okay=False,
            help="Folder for views, their changes and rejects; -: print the views.",
        ),
    ] = Path("out")
    output_format: Annotated[
        Literal["csv", "parquet", "json", "arrow"] | None,
        Option("--format", help="Format of views.", show_default="csv, or as .output says"),
    ] = None
    text: TextOptions = TextOptions()
    on_error: Annotated[Literal["stop", "skip"], Option(help="On malformed rows: stop, or skip and list them.")] = (
        "stop"
    )
    reject_limit: Annotated[
        int, Option(min=0, help="With --on-error skip: the run ends where more malformed rows than this are skipped.")
    ] = 1000
    missing: Annotated[
        Literal["error", "empty"],
        Option("--missing-facts", help="A missing file of .input: an error, or no rows."),
    ] = "error"
    outside: AllowOutside = False

    def check(self) -> None:
        """Raises BadParameter for options that do not go together."""
        if self.out == ON_STDOUT and (self.changes or self.output_format):
            raise BadParameter("--out - prints the final views, without --changes and --format")
        if self.changes and (self.out / "changes").resolve() == self.changes.resolve():
            raise BadParameter("the changes of views go to OUT/changes, which is --changes here; choose another --out")


@dataclass(frozen=True)
class ProgramOptions:
    """What completes the text of a program."""

    panel: ClassVar = "The program"

    functions: Functions = None
    define: Annotated[
        list[str] | None,
        Option(
            "--define",
            "-M",
            metavar="NAME[=TEXT]",
            help="Add #define NAME TEXT to Datalog programs. Several words, or repeated.",
            show_default="none",
        ),
    ] = None
    pragma: Annotated[
        list[str] | None,
        Option(
            "--pragma",
            "-P",
            metavar="NAME[=VALUE]",
            help='Add .pragma "NAME" "VALUE" to Datalog programs: word-size=32, legacy. May be repeated.',
            show_default="none",
        ),
    ] = None
    include_dir: Annotated[
        list[Path] | None,
        Option(
            "--include-dir",
            "-I",
            "-L",
            "--ddlog-library",
            exists=True,
            file_okay=False,
            metavar="DIR",
            help="Folder of included files and modules. May be repeated.",
            show_default="beside the including file",
        ),
    ] = None

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
        """The pipeline of a directory of state, for reading, or of a program with the rows of a folder."""
        from deltic.pipeline.options import Durability
        from deltic.pipeline.session import Pipeline

        if not program.is_dir():
            return self.pipeline(program, facts, allow_outside)
        return Pipeline(state=program, functions=self.text.functions or (), durability=Durability(readonly=True))

    def pipeline(self, program: Path, facts: Path | None, allow_outside: bool = False) -> Pipeline:
        """A pipeline with a program, and the rows of a folder if there is one."""
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
    view: Annotated[str | None, Argument(help="One view; default: all.", show_default=False)] = None
    output_format: Annotated[
        ExplainFormat, Option("--format", help="Text, or a drawing for Graphviz, Mermaid, or as SVG.")
    ] = "text"
    full: Annotated[bool, Option("--full", help="With text: also circuits, derivations and all plans.")] = False
    facts: Annotated[Path | None, folder("A folder of rows: compute the views, and show the plan for them.", False)] = (
        None
    )
    by: LoadingOptions = LoadingOptions()
    outside: AllowOutside = False


@dataclass(frozen=True)
class WhyOptions:
    """The command line of `deltic why`."""

    program: Annotated[
        str, Argument(help="A program: SQL (.sql), Datalog (.dl), or a directory of state; left out with --state.")
    ]
    row: Annotated[
        str | None,
        Argument(metavar="ROW", help="""As in 'reaches("ada", "cyd")'; _ is any value. Or by column: x="ada"."""),
    ] = None
    state: Annotated[Path | None, folder("A state, which has a program and rows.", "none")] = None
    facts: Annotated[Path, folder("Folder of rows.", True, "--facts", "-F")] = Path()
    is_not: Annotated[bool, Option("--not", help="Explain why there is no such row.")] = False
    as_json: Json = False
    as_dot: Annotated[bool, Option("--dot", help="Print the explanation as a graph for Graphviz.")] = False
    as_svg: Annotated[bool, Option("--svg", help="Print the explanation as a picture.")] = False
    missing: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Print the smallest sets of at most N rows that would make the row."),
    ] = None
    depth: Annotated[int | None, Option(min=1, help="Maximal height of the explanation.", show_default="all")] = None
    by: LoadingOptions = LoadingOptions()


@dataclass(frozen=True)
class CheckOptions:
    """The command line of `deltic check`."""

    program: Program
    facts: Annotated[Path | None, folder("A folder of rows.", "no rows", "--facts", "-F")] = None
    state: Annotated[Path | None, folder("A state to read rows from, without changing it.", "none")] = None
    changes: Annotated[Path | None, folder("A folder of changes, epoch by epoch.", "none")] = None
    file: Annotated[
        Path | None, Option(dir_okay=False, help="The file of costs.", show_default="PROGRAM.costs.json")
    ] = None
    update: Annotated[bool, Option("--update", help="Write the file of costs instead of comparing.")] = False
    slower: Annotated[
        float | None,
        Option(min=1, help="Fail if an epoch takes this many times its seconds in the file.", show_default="never"),
    ] = None
    by: LoadingOptions = LoadingOptions()


@dataclass(frozen=True)
class ViewOptions:
    """How changes are checked, and how views are updated."""

    panel: ClassVar = "Changes and views"

    conflicts: Annotated[
        Literal["error", "normalize", "trust"],
        Option(help="On insertion of a present row, or deletion of an absent one."),
    ] = "error"
    late: Annotated[
        Literal["drop", "error"], Option(help="On rows later than a table's LATENESS: drop and list them, or stop.")
    ] = "drop"
    engine: Annotated[
        EngineChoice,
        Option(help="Engine of the views; spark: shards; reference: slow, for comparison."),
    ] = "auto"
    strategy: Annotated[
        list[str] | None,
        Option(
            metavar="[VIEW=]nested|elastic|full",
            help="Counts of recursive views, or of one: at all iterations, the first, or none. May be repeated.",
            show_default="nested",
        ),
    ] = None
    refresh: Annotated[
        Literal["auto", "incremental", "incremental strict", "full"],
        Option(help="When views are recomputed instead of updated."),
    ] = "auto"
    switch: Annotated[
        float, Option(min=0, help="With --refresh auto: fraction of a recomputation that an update may always cost.")
    ] = 0.2
    iteration_limit: Annotated[int, Option(min=1, help="Maximal iterations of a recursion that computes values.")] = (
        100_000
    )
    recursion_timeout: Annotated[
        float,
        Option(min=0, metavar="SECONDS", help="Maximal time of a recursion that computes values; 0: no limit."),
    ] = 10.0
    now: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="Value of current_timestamp, as in 2026-03-01T12:30:00Z.",
            show_default="the machine's time",
        ),
    ] = None
    without: Annotated[
        list[RewriteChoice] | None,
        Option(
            metavar="eliminate|share|demand",
            help="Plan without this kind of hidden relations. May be repeated.",
            show_default="with all",
        ),
    ] = None


@dataclass(frozen=True)
class StateOptions:
    """Where state is stored, and what it may use of the machine."""

    panel: ClassVar = "State and resources"

    state: State = None
    threads: Annotated[
        int | None,
        Option("--threads", "-j", min=1, help="Threads that compute large changes.", show_default="one per processor"),
    ] = None
    spill: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Directory for state that exceeds memory.",
            show_default="none, in memory",
        ),
    ] = None
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="With --spill or --state: memory of large arrays, as in 2GiB; the rest are files.",
            show_default="half of the free memory",
        ),
    ] = None


@dataclass(frozen=True)
class ShardOptions:
    """How rows are spread over shards; see `deltic.Shards`."""

    panel: ClassVar = "Shards: with --engine spark or --master"

    shards: Annotated[
        int | None,
        Option(min=1, help="Number of shards.", show_default="8"),
    ] = None
    directory: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Directory of their files, visible to all executors, or an address such as s3://bucket/shop.",
            show_default="a temporary one, if Spark runs on this machine",
        ),
    ] = None
    executor: Annotated[
        Literal["auto", "process", "job"] | None,
        Option(
            help="Run transactions in this process or as Spark jobs; auto: the quicker one.",
            show_default="auto",
        ),
    ] = None
    rounds: Annotated[
        Literal["auto", "always", "never"] | None,
        Option(
            help="When a recursion without a preserved key takes rounds; auto: if it outgrows a task.",
            show_default="auto",
        ),
    ] = None
    task_memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Memory of a recursion in one task, as in 4GiB.",
            show_default="half of the task's memory",
        ),
    ] = None
    copies: Annotated[
        Literal["auto", "never"] | None,
        Option(help="Whether shards copy small relations for joins.", show_default="auto"),
    ] = None


@dataclass(frozen=True)
class SparkOptions:
    """The Spark session that reads and writes files."""

    panel: ClassVar = "Spark"

    master: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Read and write files by Spark with this master, as in local[*].",
            show_default="none, without Spark",
        ),
    ] = None
    driver_memory: Annotated[str | None, Option(metavar="SIZE", help="With --master: driver memory, as in 2g.")] = None
    conf: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE",
            help="With --master: a Spark setting, as in spark.executor.memory=4g. May be repeated.",
            show_default="none",
        ),
    ] = None

    @property
    def settings(self) -> dict[str, str]:
        """The Spark settings of `--conf`."""
        return {name: value for name, _, value in (text.partition("=") for text in self.conf or ())}

    def check(self, engine: EngineChoice) -> None:
        """Raises BadParameter for options that do not go together, or with the engine."""
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
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print only errors, notes and the program's output.")] = False
    metrics: Annotated[
        int | None,
        Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve Prometheus metrics on this machine during the run.",
            show_default="none",
        ),
    ] = None
    log: Annotated[
        Literal["text", "json"] | None,
        Option(help="Log each epoch to standard error, as text or JSON.", show_default="none"),
    ] = None


@dataclass(frozen=True)
class CommandOptions:
    """The commands that run a program, in languages with commands such as DDlog."""

    panel: ClassVar = "Commands, for programs of DDlog"

    commands: Annotated[
        Path | None,
        file("Run the commands of this file, or of standard input (-), instead of reading rows.", "none", dash=True),
    ] = None
    initial: Annotated[bool, Option(help="With commands: print first what follows from facts alone.")] = True


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
        """Raises BadParameter for options that do not go together."""
        self.spark.check(self.views.engine)
        self.files.check()
        if self.by.commands is not None and (self.files.changes or self.kept.state or self.spark.master):
            raise BadParameter("commands provide the rows, in memory: leave out --changes, --state and --master")

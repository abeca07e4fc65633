"""The command line: commands and their options. What they do is imported when they run, so that --help is quick."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from deltic.cli.options import (
    ConflictPolicy,
    CopiesOption,
    DdlogOptions,
    DemoEngine,
    EngineChoice,
    ExecutorOption,
    ExplainFormat,
    LateChoice,
    LogFormat,
    MissingFacts,
    OnError,
    OutputFormat,
    RefreshChoice,
    RewriteChoice,
    RoundsOption,
    RunOptions,
)

# Wrong usage of every kind; typer gives out this one of its kinds alone.
_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """The commands; with --json wrong usage, too, is told as JSON on standard output, beside the words for people."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        self._wants_json = "--json" in args
        with self._told():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with self._told():
            return super().invoke(ctx)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _UsageError as error:
            if self._wants_json:
                told = {"kind": "UsageError", "epoch": None, "message": error.format_message(), "findings": []}
                print(json.dumps({"ok": False, "error": told}, indent=2, ensure_ascii=False))
            raise


app = typer.Typer(
    name="deltic",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Program = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="A program: SQL (.sql) or Datalog (.dl).")
]

_State = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep tables, views and definitions in this directory, or at an address of fsspec.",
        show_default="they go with the process",
    ),
]
_Functions = Annotated[
    Path | None,
    typer.Option(
        "--functions",
        "--functors",
        help="A module of Python with what deltic.function, aggregate and operator made, for SQL and Datalog.",
        show_default="none",
    ),
]
_Macros = Annotated[
    list[str] | None,
    typer.Option(
        "--define",
        "-M",
        metavar="NAME[=TEXT]",
        help="As if a Datalog program began with #define NAME TEXT. Several are words, or the option is repeated.",
        show_default="none",
    ),
]
_Pragmas = Annotated[
    list[str] | None,
    typer.Option(
        "--pragma",
        "-P",
        metavar="NAME[=VALUE]",
        help='As if a Datalog program had .pragma "NAME" "VALUE": word-size=32, legacy. May be repeated.',
        show_default="none",
    ),
]
_Include = Annotated[
    list[Path] | None,
    typer.Option(
        "--include-dir",
        "-I",
        exists=True,
        file_okay=False,
        help="Where files that a Datalog program includes are sought, too. May be repeated.",
        show_default="beside the file that includes them",
    ),
]
_DdlogLibrary = Annotated[
    list[Path] | None,
    typer.Option(
        "--ddlog-library",
        "-L",
        exists=True,
        file_okay=False,
        help="Where modules of a DDlog program are sought, too. May be repeated.",
        show_default="beside the program",
    ),
]
_Place = Annotated[str, typer.Argument(metavar="DIR", help="A directory of state, or its address.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from deltic import __version__

        print(f"deltic {__version__}")
        raise typer.Exit


@app.callback()
def deltic(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keeps SQL and Datalog views, recursive ones too, fresh at the cost of the change."""


@app.command()
def run(
    program: _Program,
    facts: Annotated[
        Path, typer.Option("--facts", "-F", exists=True, file_okay=False, help="Where the initial rows are.")
    ] = Path(),
    changes: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Changes: each file or sub-folder is one epoch.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-D",
            file_okay=False,
            help="Where views, their changes and rejects go; -: views to standard output.",
        ),
    ] = Path("out"),
    engine: Annotated[
        EngineChoice,
        typer.Option(help="What keeps the views; spark: on shards; reference: the slow definition, for comparing."),
    ] = EngineChoice.auto,
    shards: Annotated[
        int | None,
        typer.Option(help="With --engine spark or --master: into how many shards rows are split.", show_default="8"),
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="On shards: where their files are; a directory that all executors see, or an address of fsspec.",
            show_default="a temporary one, where Spark is on this machine alone",
        ),
    ] = None,
    executor: Annotated[
        ExecutorOption | None,
        typer.Option(
            help="On shards: what computes a transaction, this process or a job of Spark; auto: what is quicker.",
            show_default="auto",
        ),
    ] = None,
    rounds: Annotated[
        RoundsOption | None,
        typer.Option(
            help="On shards: when a recursion without a preserved key takes rounds; auto: where no task has room.",
            show_default="auto",
        ),
    ] = None,
    task_memory: Annotated[
        str | None,
        typer.Option(
            help="On shards: what one task is to hold of a recursion, as in 4GiB.", show_default="half of what it has"
        ),
    ] = None,
    copies: Annotated[
        CopiesOption | None,
        typer.Option(
            help="On shards: whether each has a copy of what is small beside what it is joined with.",
            show_default="auto",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Read and write files by Spark, with this master, as in local[*].",
            show_default="this process reads them, without Spark",
        ),
    ] = None,
    driver_memory: Annotated[str | None, typer.Option(help="With --master: memory of its session, as in 2g.")] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="With --master: a setting of Spark, as in spark.executor.memory=4g. May be repeated.",
            show_default="none",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat | None, typer.Option("--format", help="What to write.", show_default="csv, as .output says")
    ] = None,
    on_error: Annotated[OnError, typer.Option(help="Malformed rows: stop, or skip and list them.")] = OnError.stop,
    missing: Annotated[
        MissingFacts, typer.Option("--missing-facts", help="A file of .input that is not there: an error, or no rows.")
    ] = MissingFacts.error,
    conflicts: Annotated[
        ConflictPolicy, typer.Option(help="Insertion of a present row, deletion of an absent one.")
    ] = ConflictPolicy.error,
    late: Annotated[
        LateChoice, typer.Option(help="Rows later than a table's LATENESS: leave out and list them, or stop.")
    ] = LateChoice.drop,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[VIEW=]nested|elastic|full",
            help="Counts kept of recursive views, or of one: at all iterations, the first, or none. May be repeated.",
            show_default="nested",
        ),
    ] = None,
    refresh: Annotated[
        RefreshChoice, typer.Option(help="When recursive views are computed anew instead of updated.")
    ] = RefreshChoice.auto,
    switch: Annotated[
        float, typer.Option(min=0, help="With --refresh auto: the part of a bootstrap that an update may always cost.")
    ] = 0.2,
    iteration_limit: Annotated[
        int, typer.Option(min=1, help="Iterations that a recursion which computes values may take.")
    ] = 100_000,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="What current_timestamp is, as in 2026-03-01T12:30:00Z.",
            show_default="the machine's time",
        ),
    ] = None,
    functions: _Functions = None,
    define: _Macros = None,
    pragma: _Pragmas = None,
    include_dir: _Include = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads that compute large changes.", show_default="one for each processor"),
    ] = None,
    spill: Annotated[
        Path | None,
        typer.Option(
            help="A directory for state that does not fit into memory.", show_default="all of it is in memory"
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="With --spill or --state: the memory of large arrays, as in 2GiB; further ones are files.",
            show_default="half of what there is",
        ),
    ] = None,
    without: Annotated[
        list[RewriteChoice] | None,
        typer.Option(help="Plan without hidden relations of this kind. May be repeated.", show_default="with all"),
    ] = None,
    state: _State = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Errors, notes and what the program prints alone.")
    ] = False,
    metrics: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve numbers for Prometheus on this machine while the run lasts.",
            show_default="none",
        ),
    ] = None,
    log: Annotated[
        LogFormat | None,
        typer.Option(help="A record of each epoch on standard error, as text or JSON.", show_default="none"),
    ] = None,
    ddlog_commands: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            allow_dash=True,
            help="The program is DDlog: run the commands of this file, or of standard input (-), as its CLI does.",
            show_default="none",
        ),
    ] = None,
    ddlog_library: _DdlogLibrary = None,
    initial: Annotated[
        bool, typer.Option(help="With --ddlog-commands: print at first what follows from facts alone.")
    ] = True,
) -> None:
    """Load facts, apply changes epoch by epoch, write the views and what changed in them.

    With --state, a run goes on where the last one ended: facts and changes that it has applied are not applied again.
    """
    from deltic.cli.run import run_command

    options = RunOptions(
        program,
        facts,
        changes,
        out,
        engine,
        master,
        driver_memory,
        tuple(conf or ()),
        output_format,
        on_error,
        missing,
        conflicts,
        late,
        tuple(strategy or ()),
        refresh,
        switch,
        iteration_limit,
        now,
        functions,
        tuple(define or ()),
        tuple(pragma or ()),
        tuple(include_dir or ()),
        threads,
        spill,
        memory,
        tuple(without or ()),
        state,
        as_json,
        quiet,
        metrics,
        log,
        shards,
        directory,
        executor,
        rounds,
        task_memory,
        copies,
        DdlogOptions(ddlog_commands, tuple(ddlog_library or ()), initial) if ddlog_commands else None,
    )
    raise typer.Exit(run_command(options))


@app.command()
def explain(
    program: _Program,
    view: Annotated[str | None, typer.Argument(help="One view; all of them when left out.", show_default=False)] = None,
    output_format: Annotated[
        ExplainFormat, typer.Option("--format", help="Text, or a drawing: for Graphviz, for Mermaid, or SVG.")
    ] = ExplainFormat.text,
    full: Annotated[
        bool, typer.Option("--full", help="As text: also the circuits, why they are right, and all plans.")
    ] = False,
    facts: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Where rows are: compute the views first, and show the plan for them.",
            show_default=False,
        ),
    ] = None,
    functions: _Functions = None,
    define: _Macros = None,
    pragma: _Pragmas = None,
    include_dir: _Include = None,
    ddlog: Annotated[bool, typer.Option("--ddlog", help="The program is one of DDlog.")] = False,
    ddlog_library: _DdlogLibrary = None,
) -> None:
    """Show how views are kept fresh: what that costs and keeps, and what is searched for each change."""
    from deltic.cli.explain import explain_command

    libraries = tuple(ddlog_library or ()) if ddlog else None
    said = define or (), pragma or (), include_dir or ()
    raise typer.Exit(explain_command(program, view, output_format, full, facts, functions, *said, libraries))


@app.command()
def sql(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True, dir_okay=False, readable=True, help="Statements to begin with.", show_default=False
        ),
    ] = None,
    state: _State = None,
    functions: _Functions = None,
) -> None:
    """Run statements of SQL: those of files, of a pipe, or as they are typed."""
    from deltic.cli.sql import sql_command

    raise typer.Exit(sql_command(files or [], state, functions))


@app.command()
def refresh(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="YAML: program, state, sources, outputs, options.")
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Read all sources and compare them, and all targets, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read and published, and do nothing.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Read what is new in the sources of tables, as one epoch, and publish the views; docs/refresh.md tells more."""
    from deltic.cli.refresh import refresh_command

    raise typer.Exit(refresh_command(file, full, dry_run, as_json))


@app.command()
def status(place: _Place, as_json: _Json = False) -> None:
    """Show what a directory of state has: epoch, tables, views, sizes, log, checkpoints."""
    from deltic.cli.state import status_command

    raise typer.Exit(status_command(place, as_json))


@app.command()
def verify(
    place: _Place,
    full: Annotated[
        bool, typer.Option("--full", help="Compare all views with what the tables make of them, too.")
    ] = False,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Compare so many views, drawn at random.", show_default="none")
    ] = 0,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make a state whole again from what is whole of it.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Check all files of a directory of state against their checksums; exit status 1 where something is wrong."""
    from deltic.cli.state import verify_command

    raise typer.Exit(verify_command(place, full, sample, repair, as_json))


@app.command()
def compact(place: _Place) -> None:
    """Write a directory of state anew, in as few files as can be, without its log and older checkpoints."""
    from deltic.cli.state import compact_command

    raise typer.Exit(compact_command(place))


@app.command()
def demo(
    repo: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A git repository with Python files: each commit is an epoch.",
            show_default="the standard library, with edits",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Where views and chart go.")] = Path("demo-out"),
    commits: Annotated[int, typer.Option(min=1, help="With --repo: how many of its last commits.")] = 30,
    master: Annotated[str, typer.Option(help="Spark's master URL.")] = "local[*]",
    engine: Annotated[
        DemoEngine, typer.Option(help="What keeps the views; spark: on shards, and Spark's own recomputation beside.")
    ] = DemoEngine.auto,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Keep recursive views over real Python code fresh while the code is edited."""
    from deltic.demo.main import run as run_demo

    raise typer.Exit(run_demo(str(repo) if repo else None, str(out), commits, as_json, master, engine.value))


def main() -> None:
    """The entry point of the `deltic` command. SIGTERM ends it as Ctrl-C does: what is temporary is removed."""
    signal.signal(signal.SIGTERM, _terminate)
    app()


def _terminate(number: int, _: object) -> None:
    """Ends the process by an exception; what it unwinds is not to be disturbed by a second signal."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()

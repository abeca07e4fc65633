"""`deltic run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import typer

from deltic.cli.progress import progress_for
from deltic.cli.report import print_error, print_json, print_notes, print_outcome, print_program
from deltic.cli.run_options import ON_STDOUT, ReportOptions, RunOptions, ShardOptions, SparkOptions
from deltic.engine.files.address import path_here
from deltic.errors import DelticError
from deltic.pipeline.commanding import CommandedFrontEnd
from deltic.pipeline.definitions.front_ends import front_end_of
from deltic.pipeline.definitions.programs import read_program
from deltic.pipeline.epochs.observing import logged, unlogged
from deltic.pipeline.io.loader import RowReader
from deltic.pipeline.io.target import ArrowWriter, Writer
from deltic.pipeline.job.job import JobSettings, run
from deltic.pipeline.job.outcome import JobOutcome, JobProgress
from deltic.pipeline.options import Maintenance, Recursion, Resources, StrategyName, Transactions, grouped
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_command(options: RunOptions) -> int:
    """Run and report; return the exit status. Raises typer.BadParameter for conflicting options."""
    options.check()
    if options.by.commands is not None:
        _run_by_commands(options, options.by.commands)
        return 0
    settings, reports = _settings(options), options.reports
    outcome: JobOutcome | None = None
    error: DelticError | None = None
    try:
        front = front_end_of(options.program, options.language)
        if isinstance(front, CommandedFrontEnd):
            raise DelticError(f"programs of {front.title} take their rows from commands: --commands FILE")
        with (
            progress_for(reports.quiet or reports.as_json) as progress,
            _session(options.spark, progress) as session,
            _pipeline(options, session) as pipeline,
            _watched(reports, pipeline),
        ):
            outcome = run(settings, pipeline, *_files(session), progress)
            error = outcome.failure
    except DelticError as failure:
        error = failure
    except OSError as failure:
        error = DelticError(f"{failure.filename or 'a file'}: {failure.strerror or failure}")
    _report(options, outcome, error)
    return 1 if error else 0


def _run_by_commands(options: RunOptions, commands: Path) -> None:
    """Run a program by the command language of its front end, and print the output; the first error ends it."""
    program, language = options.program, front_end_of(options.program, options.language).name
    with _pipeline(options, None) as pipeline:
        directories = options.text.include_dir or ()
        session = pipeline.command_session(read_program(program), language, str(program), directories)
        session.begin(is_silent=not options.by.initial)
        if str(commands) == "-":
            session.run(sys.stdin.read(), "<stdin>", Path())
        else:
            session.run(read_program(commands), str(commands), Path())


@contextmanager
def _watched(reports: ReportOptions, pipeline: Pipeline) -> Iterator[None]:
    """Serve metrics and write epoch records during the block, as the options ask."""
    with ExitStack() as stack:
        if reports.metrics is not None:
            server = stack.enter_context(pipeline.serve_metrics(reports.metrics))
            print(f"metrics: http://127.0.0.1:{server.port}/metrics", file=sys.stderr)
        if reports.log is not None:
            stack.enter_context(logged(reports.log == "json"))
        else:
            unlogged()
        yield


def _pipeline(options: RunOptions, session: SparkSession | None) -> Pipeline:
    text, views, kept = options.text, options.views, options.kept
    return Pipeline(
        session,
        engine=views.engine,
        state=kept.state,
        functions=text.functions or (),
        pragmas=text.pragmas,
        transactions=Transactions(late=views.late, now=views.now),
        maintenance=Maintenance(views.refresh, views.switch, **dict.fromkeys(views.without or (), False)),
        recursion=Recursion(_strategy(views.strategy or ()), views.iteration_limit, views.recursion_timeout or None),
        resources=Resources(kept.threads, kept.spill, kept.memory),
        shards=_shards(options.shards),
    )


def _shards(options: ShardOptions) -> Shards | None:
    given = {name: getattr(value, "value", value) for name, value in vars(options).items() if value is not None}
    result: Shards | None = grouped(given).get("shards")
    return result


def _strategy(given: Sequence[str]) -> StrategyName | dict[str, StrategyName]:
    """Return the strategy of all recursive views, or of chosen ones. Raises typer.BadParameter."""
    known: dict[str, StrategyName] = {name: name for name in get_args(StrategyName)}
    chosen: dict[str, StrategyName] = {}
    for text in given:
        view, _, strategy = text.rpartition("=")
        if strategy not in known:
            raise typer.BadParameter(f"--strategy is nested, elastic or full, or VIEW=elastic; found {text!r}")
        if view in chosen:
            raise typer.BadParameter(f"--strategy is given twice for {view or 'all recursive views'}")
        chosen[view] = known[strategy]
    if "" not in chosen:
        return chosen
    if len(chosen) > 1:
        raise typer.BadParameter(
            "--strategy is given for all recursive views and for single ones; nested is the default"
        )
    return chosen[""]


def _report(options: RunOptions, outcome: JobOutcome | None, error: DelticError | None) -> None:
    if options.reports.as_json:
        print_json(options, outcome, error)
    elif outcome is not None:
        print_program(outcome)
        if not options.reports.quiet:
            print_outcome(outcome, sys.stderr if options.files.out == ON_STDOUT else sys.stdout)
    if outcome is not None:
        print_notes(outcome)
    if error is not None:
        print_error(error)


@contextmanager
def _session(options: SparkOptions, progress: JobProgress) -> Iterator[SparkSession | None]:
    """A Spark session during the block, where a master is named."""
    if options.master is None:
        yield None
        return
    from deltic.pipeline.spark.session import require_java, spark_session

    with ExitStack() as stack:
        with progress.step("starting Spark"):
            require_java("; without --master Deltic reads and writes the files itself")
            session = stack.enter_context(spark_session(options.master, options.driver_memory, options.settings))
        yield session


def _files(session: SparkSession | None) -> tuple[RowReader, Writer]:
    """Return the reader and writer of files: this process, or Spark where there is a session."""
    if session is None:
        from deltic.pipeline.io.splits import ArrowReader

        return ArrowReader(), ArrowWriter()
    from deltic.pipeline.io.by_spark import SparkReader, SparkWriter

    return SparkReader(session), SparkWriter(session)


def _settings(options: RunOptions) -> JobSettings:
    files = options.files
    return JobSettings(
        options.program,
        files.facts,
        files.changes,
        Path("out") if files.out == ON_STDOUT else path_here(files.out),
        files.output_format,
        files.reject_limit if files.on_error == "skip" else None,
        options.views.conflicts,
        options.text.macros,
        files.missing == "empty",
        files.text.form,
        files.outside,
        files.out == ON_STDOUT,
        options.language,
        tuple(options.text.include_dir or ()),
    )

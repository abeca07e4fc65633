"""`deltic run`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import typer

from deltic.calculus.planning import ALL
from deltic.cli.options import (
    EngineChoice,
    LogFormat,
    MissingFacts,
    OnError,
    RunOptions,
    macros_of,
    pragmas_of,
    settings_of,
)
from deltic.cli.progress import SilentProgress, progress_for
from deltic.cli.report import print_error, print_json, print_notes, print_outcome, print_program
from deltic.errors import DelticError
from deltic.pipeline.engines import StrategyName
from deltic.pipeline.io.loader import Reader
from deltic.pipeline.io.target import Writer
from deltic.pipeline.job.job import Settings, run
from deltic.pipeline.job.outcome import Outcome
from deltic.pipeline.observing import logged
from deltic.pipeline.session import Pipeline
from deltic.pipeline.shards import Shards

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON_STDOUT = Path("-")
"""The folder of outputs that stands for standard output."""


def run_command(options: RunOptions) -> int:
    """Run and report; the exit status. Raises typer.BadParameter for options that do not go together."""
    _check(options)
    if options.ddlog is not None:
        from deltic.cli.ddlog import run_ddlog

        return run_ddlog(options.program, options.ddlog, lambda: _pipeline(options, None))
    outcome: Outcome | None = None
    error: DelticError | None = None
    try:
        with (
            progress_for(options.quiet or options.as_json) as progress,
            _session(options, progress) as session,
            _pipeline(options, session) as pipeline,
            _watched(options, pipeline),
        ):
            outcome = run(_settings(options), pipeline, *_files(session), progress)
            error = outcome.failure
    except DelticError as failure:
        error = failure
    except OSError as failure:
        error = DelticError(f"{failure.filename or 'a file'}: {failure.strerror or failure}")
    _report(options, outcome, error)
    return 1 if error else 0


@contextmanager
def _watched(options: RunOptions, pipeline: Pipeline) -> Iterator[None]:
    """Metrics and records of epochs, as they are asked for, while the block lasts."""
    with ExitStack() as stack:
        if options.metrics is not None:
            server = stack.enter_context(pipeline.serve_metrics(options.metrics))
            print(f"metrics: http://127.0.0.1:{server.port}/metrics", file=sys.stderr)
        if options.log is not None:
            stack.enter_context(logged(options.log is LogFormat.json))
        yield


def _pipeline(options: RunOptions, session: SparkSession | None) -> Pipeline:
    return Pipeline(
        session,
        engine=options.engine.value,
        shards=Shards.named(
            options.shards,
            options.directory,
            None if options.executor is None else options.executor.value,
            None if options.rounds is None else options.rounds.value,
            options.task_memory,
            None if options.copies is None else options.copies.value,
        ),
        late=options.late.value,
        strategy=_strategy(options.strategy),
        refresh=options.refresh.value,
        switch=options.switch,
        iteration_limit=options.iteration_limit,
        now=options.now,
        threads=options.threads,
        spill=options.spill,
        memory=options.memory,
        rewrites=replace(ALL, **dict.fromkeys(options.without, False)),
        state=options.state,
        functions=options.functions or (),
        pragmas=pragmas_of(options.pragmas, options.directories),
    )


def _strategy(given: Sequence[str]) -> StrategyName | dict[str, StrategyName]:
    """The strategy of all recursive views, or those of chosen ones. Raises typer.BadParameter."""
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


def _report(options: RunOptions, outcome: Outcome | None, error: DelticError | None) -> None:
    if options.as_json:
        print_json(options, outcome, error)
    elif outcome is not None:
        print_program(outcome)
        if not options.quiet:
            print_outcome(outcome)
    if outcome is not None:
        print_notes(outcome)
    if error is not None:
        print_error(error)


@contextmanager
def _session(options: RunOptions, progress: SilentProgress) -> Iterator[SparkSession | None]:
    """With a master a Spark session for as long as the block lasts."""
    if options.master is None:
        yield None
        return
    from deltic.pipeline.spark.java import require_java
    from deltic.pipeline.spark.session import spark_session

    with ExitStack() as stack:
        with progress.step("starting Spark"):
            require_java("; without --master Deltic reads and writes the files itself")
            settings = options.driver_memory, settings_of(options.conf)
            session = stack.enter_context(spark_session(options.master, *settings))
        yield session


def _files(session: SparkSession | None) -> tuple[Reader, Writer]:
    """What reads and writes: this process, or Spark where there is a session."""
    if session is None:
        from deltic.pipeline.io.arrow_reader import ArrowReader
        from deltic.pipeline.io.arrow_writer import ArrowWriter

        return ArrowReader(), ArrowWriter()
    from deltic.pipeline.io.spark_reader import SparkReader
    from deltic.pipeline.io.spark_writer import SparkWriter

    return SparkReader(session), SparkWriter(session)


def _settings(options: RunOptions) -> Settings:
    return Settings(
        options.program,
        options.facts,
        options.changes,
        Path("out") if options.out == ON_STDOUT else options.out,
        options.format.value if options.format else None,
        options.on_error is OnError.skip,
        options.conflicts.value,
        macros_of(options.macros),
        options.missing is MissingFacts.empty,
        options.out == ON_STDOUT,
    )


def _check(options: RunOptions) -> None:
    """Raises BadParameter for options that do not go together."""
    of_spark = {"--master": options.master, "--driver-memory": options.driver_memory, "--conf": options.conf}
    for name, given in of_spark.items():
        if given and options.engine not in (EngineChoice.auto, EngineChoice.spark):
            raise typer.BadParameter(f"{name} is for Spark, and --engine {options.engine.value} has none")
        if given and options.master is None:
            raise typer.BadParameter(f"{name} is for Spark, which --master asks for, as in --master 'local[*]'")
    settings_of(options.conf)
    if options.driver_memory and not re.fullmatch(r"[1-9][0-9]*[kmgtKMGT]", options.driver_memory):
        raise typer.BadParameter(f"--driver-memory is a number and a unit, as in 2g; found {options.driver_memory!r}")
    if options.ddlog is not None and (options.changes or options.state or options.master):
        raise typer.BadParameter(
            "--ddlog-commands takes rows from commands, into memory: without --changes, --state, --master"
        )
    if options.out == ON_STDOUT and (options.changes or options.format):
        raise typer.BadParameter("--out - prints views as they are at the end: without --changes and --format")
    if options.changes and (options.out / "changes").resolve() == options.changes.resolve():
        raise typer.BadParameter(
            "the changes of views go to OUT/changes, which is --changes here; choose another --out"
        )

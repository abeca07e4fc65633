"""`deltic refresh`: one refresh as a YAML file describes it, for schedulers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltic.cli.progress import progress_for
from deltic.cli.report import report_error
from deltic.engine.files.address import local_path
from deltic.errors import ProgramError
from deltic.pipeline.connectors.document import Document, read_document
from deltic.pipeline.options import Durability, grouped
from deltic.pipeline.session import Pipeline

if TYPE_CHECKING:
    from deltic.pipeline.refreshing import RefreshReport

WRONG_FILE, FAILED = 2, 1


def refresh_command(file: Path, full: bool, tables: list[str] | None, dry_run: bool, as_json: bool) -> int:
    """Refresh and report; return the exit status: 0, 1 for a failure, 2 for an error in the file."""
    try:
        document = read_document(file)
    except ProgramError as error:
        report_error(error, as_json)
        return WRONG_FILE
    if dry_run:
        planned = _planned(document)
        print(json.dumps({"ok": True, **planned}, indent=2) if as_json else _plan(planned))
        return 0
    with progress_for(as_json):
        report = _refreshed(document, full, tables)
    print(json.dumps(_document(report), indent=2, ensure_ascii=False) if as_json else report)
    return FAILED if report.failed else 0


def _refreshed(document: Document, full: bool, tables: list[str] | None) -> RefreshReport:
    with _pipeline(document, document.state) as pipeline:
        for view, place in document.outputs:
            pipeline.publish(view, place)
        for table in sorted(pipeline.attached.keys() - document.sources.keys()):
            pipeline.detach(table)
            print(f"{table}: the file names no source for it any more; its rows stay", file=sys.stderr)
        for made in pipeline.publications:
            if (made.view, made.to) not in document.outputs:
                pipeline.unpublish(made.view, made.to)
        return pipeline.refresh(full, tables)


def _planned(document: Document) -> dict[str, Any]:
    """Print what would be read and published, without changing the state."""
    positions: dict[str, Any] = {}
    if document.state is not None and ((path := local_path(document.state)) is None or path.exists()):
        with _reader(document) as before:
            positions = dict(before.positions)
    with _pipeline(document, None) as pipeline:
        for view, place in document.outputs:
            pipeline.publish(view, place)
        return {"reads": pipeline.pending(positions), "publishes": [str(made) for made in pipeline.publications]}


def _reader(document: Document) -> Pipeline:
    """Open the state of a refresh file for reading."""
    functions = document.options.get("functions", ())
    return Pipeline(state=document.state, functions=functions, durability=Durability(readonly=True))


@contextmanager
def _pipeline(document: Document, state: str | None) -> Iterator[Pipeline]:
    """A pipeline with the program and the sources of a file."""
    options = grouped(document.options)
    if state is None:
        options.pop("durability", None)
    with ExitStack() as stack:
        spark = None
        if document.spark is not None:
            from deltic.pipeline.spark.session import spark_session

            spark = stack.enter_context(spark_session(**document.spark))
        pipeline = stack.enter_context(Pipeline(spark, state=state, program=document.program, **options))
        for table, place in document.sources.items():
            pipeline.attach(table, place)
        yield pipeline


def _plan(planned: dict[str, Any]) -> str:
    lines = [f"{name}: would read {what}" for name, what in planned["reads"].items()]
    return "\n".join([*lines, *(f"would publish {what}" for what in planned["publishes"])])


def _document(report: RefreshReport) -> dict[str, Any]:
    return {
        "ok": not report.failed,
        "epoch": report.epoch,
        "changed": {n: asdict(c) for n, c in report.report.changed.items()} if report.report else {},
        "rows_in": report.report.rows_in if report.report else 0,
        "sources": {name: asdict(entry) for name, entry in report.sources.items()},
        "failed": {name: asdict(entry) for name, entry in report.failed.items()},
        "published": {name: asdict(entry) for name, entry in report.published.items()},
    }

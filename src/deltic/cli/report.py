"""The report of `deltic run`: for people on two streams, for machines as one document."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from typing import Any

from rich.console import Console

from deltic.cli.options import RunOptions
from deltic.cli.table import epochs_table, late_rows, recomputed, seconds
from deltic.engine.lateness import LateRows
from deltic.errors import ChangeError, DelticError, Diagnostic, DiagnosticError, LateError, count_of
from deltic.pipeline.job.outcome import EpochDone, EpochRejected, JobOutcome

_WIDE = 160


def print_error(error: DelticError) -> None:
    """Print an error on standard error."""
    print(f"error: {error}", file=sys.stderr)
    if isinstance(error, EpochRejected) and isinstance(error.reason, ChangeError):
        option = "--late drop" if isinstance(error.reason, LateError) else "--conflicts normalize"
        print(f"  hint: on the command line that is {option}", file=sys.stderr)


def print_program(outcome: JobOutcome) -> None:
    """Print the output of the program on standard output."""
    for text in outcome.printed:
        print(text)
    for name, rows in outcome.sizes.items():
        print(f"{name}\t{rows}")


def print_outcome(outcome: JobOutcome) -> None:
    """Print the table of epochs, the sizes and the written files on standard output."""
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = _WIDE
    console.print(epochs_table(outcome.epochs, outcome.watched))
    for line in (*recomputed(outcome.epochs), *late_rows(outcome.epochs)):
        print(line)
    for written in outcome.written:
        print(f"{written.name}: {count_of(written.rows, 'row')} in {written.path}")
    print(_times(outcome))


def print_notes(outcome: JobOutcome) -> None:
    """Print notes for the user on standard error."""
    for note in outcome.notes:
        print(f"note: {note}", file=sys.stderr)


def print_json(options: RunOptions, outcome: JobOutcome | None, error: DelticError | None) -> None:
    """Print the whole report as one JSON document on standard output."""
    done = outcome or JobOutcome()
    document = {
        "ok": error is None,
        "program": str(options.program),
        "engine": options.views.engine,
        "epochs": [_epoch(epoch) for epoch in done.epochs],
        "views": {w.name: {"rows": w.rows, "path": str(w.path)} for w in done.written},
        "printed": done.printed,
        "sizes": done.sizes,
        "notes": done.notes,
        "write_seconds": round(done.write_seconds, 6),
        "peak_memory_bytes": peak_memory(),
        "error": error_json(error) if error else None,
    }
    print(json.dumps(document, indent=2, ensure_ascii=False))


def peak_memory() -> int:
    """Peak memory of this process in bytes, without that of a Spark session."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _epoch(done: EpochDone) -> dict[str, Any]:
    changed = {name: {"inserted": c.inserted, "deleted": c.deleted} for name, c in done.report.changed.items()}
    return {
        "name": done.name,
        "rows_in": done.report.rows_in,
        "changed": changed,
        "seconds": round(done.report.seconds, 6),
        "rows_visited": done.report.rows_visited,
        "bytes_read": done.report.bytes_read,
        "bytes_written": done.report.bytes_written,
        "read_seconds": round(done.read_seconds, 6),
        "write_seconds": round(done.write_seconds, 6),
        "rejected_rows": done.rejected,
        "late_rows": {late.table: _late(late) for late in done.report.late},
        "recursions": [asdict(component) for component in done.report.components],
    }


def _late(late: LateRows) -> dict[str, Any]:
    examples = [[None if value is None else str(value) for value in row] for row in late.examples]
    return {"rows": late.count, "watermark": str(late.watermark), "examples": examples}


def error_json(error: DelticError) -> dict[str, Any]:
    """Print an error as JSON, with the places of its findings."""
    reason = error.reason if isinstance(error, EpochRejected) else error
    result = reason.diagnostics if isinstance(reason, DiagnosticError) else ()
    return {
        "kind": type(reason).__name__,
        "epoch": error.epoch if isinstance(error, EpochRejected) else None,
        "message": str(reason),
        "findings": [_finding(finding) for finding in result],
    }


def _finding(finding: Diagnostic) -> dict[str, Any]:
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "hint": finding.hint,
        "text": finding.source,
    }


def _times(outcome: JobOutcome) -> str:
    reading = sum(epoch.read_seconds for epoch in outcome.epochs)
    computing = sum(epoch.report.seconds for epoch in outcome.epochs)
    writing = outcome.write_seconds + sum(epoch.write_seconds for epoch in outcome.epochs)
    memory = f"{peak_memory() / 2**30:.2f} GiB"
    return (
        f"reading {seconds(reading)}, computing {seconds(computing)}, writing {seconds(writing)}; peak memory {memory}"
    )

"""The report of `deltic run`: for people on two streams, for machines as one document."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table

from deltic.cli.run_options import RunOptions
from deltic.engine.lateness import LateRows
from deltic.errors import DelticError, Diagnostic, DiagnosticError, LateError, count_of
from deltic.pipeline.epochs.report import RowCounts
from deltic.pipeline.job.outcome import EpochDone, EpochRejected, JobOutcome

_WIDE = 160
_WIDEST = 6
"""How many views have columns of their own in the table of epochs."""


def print_error(error: DelticError) -> None:
    """Print an error on standard error."""
    print(f"error: {error}", file=sys.stderr)
    if isinstance(error, EpochRejected) and isinstance(error.reason, LateError):
        print("  hint: on the command line that is --late drop", file=sys.stderr)


def print_table(
    titles: Iterable[str], rows: Iterable[Sequence[str]], left: Collection[str], file: TextIO | None = None
) -> None:
    """Print rows under titles on standard output or a file, wide where it is no terminal; `left` columns are texts."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="left" if title in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, file=file)
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


def report_error(error: DelticError, as_json: bool) -> None:
    """Print an error on standard error, and as JSON on standard output if that is wanted."""
    if as_json:
        print(json.dumps({"ok": False, "error": error_json(error)}, indent=2, ensure_ascii=False))
    sys.stdout.flush()
    print_error(error)


def print_program(outcome: JobOutcome) -> None:
    """Print the output of the program on standard output."""
    for text in outcome.printed:
        print(text)
    for name, rows in outcome.sizes.items():
        print(f"{name}\t{rows}")


def print_outcome(outcome: JobOutcome, file: TextIO) -> None:
    """Print the table of epochs, the sizes and the written files."""
    views = outcome.watched if len(outcome.watched) <= _WIDEST else ["changed"]
    titles = "epoch", "rows in", *views, "time", "rows visited"
    print_table(titles, (_cells(done, outcome.watched) for done in outcome.epochs), ("epoch", "changed"), file)
    for line in _remarks(outcome.epochs):
        print(line, file=file)
    for written in outcome.written:
        print(f"{written.name}: {count_of(written.rows, 'row')} in {written.path}", file=file)
    print(_times(outcome), file=file)


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
        "plan": done.report.plan,
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
    times = {
        "reading": sum(epoch.read_seconds for epoch in outcome.epochs),
        "computing": sum(epoch.report.seconds for epoch in outcome.epochs),
        "writing": outcome.write_seconds + sum(epoch.write_seconds for epoch in outcome.epochs),
    }
    spent = ", ".join(f"{what} {_seconds(time)}" for what, time in times.items())
    return f"{spent}; peak memory {peak_memory() / 2**30:.2f} GiB"


def _cells(done: EpochDone, views: Sequence[str]) -> list[str]:
    """Return the row of an epoch, with a cell for each view, or one for many views."""
    report, changed = done.report, {view: done.report.changed.get(view) for view in views}
    cells = [_signed(c) for c in changed.values()] if len(views) <= _WIDEST else [_listed(changed)]
    return [done.name, f"{report.rows_in:,}", *cells, _seconds(report.seconds), f"{report.rows_visited:,}"]


def _remarks(epochs: Sequence[EpochDone]) -> Iterator[str]:
    """Yield a line for what each new plan also stores, each recomputed component, and each table with late rows."""
    for done in epochs:
        for relation in done.report.plan or ():
            yield f"{done.name}: the new plan also stores {relation}"
    for done in epochs[1:]:
        for component in done.report.components:
            if component.action in ("bootstrap", "recompute"):
                yield f"{done.name}: {', '.join(component.relations)} recomputed: {component.reason}"
    for done in epochs:
        for late in done.report.late:
            yield f"{done.name}: left out {late.summary}"


def _seconds(value: float) -> str:
    """Return a duration with three significant digits."""
    if value < 0.0995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s"


def _signed(changed: RowCounts | None) -> str:
    if changed is None:
        return "·"
    signs = [("+", changed.inserted), ("−", changed.deleted)]
    return " ".join(f"{sign}{count:,}" for sign, count in signs if count) or "·"


def _listed(changed: dict[str, RowCounts | None]) -> str:
    return "\n".join(f"{view} {_signed(change)}" for view, change in changed.items() if change) or "·"

"""Writes views, and their changes in each epoch, to files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deltic.engine.lateness import LateRows
from deltic.errors import count_of
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.json_array import write_array
from deltic.pipeline.io.render import count_unreadable
from deltic.pipeline.io.target import Format, RowTarget, Writer, change_target, clear, naming, view_target
from deltic.pipeline.job.outcome import WrittenRelation
from deltic.pipeline.session import Pipeline
from deltic.values.types import Schema


class Publisher:
    """Writes into one folder; `notes` collects what the user should know about what was written.

    Late rows that an earlier run has written there are removed at the start.
    """

    def __init__(self, writer: Writer, outputs: tuple[Output, ...], out: Path, wanted: Format | None) -> None:
        self._writer, self._outputs = writer, outputs
        self._out, self._format = out, wanted
        self.notes: list[str] = []
        self.printed: list[str] = []
        """The lines for standard output."""
        self.late = 0
        """How many rows were late."""
        self.late_folder = out / "late"
        clear(self.late_folder)

    def write_changes(self, epoch: str, change: Transaction, pipeline: Pipeline) -> None:
        """Write the changes of each output view to OUT/changes/<epoch>."""
        for output in self._outputs:
            if output.name in pipeline.views:
                changes = change.of(output.name).to_arrow()
                target = change_target(output, self._out / "changes" / epoch, self._format)
                self._writer.write(changes, target) if len(changes) else clear(target.path)

    def write_late(self, epoch: str, rows: LateRows) -> None:
        """Write late changes of a table to OUT/late/<epoch>, in the form of input changes."""
        schema = Schema.of_arrow(rows.rows.schema.remove(len(rows.rows.schema) - 1))
        self._writer.write(rows.rows, change_target(Output(rows.table, schema), self.late_folder / epoch, self._format))
        self.late += rows.count

    def write_views(self, pipeline: Pipeline) -> Iterator[WrittenRelation]:
        """Write the present rows of each output."""
        for output in self._outputs:
            rows = pipeline[output.name].to_arrow()
            if output.device in ("stdout", "json"):
                self.printed.append(_on_stdout(rows, output))
                continue
            if output.device in ("sqlite", "jsonfile"):
                yield WrittenRelation(output.name, len(rows), _to_device(rows, output, self._out))
                continue
            target = view_target(output, self._out, self._format)
            self._writer.write(rows, target)
            self._check(rows, target)
            yield WrittenRelation(output.name, len(rows), target.path)

    def _check(self, rows: pa.Table, target: RowTarget) -> None:
        if target.format != "csv":
            return
        result = count_unreadable(rows, target.output.delimiter, target.output.rfc4180)
        if result:
            rows = f"{count_of(result, 'row')} with the delimiter or a line end in a symbol"
            remedy = "--format parquet keeps every row, rfc4180=true quotes"
            self.notes.append(f"{target.path} cannot be read back: {rows}; {remedy}")


def _on_stdout(rows: pa.Table, output: Output) -> str:
    """Return the rows as Soufflé prints them: a JSON array, or lines below the relation's name."""
    if output.device == "json":
        stream = io.BytesIO()
        write_array(rows, output, stream)
        return stream.getvalue().decode().rstrip("\n")
    target = RowTarget(Path(), "csv", output)
    lines = target.lines(rows).to_pylist()
    rule = "==============="
    return "\n".join(["-" * len(rule), output.title, *target.header(signed=False), rule, *lines, rule])


def _to_device(rows: pa.Table, output: Output, out: Path) -> Path:
    """Write the rows to a JSON file or a database, and return its path. Raises DelticError."""
    path = out / output.device_file
    if output.device == "sqlite":
        from deltic.pipeline.io.sqlite import write_sqlite

        write_sqlite(rows, output.title, output.schema, path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    with naming(path), unfinished.open("wb") as file:
        write_array(rows, output, file)
    unfinished.replace(path)
    return path

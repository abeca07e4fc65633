"""Outputs other than delimited files: standard output, JSON arrays, databases."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa

from deltic.pipeline.io.arrow_writer import naming
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.json_array import write_array
from deltic.pipeline.io.target import RowTarget


def on_stdout(rows: pa.Table, output: Output) -> str:
    """Return the rows as Soufflé prints them: a JSON array, or lines below the relation's name."""
    if output.device == "json":
        stream = io.BytesIO()
        write_array(rows, output, stream)
        return stream.getvalue().decode().rstrip("\n")
    target = RowTarget(Path(), "csv", output)
    lines = target.lines(rows).to_pylist()
    rule = "==============="
    return "\n".join(["-" * len(rule), output.title, *target.header(signed=False), rule, *lines, rule])


def to_device(rows: pa.Table, output: Output, out: Path) -> Path:
    """Write the rows to a JSON file or a database, and return its path. Raises DelticError."""
    extension = "sqlite" if output.device == "sqlite" else "json"
    path = out / (output.filename or f"{output.title}.{extension}")
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

"""Rows from files with Arrow alone, without a Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.blocks import blocks
from deltic.pipeline.io.columns import check_columns, conform
from deltic.pipeline.io.layout import Kind, Layout
from deltic.pipeline.io.lines import diagnose, parse
from deltic.pipeline.io.locate import Files
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.objects import parse_object, weight_columns
from deltic.pipeline.io.parsed import Batch, arrow_schema, concatenated
from deltic.pipeline.io.text import check_types
from deltic.pipeline.io.utf8 import decode
from deltic.pipeline.io.values import whole


class ArrowReader:
    """Reads in this process."""

    def read(self, files: Files, limit: int | None) -> Batch:
        """The rows of the files; reading stops once more than `limit` rows were malformed (None: never).

        Raises DataError when a file as a whole cannot hold rows of the table.
        """
        tables, rejects = [arrow_schema(files.layout.schema, files.layout.signed).empty_table()], list[Diagnostic]()
        for table, found in chain.from_iterable(_read(path, files.layout) for path in files.paths):
            tables.append(table)
            rejects += found
            if limit is not None and len(rejects) > limit:
                break
        return Batch(concatenated(tables), tuple(rejects))


_Stretch = tuple[pa.Table, list[Diagnostic]]


def _read(path: Path, layout: Layout) -> Iterator[_Stretch]:
    try:
        yield from _read_parquet(path, layout) if layout.kind is Kind.PARQUET else _read_lines(path, layout)
    except OSError as error:
        raise DataError([Diagnostic(f"the file cannot be read: {error}", str(path))]) from error


def _read_lines(path: Path, layout: Layout) -> Iterator[_Stretch]:
    if layout.kind is Kind.TEXT:
        check_types(layout)
    for block in blocks(path):
        skipped = 1 if layout.headers and block.first == 1 else 0
        parsed = parse(decode(block.lines.slice(skipped)), layout)
        positions = [position + skipped for position in parsed.bad]
        raw = block.lines.take(pa.array(positions, pa.int64())).to_pylist()
        found = zip(raw, positions, strict=True)
        yield parsed.table, [diagnose(line, layout, str(path), block.first + position) for line, position in found]


def _read_parquet(path: Path, layout: Layout) -> Iterator[_Stretch]:
    wanted, first = wanted_columns(path, layout), 1
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=wanted, batch_size=1 << 20):
            yield _conformed(pa.Table.from_batches([batch]), layout, str(path), first)
            first += len(batch)


def wanted_columns(path: Path, layout: Layout) -> list[str]:
    """The columns of a Parquet file that matter; raises DataError when it cannot hold rows of the relation."""
    try:
        fields = pq.read_schema(path)
        check_columns(fields, layout)
    except Malformed as error:
        raise DataError([error.at(str(path), 0, "")]) from error
    except pa.ArrowInvalid as error:
        raise DataError([Diagnostic("not a Parquet file", str(path))]) from error
    signs = weight_columns(layout) if layout.signed else []
    return [name for name in fields.names if name in layout.schema.names or name in signs]


def _conformed(table: pa.Table, layout: Layout, file: str, first: int) -> _Stretch:
    parsed = conform(table, layout)
    rows = table.take(pa.array(parsed.bad, pa.int64())).to_pylist()
    return parsed.table, [_diagnose(row, layout, file, first + p) for row, p in zip(rows, parsed.bad, strict=True)]


def _diagnose(row: dict[str, Any], layout: Layout, file: str, number: int) -> Diagnostic:
    """What is wrong with row `number`, counted from 1, of a Parquet file."""
    try:
        parse_object({name: whole(value) for name, value in row.items()}, layout)
    except Malformed as error:
        error.reason = f"row {number}, {error.reason}"
        return error.at(file, number, str(row))
    raise AssertionError(f"{file}: the readers disagree about row {number}, {row!r}")

"""Loads the rows of an epoch's files: all or none, or all but malformed ones, which are listed in files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from deltic.errors import DataError, Diagnostic, count_of
from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.parsed import ParsedRows, concatenated
from deltic.pipeline.io.target import naming

_SHOWN = 10
_MORE = Diagnostic(
    f"these are the first {_SHOWN} malformed rows, and there are more",
    hint="--on-error skip leaves malformed rows out and lists them in a file",
)


class RowReader(Protocol):
    """Reads the rows of files."""

    def read(self, files: TableFiles, limit: int | None) -> ParsedRows:
        """Return the rows, with findings for at most `limit` + 1 malformed ones (None: for all).

        Raises DataError if a file as a whole cannot hold rows of the table.
        """


def _with_hints_once(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings without repeated hints."""
    hints: set[str] = set()
    shortened = []
    for finding in findings:
        shortened.append(replace(finding, hint="") if finding.hint in hints else finding)
        hints.add(finding.hint)
    return shortened


class Loader:
    """Reads epochs. Malformed rows reject the epoch, or go to `rejects` if given."""

    def __init__(self, reader: RowReader, rejects: Rejects | None) -> None:
        self._reader = reader
        self._rejects = rejects

    def load(self, files: Sequence[TableFiles]) -> dict[str, pa.Table]:
        """Return the rows by table. DataError with the first findings if some are malformed."""
        limit = None if self._rejects is not None else _SHOWN
        batches = [(result.table, self._reader.read(result, limit)) for result in files]
        findings = _with_hints_once(finding for _, batch in batches for finding in batch.rejects)
        if findings and self._rejects is None:
            raise DataError(findings if len(findings) <= _SHOWN else [*findings[:_SHOWN], _MORE])
        tables: dict[str, list[pa.Table]] = {}
        for table, batch in batches:
            tables.setdefault(table, []).append(batch.table)
            if self._rejects is not None:
                self._rejects.add(table, batch.rejects)
        return {table: concatenated(parts) for table, parts in tables.items()}


def loaded(files: TableFiles) -> pa.Table:
    """Return the rows of a table's files, read in this process. Raises DataError with the first malformed rows."""
    from deltic.pipeline.io.splits import ArrowReader

    return Loader(ArrowReader(), None).load([files])[files.table]


_HEADER = ("file", "line", "column", "reason", "text")


class Rejects:
    """Appends to one file for each table: OUT/rejects/<table>.csv, with quotes as in RFC 4180.

    Files of an earlier run for these tables are removed at the start.
    """

    def __init__(self, folder: Path, tables: Iterable[str], limit: int) -> None:
        self.folder, self._limit = folder, limit
        self.count = 0
        for table in tables:
            self._path(table).unlink(missing_ok=True)

    def add(self, table: str, found: Sequence[Diagnostic]) -> None:
        """Write the findings about rows of a table. DataError if there are more than the limit by now."""
        if not found:
            return
        self.count += len(found)
        path = self._path(table)
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with naming(path), path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(_HEADER)
            writer.writerows((d.file, d.line, d.column or "", d.message, d.source) for d in found)
        if self.count > self._limit:
            message = f"{count_of(self.count, 'malformed row')}, more than {self._limit:,}; they are listed in {path}"
            raise DataError([Diagnostic(message, hint="mend the files, or allow more by --reject-limit")])

    def _path(self, table: str) -> Path:
        return self.folder / f"{table}.csv"

"""Files of malformed rows that were left out, with their places and errors."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from deltic.errors import DataError, Diagnostic, count_of
from deltic.pipeline.io.arrow_writer import naming

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

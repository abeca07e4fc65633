"""Loads the rows of an epoch's files, all or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.parsed import ParsedRows, concatenated
from deltic.pipeline.io.rejects import Rejects

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

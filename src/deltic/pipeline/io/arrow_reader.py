"""Reads rows from files in this process, without a Spark session."""

from __future__ import annotations

from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.parsed import ParsedRows
from deltic.pipeline.io.splits import joined, read, splits


class ArrowReader:
    """Reads in this process."""

    def read(self, files: TableFiles, limit: int | None) -> ParsedRows:
        """Return the rows of the files. Reading stops when more than `limit` rows are malformed (None: never).

        Raises DataError if a file as a whole cannot hold rows of the table.
        """
        parts = ((split, batch) for split in splits(files) for batch in read(split, files.layout))
        return joined(parts, files.layout, limit)

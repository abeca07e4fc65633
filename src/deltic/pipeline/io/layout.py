"""How the rows of one relation are written in a file."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from deltic.pipeline.io.rounding import Rounding
from deltic.values.types import Schema, Type


class FileKind(enum.Enum):
    """The family of a file format, by the name that sources and files to write have for it."""

    TEXT = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"
    SQLITE = "sqlite"


Records = tuple[tuple[str, tuple[str, ...]], ...]
"""The names of record types' fields, by type."""


@dataclass(frozen=True)
class FileLayout:
    """The layout of one relation's file: rows of `schema`, and, if `signed`, whether each is inserted or deleted.

    The other fields describe delimited text: the text between fields, whether the first line of each file is a
    header, and whether fields may be quoted as in RFC 4180 (a quoted field may extend over lines).
    """

    schema: Schema
    kind: FileKind = FileKind.TEXT
    signed: bool = False
    delimiter: str = "\t"
    headers: bool = False
    rfc4180: bool = False
    key: tuple[str, ...] = ()
    """The columns by which changes may name the table's rows; none if it has no key."""
    places: tuple[int, ...] = ()
    """For delimited text, the field of each column, from 0; none if a line only has the columns."""
    relation: str = ""
    """For a database, the table or view with the rows."""
    as_souffle: bool = False
    """For delimited text, whether it is read as Soufflé does: fields after the columns are ignored, and a comma of the
    delimiter between brackets does not separate fields.
    """
    structures: tuple[tuple[str, str], ...] = ()
    """The families of structure columns, see `deltic.datalog.souffle.functions.structures`."""
    records: Records = ()
    """The names of record types' fields."""
    rounding: Rounding | None = field(default=None, compare=False)
    """Rounds values that do not fit, and counts them; None if they are refused."""

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return len(self.schema)

    @property
    def has_brackets(self) -> bool:
        """Return whether brackets enclose a field."""
        return self.as_souffle and not self.rfc4180 and "," in self.delimiter

    @property
    def keeps_blank_lines(self) -> bool:
        """Return whether an empty line is a row: an empty text, or a row without columns.

        Otherwise blank lines are skipped.
        """
        return not self.signed and [column.type for column in self.schema] in ([], [Type.STRING])

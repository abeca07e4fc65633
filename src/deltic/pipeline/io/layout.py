"""How the rows of one relation are written in a file."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from deltic.values.types import Schema, Type


class FileKind(enum.Enum):
    """The family of a file format."""

    TEXT = "text"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"
    SQLITE = "sqlite"


Records = tuple[tuple[str, tuple[str, ...]], ...]
"""The names of the fields of record types, by the names of the types."""


@dataclass(frozen=True)
class FileLayout:
    """What a file of one relation holds: rows of `schema`, and when `signed`, whether each comes or goes.

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
    """The columns by which changes may name the rows of the table; none where it has no key."""
    places: tuple[int, ...] = ()
    """Of delimited text, which field of a line each column is, from 0; none where a line has the columns alone."""
    relation: str = ""
    """Of a database, the table or view that has the rows."""
    as_souffle: bool = False
    """Of delimited text, whether it is read as Soufflé reads it: what a line has behind its columns is left out, and
    where the delimiter has a comma, one between brackets is none."""
    structures: tuple[tuple[str, str], ...] = ()
    """The families of columns that are structures, see `deltic.datalog.souffle.functions.structures`."""
    records: Records = ()
    """The names of the fields of record types."""

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return len(self.schema)

    @property
    def has_brackets(self) -> bool:
        """Whether brackets hold a field together."""
        return self.as_souffle and not self.rfc4180 and "," in self.delimiter

    @property
    def keeps_blank_lines(self) -> bool:
        """Whether an empty line is a row: that of one symbol, the empty one, or that of no column.

        Elsewhere blank lines are skipped.
        """
        return not self.signed and [column.type for column in self.schema] in ([], [Type.STRING])


def phrase(type_: Type) -> str:
    """How messages call the values of a type."""
    return _PHRASES.get(type_, f"a value of type {type_}")


_PHRASES = {
    Type.INT64: "a number",
    Type.UINT64: "an unsigned number",
    Type.FLOAT64: "a float",
    Type.STRING: "a string",
    Type.BOOLEAN: "true or false",
    Type.DATE: "a date",
    Type.BINARY: "bytes",
    Type.TIMESTAMP: "a timestamp with a time zone",
    Type.TIMESTAMP_NTZ: "a timestamp without a time zone",
}

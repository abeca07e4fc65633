"""How the rows of one relation are written in a file, with the signs of changed rows.

A changed row is inserted or deleted, or replaces the row with its key.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deltic.circuit.tables import WEIGHT
from deltic.engine.keyed import BY_KEY, UPSERT
from deltic.pipeline.io.rounding import Rounding
from deltic.values.types import Column, Schema, Type


class FileKind(enum.Enum):
    """The family of a file format, by the name that sources and files to write have for it."""

    TEXT = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"
    SQLITE = "sqlite"


OP = "op"
FEED = "_change_type"
"""The column of Delta's change data feed with the kind of change."""
FEED_COLUMNS = (FEED, "_commit_version", "_commit_timestamp")

_UPSERTS = ("u", "upsert", "update")
_OPS = {**dict.fromkeys(("+", "insert", "i", "c", "r"), 1), **dict.fromkeys(("-", "delete", "d"), -1)}
_OPS_BY_KEY = {**_OPS, **dict.fromkeys((*_UPSERTS, "r"), UPSERT), "d": BY_KEY}
_SIGNS = {FEED: {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}}
WITHOUT_KEY = (
    "declare the key by which the row to be replaced is found, with key= or PRIMARY KEY, or let that row go, and the "
    "new one come"
)

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
    optional: Mapping[str, Any] | None = field(default=None, compare=False)
    """The columns that an inserted row may leave out, with their values then; a row with other columns than the table's
    is refused. None for what others have written: a row has all columns, and may have more, which are ignored.
    """
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

    @property
    def sign_columns(self) -> list[str]:
        """The possible names of the column with the weight, if there is one. The first existing one counts."""
        return [name for name in (WEIGHT, OP, FEED) if self.signed and name not in self.schema.names]

    def words(self, name: str) -> Mapping[str, int]:
        """Return the lower-case words in one of these columns, with their weights."""
        if name != OP:
            return _SIGNS.get(name, {})
        return _OPS_BY_KEY if self.key else _OPS

    @property
    def others(self) -> list[Column]:
        """The columns outside the key of a table with one: a deletion by key need not have them."""
        return [column for column in self.schema if column.name not in self.key] if self.key else []

    @property
    def has_key_alone(self) -> bool:
        """Return whether a row with NULL in all `others` can only be a key."""
        return not all(column.nullable for column in self.others)


def needs_key(word: str) -> bool:
    """Return whether a word requires a table with a key."""
    return word.lower() in _UPSERTS

"""COPY: parsing the statement, and rows as text, CSV and PostgreSQL's binary format."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
from pyarrow import csv

from deltic.server.postgres.codec import BINARY_FORMAT, TEXT_FORMAT, load, rows_of
from deltic.server.postgres.dialect import ClientStatement
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.tokens import letter_of
from deltic.server.postgres.types import Field
from deltic.values.types import Schema

Format = Literal["text", "csv", "binary"]


@dataclass(frozen=True)
class CopyOptions:
    """How rows are written; `delimiter`, `null` and `header` are of text and CSV, `quote` of CSV."""

    form: Format = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'

    @property
    def code(self) -> int:
        """The format that the protocol names: 0 is text, 1 binary."""
        return BINARY_FORMAT if self.form == "binary" else TEXT_FORMAT

    @cached_property
    def escapes(self) -> dict[int, str]:
        """How letters of a text are written."""
        return str.maketrans({self.delimiter: "\\" + self.delimiter} | _ESCAPES)


@dataclass(frozen=True)
class Copy:
    """A COPY of columns of a table in or out, all of them where none are named; or of a query, out."""

    table: str
    columns: Sequence[str]
    query: ClientStatement | None
    is_in: bool
    options: CopyOptions


def copy_of(statement: ClientStatement) -> Copy:
    """Parse COPY table (columns) FROM STDIN, COPY table TO STDOUT or COPY (query) TO STDOUT, with options.

    Raises PostgresError.
    """
    words = statement.words
    end = _closing(statement, 1) if words[1:2] == ["("] else 0
    table, place = ("", end + 1) if end else statement.name(1)
    columns: list[str] = []
    if not end and words[place : place + 1] == ["("]:
        closing = _closing(statement, place)
        columns = [token.text for token in statement.tokens[place + 1 : closing] if token.text != ","]
        place = closing + 1
    is_in, where = words[place : place + 1] == ["FROM"], words[place + 1 : place + 2]
    if words[place : place + 1] not in (["FROM"], ["TO"]) or where != (["STDIN"] if is_in else ["STDOUT"]):
        message = "COPY goes FROM STDIN or TO STDOUT: the server reads and writes no files"
        raise statement.error(place + 1, message, "in psql, use \\copy", "0A000")
    if is_in and end:
        raise statement.error(place, "a query is copied TO STDOUT")
    options = _options(statement, [token.text for token in statement.tokens[place + 2 :]])
    query = statement.part(2, end) if end else None
    return Copy(table, columns, query, is_in, options)


def _closing(statement: ClientStatement, place: int) -> int:
    """Return the number of the bracket that closes one."""
    depth = 0
    for number, word in enumerate(statement.words[place:], place):
        depth += (word == "(") - (word == ")")
        if not depth:
            return number
    raise statement.error(place, "a bracket is not closed")


def _options(statement: ClientStatement, words: Sequence[str]) -> CopyOptions:
    """WITH (FORMAT csv, HEADER, DELIMITER ';'), or as older clients write it: CSV HEADER DELIMITER ';'."""
    rest = [word for word in words if word.upper() not in ("(", ")", ",", "WITH", "AS", "FORMAT")]
    form: Format = "text"
    options = CopyOptions()
    given: dict[str, Any] = {}
    position = 0
    while position < len(rest):
        word, value = rest[position].lower(), rest[position + 1] if position + 1 < len(rest) else ""
        position += 1
        match word:
            case "text" | "csv" | "binary":
                form = word
            case "header":
                is_said = value.lower() in ("true", "false", "on", "off", "1", "0")
                given["header"] = not is_said or value.lower() in ("true", "on", "1")
                position += is_said
            case "delimiter" | "null" | "quote":
                given[word] = value
                position += 1
            case "encoding" if value.upper().replace("-", "") == "UTF8":
                position += 1
            case _:
                raise statement.error(len(statement.tokens) - 1, f"COPY has no option {word}", "", "0A000")
    if form == "csv":
        options = replace(options, delimiter=",", null="")
    return replace(options, form=form, **given)


# Out

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_TRAILER = struct.pack("!h", -1)
_ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def copied_out(table: pa.Table, fields: Sequence[Field], options: CopyOptions) -> Iterator[bytes]:
    """Yield a table as COPY sends it: header, rows, trailer."""
    rows = copied_rows(table, fields, options)
    if options.form == "binary":
        yield _SIGNATURE + next(rows, b"")  # together, as clients expect it
        yield from rows
        yield _TRAILER
        return
    if options.header:
        yield _line([field.name.encode() for field in fields], options)
    yield from rows


def copied_rows(table: pa.Table, fields: Sequence[Field], options: CopyOptions) -> Iterator[bytes]:
    """Return the rows of a table as COPY sends them."""
    rows = rows_of(table, fields, [options.code] * len(fields))
    if options.form == "binary":
        return (struct.pack("!h", len(fields)) + b"".join(map(_binary_value, row)) for row in rows)
    return (_line(row, options) for row in rows)


def _binary_value(value: bytes | None) -> bytes:
    return struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value


def _line(row: Sequence[bytes | None], options: CopyOptions) -> bytes:
    texts = (options.null if value is None else _written(value.decode(), options) for value in row)
    return (options.delimiter.join(texts) + "\n").encode()


def _written(text: str, options: CopyOptions) -> str:
    quote = options.quote
    if options.form == "text":
        return text.translate(options.escapes)
    if text == options.null or any(letter in text for letter in (options.delimiter, quote, "\n", "\r")):
        return quote + text.replace(quote, quote * 2) + quote
    return text


# In


def copied_in(data: bytes, fields: Sequence[Field], options: CopyOptions, schema: Schema) -> pa.Table:
    """Return the rows of a table that a client has copied in; columns of the table that are not among `fields` are
    NULL.

    Raises PostgresError, which names the line, and DataError.
    """
    from deltic.pipeline.rows.coerce import to_table

    places = {field.name: number for number, field in enumerate(fields)}
    order = [places.get(name, len(fields)) for name in schema.names]
    try:
        rows = [(*row, None) for row in _values(data, fields, options)]
    except (ValueError, struct.error, IndexError) as error:
        raise PostgresError("22P04", f"COPY: the data is no {options.form}: {error}") from None
    return to_table("COPY", schema, [tuple(row[place] for place in order) for row in rows])


def _values(data: bytes, fields: Sequence[Field], options: CopyOptions) -> Iterator[list[Any]]:
    split = {"binary": _binary_rows, "csv": _csv_rows, "text": _text_rows}[options.form]
    for number, row in enumerate(split(data, options, len(fields)), 1 + options.header):
        if len(row) != len(fields):
            raise PostgresError("22P04", f"COPY, line {number}: {len(row)} values for {len(fields)} columns")
        pairs = zip(row, fields, strict=True)
        yield [None if value is None else load(field.oid, options.code, value) for value, field in pairs]


_UNESCAPED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_END = re.compile(rb"(?:(?<=\n)|\A)\\\.\r?\n?\Z")
"""The line by which psql ends data that it reads with the statement."""
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _letter(match: re.Match[str]) -> str:
    return letter_of(match[1], _LETTERS)


def _text_rows(data: bytes, options: CopyOptions, width: int) -> Iterator[list[bytes | None]]:
    text = data.decode().replace("\r\n", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    delimiter = re.escape(options.delimiter)
    value = re.compile(rf"((?:\\.|[^\\{delimiter}])*){delimiter}")
    for line in lines[options.header :]:
        if line == "\\.":
            return
        values = value.findall(line + options.delimiter) if "\\" in line else line.split(options.delimiter)
        yield [None if each == options.null else _UNESCAPED.sub(_letter, each).encode() for each in values]


def _csv_rows(data: bytes, options: CopyOptions, width: int) -> Iterator[list[bytes | None]]:
    """By Arrow, which knows quoted values that are empty from those that are not there."""

    names = [str(number) for number in range(width)]
    data = _END.sub(b"", data)
    if not data.strip():
        return
    table = csv.read_csv(
        io.BytesIO(data),
        csv.ReadOptions(column_names=names, skip_rows=int(options.header)),
        csv.ParseOptions(
            delimiter=options.delimiter, quote_char=options.quote, newlines_in_values=True, ignore_empty_lines=False
        ),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[options.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    columns = [column.to_pylist() for column in table.columns]
    yield from ([None if v is None else v.encode() for v in row] for row in zip(*columns, strict=True))


def _binary_rows(data: bytes, options: CopyOptions, width: int) -> Iterator[list[bytes | None]]:
    if not data.startswith(_SIGNATURE[:11]):
        raise PostgresError("22P04", "COPY: the data does not begin as the binary format does")
    (extension,) = struct.unpack_from("!i", data, 15)
    position = 19 + extension
    while (count := struct.unpack_from("!h", data, position)[0]) >= 0:
        position += 2
        row: list[bytes | None] = []
        for _ in range(count):
            (length,) = struct.unpack_from("!i", data, position)
            position += 4
            row.append(None if length < 0 else data[position : position + length])
            position += max(length, 0)
        yield row

"""Finds the files of a folder with the rows of a relation, and their layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from deltic.errors import DataError, Diagnostic, did_you_mean
from deltic.pipeline.io.blocks import STDIN, blocks
from deltic.pipeline.io.layout import FileKind, FileLayout, Records
from deltic.pipeline.io.parsed import Malformed
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.io.text import delimiter_hint, split
from deltic.values.types import Schema

# The kind of a file, by its suffix; the delimiter is None if the directive or the default decides.
_BY_EXTENSION: dict[str, tuple[FileKind, str | None]] = {
    ".facts": (FileKind.TEXT, None),
    ".csv": (FileKind.TEXT, ","),
    ".tsv": (FileKind.TEXT, "\t"),
    ".txt": (FileKind.TEXT, None),
    ".parquet": (FileKind.PARQUET, None),
    ".json": (FileKind.JSON, None),
    ".jsonl": (FileKind.JSON, None),
    ".arrow": (FileKind.ARROW, None),
    ".feather": (FileKind.ARROW, None),
}
EXTENSIONS = tuple(_BY_EXTENSION)
COMPRESSED = ".gz"

Device = Literal["file", "stdin", "stdout", "json", "jsonfile", "sqlite"]
"""Where rows are read or written; `json` is standard input or output."""
_OF_DEVICES = {"json": FileKind.JSON, "jsonfile": FileKind.JSON, "sqlite": FileKind.SQLITE, "stdin": FileKind.TEXT}


@dataclass(frozen=True)
class RelationFile:
    """How the program wants the rows of a relation to be read or written."""

    name: str
    schema: Schema
    filename: str | None = None
    delimiter: str | None = None
    headers: bool = False
    rfc4180: bool = False
    device: Device = "file"
    called: str = ""
    """The external name of the relation, if it differs."""
    records: Records = ()
    """See `FileLayout.records`."""

    @property
    def title(self) -> str:
        """The external name of the relation."""
        return self.called or self.name

    @property
    def device_file(self) -> str:
        """The name of the database or JSON file that is its device."""
        return self.filename or f"{self.title}.{'sqlite' if self.device == 'sqlite' else 'json'}"


@dataclass(frozen=True)
class TableInput(RelationFile):
    """How the program wants the rows of a table to be read; None if its directive does not say."""

    by_name: bool = False
    """Whether delimited text has headers, which name the columns of the fields."""
    required: bool = True
    key: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    """The field of each column, from 0; none if a line only has the columns."""
    as_souffle: bool = False
    structures: tuple[tuple[str, str], ...] = ()

    def layout(self, path: Path, signed: bool) -> FileLayout:
        """Return the layout of a file or folder of this table, by its name."""
        found, delimiter = form_of(path)
        kind = found or FileKind.TEXT
        if not signed:
            kind = _OF_DEVICES.get(self.device, kind)
        if delimiter == "," and self.filename is not None and not signed and self._has_tabs(path):
            delimiter = "\t"
        chosen = self.delimiter or delimiter or ("," if self.rfc4180 else "\t")
        has_headers = (self.headers or self.by_name) and kind is FileKind.TEXT
        text = chosen, has_headers, self.rfc4180, self.key, () if signed else self.places
        as_souffle = self.as_souffle and not signed
        return FileLayout(self.schema, kind, signed, *text, self.title, as_souffle, self.structures, self.records)

    def _has_tabs(self, path: Path) -> bool:
        """Return whether a .csv file that the program names has tabs between its fields, as in Soufflé."""
        if self.rfc4180 or not path.is_file():
            return False
        return len(self.schema) == 1 or b"\t" in next(blocks(path, size=1), b"")

    @property
    def candidates(self) -> list[str]:
        """The possible file names of this table's rows, in the order of the documentation."""
        if self.device in ("sqlite", "jsonfile"):
            return [self.device_file]
        if self.filename is not None:
            return [self.filename, self.filename + COMPRESSED]
        names = [self.title + ending for ending in EXTENSIONS]
        return names + [name + COMPRESSED for name in names if form_of(Path(name))[0] in (FileKind.TEXT, FileKind.JSON)]


@dataclass(frozen=True)
class TableFiles:
    """Files with rows of one table, all in the same layout, in the order in which they are read."""

    table: str
    paths: tuple[Path, ...]
    layout: FileLayout

    def rounded(self, rounding: Rounding | None) -> TableFiles:
        """Return the same files, whose values are rounded and counted."""
        return replace(self, layout=replace(self.layout, rounding=rounding))


def locate(source: TableInput, folder: Path) -> TableFiles | None:
    """Return the files of a table in a folder, None if there are none.

    Raises DataError if there are several, and none has the name that the program gives or, without one, `.facts`.
    """
    if source.device in ("stdin", "json"):
        return files_at(source, STDIN, signed=False)
    result = [folder / name for name in source.candidates if (folder / name).exists()]
    if len(result) > 1 and result[0] != folder / source.candidates[0]:
        names = " and ".join(path.name for path in result)
        raise wrong(
            folder,
            f"table {source.name}: both {names} are here",
            f"keep one, or name it: .input {source.name}(filename=...)",
        )
    return files_at(source, result[0], signed=False) if result else None


def files_at(source: TableInput, path: Path, signed: bool) -> TableFiles:
    """Return the files of a table at one path: the file itself, or the part files of a folder, of which there may be
    none.

    Raises DataError if their first lines must name the columns, and do not.
    """
    paths = tuple(part_files(path)) if path.is_dir() else (path,)
    layout = source.layout(path, signed)
    if source.by_name and layout.headers:
        layout = replace(layout, places=places_by_name(source.name, paths, layout))
    return TableFiles(source.name, paths, layout)


def missing(source: TableInput, folder: Path) -> DataError:
    """Return the error for a table whose files are missing."""
    looked = str(folder / (source.filename or f"{source.title}.facts"))
    also = "" if source.filename else f" (or {', '.join(EXTENSIONS[1:])})"
    if not folder.exists():
        return wrong(folder, f"table {source.name}: there is no such folder", "name the one that holds the facts")
    hint = (
        f"put the rows of {source.name} there, say where they are with --facts DIR, or let it be empty: "
        "deltic run --missing-facts empty"
    )
    return DataError([Diagnostic(f"table {source.name}: no file {looked}{also}", hint=hint)])


def part_files(folder: Path) -> Iterator[Path]:
    """Yield the data files of a folder, in order. Hidden ones and markers such as _SUCCESS are not data."""
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.name)):
        if path.is_file() and not is_hidden(path):
            yield path


def is_hidden(path: Path) -> bool:
    """Return whether a name shows that the file is not data."""
    return path.name.startswith((".", "_"))


def extension(path: Path) -> str:
    """Return the suffix of a name that shows the format, "" if it is unknown; a suffix of compression is ignored."""
    suffix = Path(path.name.removesuffix(COMPRESSED)).suffix.lower()
    return suffix if suffix in _BY_EXTENSION else ""


def form_of(path: Path) -> tuple[FileKind | None, str | None]:
    """Return the kind of a file and its delimiter, by the suffix of its name; None if it does not tell."""
    return _BY_EXTENSION.get(extension(path), (None, None))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which 2 comes before 10."""
    parts = re.split(r"([0-9]+)", name)
    return [(0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part) for part in parts if part]


def wrong(path: Path, message: str, hint: str = "") -> DataError:
    """Return the error about a file or a folder as a whole."""
    return DataError([Diagnostic(message, str(path), hint=hint)])


def places_by_name(table: str, paths: Iterable[Path], layout: FileLayout) -> tuple[int, ...]:
    """Return the field of each column of a table according to files' first lines, in the form of `FileLayout.places`.

    Case and blanks around names do not matter. Fields with other names are ignored, and one before the columns of a
    change is its sign. Raises DataError if a column has no field, or different fields in several files.
    """
    result: dict[tuple[int, ...], Path] = {}
    for path in paths:
        line = next(blocks(path, size=1), b"").decode(errors="replace").rstrip("\r\n")
        if line:
            result.setdefault(_places(table, path, line, layout), path)
    if len(result) > 1:
        first, other, *_ = result.values()
        raise _wrong_header(table, other, "", f"the columns are in another order than in {first}", "give all one order")
    return next(iter(result), ())


def _places(table: str, path: Path, line: str, layout: FileLayout) -> tuple[int, ...]:
    try:
        names = [field.value.strip().lower() for field in split(line, 0, layout)]
    except Malformed as error:
        raise _wrong_header(table, path, line, error.reason, error.hint) from None
    columns = [name.lower() for name in layout.schema.names]
    if layout.signed and names[0] not in columns:
        names = names[1:]
    for column in columns:
        if names.count(column) != 1:
            message = "two fields have the name" if column in names else "no field has the name"
            hint = did_you_mean(column, names) or f"the first line names {', '.join(names)}"
            if len(names) == 1 < len(columns):
                hint = delimiter_hint(line, layout.delimiter)
            raise _wrong_header(table, path, line, f"{message} of the column {column}", hint)
    places = tuple(map(names.index, columns))
    return () if places == tuple(range(len(names))) else places


def _wrong_header(table: str, path: Path, line: str, message: str, hint: str) -> DataError:
    return DataError([Diagnostic(f"table {table}: {message}", str(path), 1, min(1, len(line)), line, len(line), hint)])

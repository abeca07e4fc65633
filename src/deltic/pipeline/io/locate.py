"""Which files of a folder hold the rows of a relation, and how they are to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.blocks import STDIN, blocks
from deltic.pipeline.io.header import places_by_name
from deltic.pipeline.io.layout import FileKind, FileLayout, Records
from deltic.values.types import Schema

# What a file holds, by the end of its name; the delimiter is None where the directive or the default decides.
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
"""Where rows come from or go to; `json` is standard input or output."""
_OF_DEVICES = {"json": FileKind.JSON, "jsonfile": FileKind.JSON, "sqlite": FileKind.SQLITE, "stdin": FileKind.TEXT}
_WHOLE = (".parquet", ".arrow", ".feather")
"""What is compressed within, if at all."""


@dataclass(frozen=True)
class TableInput:
    """How the program wants the rows of a table to be read; None where its directive says nothing."""

    name: str
    schema: Schema
    filename: str | None = None
    delimiter: str | None = None
    headers: bool = False
    rfc4180: bool = False
    by_name: bool = False
    """Whether delimited text has headers, which name the columns that stand in each field."""
    required: bool = True
    key: tuple[str, ...] = ()
    device: Device = "file"
    places: tuple[int, ...] = ()
    """Which field of a line each column is, counted from 0; none where a line has the columns alone."""
    called: str = ""
    """What the relation is called outside, where that is not its name."""
    as_souffle: bool = False
    structures: tuple[tuple[str, str], ...] = ()
    records: Records = ()
    """As those of `FileLayout`."""

    @property
    def title(self) -> str:
        """What the relation is called outside."""
        return self.called or self.name

    def layout(self, path: Path, signed: bool) -> FileLayout:
        """How a file or folder of this table is written, going by its name."""
        kind, delimiter = _BY_EXTENSION.get(extension(path), (FileKind.TEXT, None))
        if not signed:
            kind = _OF_DEVICES.get(self.device, kind)
        if delimiter == "," and self.filename is not None and not signed and self._has_tabs(path):
            delimiter = "\t"
        chosen = self.delimiter or delimiter or ("," if self.rfc4180 else "\t")
        has_headers = (self.headers or self.by_name) and kind is FileKind.TEXT
        places = () if signed else self.places
        return FileLayout(
            self.schema,
            kind,
            signed,
            chosen,
            has_headers,
            self.rfc4180,
            self.key,
            places,
            self.title,
            self.as_souffle and not signed,
            self.structures,
            self.records,
        )

    def _has_tabs(self, path: Path) -> bool:
        """Whether tabs stand between the fields of a file that the program names, as in Soufflé, though it is .csv."""
        if self.rfc4180 or not path.is_file():
            return False
        return len(self.schema) == 1 or b"\t" in next(blocks(path, size=1), b"")

    @property
    def candidates(self) -> list[str]:
        """The file names under which rows of this table are looked for, in the order of the documentation."""
        if self.device in ("sqlite", "jsonfile"):
            return [self.filename or f"{self.title}.{'sqlite' if self.device == 'sqlite' else 'json'}"]
        if self.filename is not None:
            return [self.filename, self.filename + COMPRESSED]
        names = [self.title + ending for ending in EXTENSIONS]
        return names + [name + COMPRESSED for name in names if not name.endswith(_WHOLE)]


@dataclass(frozen=True)
class TableFiles:
    """Files that hold rows of one table, all written the same way, in the order in which they are read."""

    table: str
    paths: tuple[Path, ...]
    layout: FileLayout

    def signed(self) -> TableFiles:
        """The same files, as changes."""
        return replace(self, layout=replace(self.layout, signed=True))


def locate(source: TableInput, folder: Path, signed: bool = False) -> TableFiles | None:
    """The files of a table in a folder, None when there are none.

    Raises DataError when several are there and none has the name that the program gives or, without one, `.facts`.
    """
    if source.device in ("stdin", "json"):
        return files_at(source, STDIN, signed)
    result = [folder / name for name in source.candidates if (folder / name).exists()]
    if len(result) > 1 and result[0] != folder / source.candidates[0]:
        names = " and ".join(path.name for path in result)
        raise _error(
            folder,
            f"table {source.name}: both {names} are here",
            f"keep one, or name it: .input {source.name}(filename=...)",
        )
    return files_at(source, result[0], signed) if result else None


def files_at(source: TableInput, path: Path, signed: bool) -> TableFiles:
    """The files of a table at one path: the file itself, or the part files of a folder, of which there may be none.

    Raises DataError where their first lines are to name the columns, and do not.
    """
    paths = tuple(part_files(path)) if path.is_dir() else (path,)
    layout = source.layout(path, signed)
    if source.by_name and layout.headers:
        layout = replace(layout, places=places_by_name(source.name, paths, layout))
    return TableFiles(source.name, paths, layout)


def missing(source: TableInput, folder: Path) -> DataError:
    """The error for a table whose files are not where they should be."""
    looked = str(folder / (source.filename or f"{source.title}.facts"))
    also = "" if source.filename else f" (or {', '.join(EXTENSIONS[1:])})"
    if not folder.exists():
        return _error(folder, f"table {source.name}: there is no such folder", "name the one that holds the facts")
    hint = (
        f"put the rows of {source.name} there, say where they are with --facts DIR, or let it be empty with "
        "--missing-facts empty"
    )
    return DataError([Diagnostic(f"table {source.name}: no file {looked}{also}", hint=hint)])


def part_files(folder: Path) -> Iterator[Path]:
    """The data files of a folder, in order; hidden ones and markers such as _SUCCESS are not data."""
    for path in sorted(folder.iterdir(), key=lambda path: natural(path.name)):
        if path.is_file() and not is_hidden(path):
            yield path


def is_hidden(path: Path) -> bool:
    """Whether a name says that the file is not data."""
    return path.name.startswith((".", "_"))


def extension(path: Path) -> str:
    """The end of a name that tells the format, "" when there is none that is known; compression aside."""
    suffix = Path(path.name.removesuffix(COMPRESSED)).suffix.lower()
    return suffix if suffix in _BY_EXTENSION else ""


def natural(name: str) -> list[tuple[int, int, str]]:
    """A sort key by which 2 comes before 10."""
    parts = re.split(r"([0-9]+)", name)
    return [(0, int(part), part) if part.isascii() and part.isdigit() else (1, 0, part) for part in parts if part]


def _error(path: Path, message: str, hint: str) -> DataError:
    return DataError([Diagnostic(message, str(path), hint=hint)])

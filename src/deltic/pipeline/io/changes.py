"""A folder of changes: its epochs, their order, and the files of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltic.errors import DataError, Diagnostic, did_you_mean
from deltic.pipeline.io.locate import (
    EXTENSIONS,
    TableFiles,
    TableInput,
    extension,
    files_at,
    is_hidden,
    natural,
    wrong,
)


@dataclass(frozen=True)
class EpochFiles:
    """The changes of one epoch: the files of each table that it changes."""

    name: str
    files: tuple[TableFiles, ...]


def epochs(folder: Path, inputs: Sequence[TableInput]) -> list[EpochFiles]:
    """Return the epochs of a folder: each file and sub-folder is one, in natural order of their names.

    Raises DataError with a finding for every file whose table is unknown.
    """
    if not folder.is_dir():
        raise wrong(folder, "there is no such folder of changes")
    result, findings = [], list[Diagnostic]()
    for path in _entries(folder):
        try:
            result.append(_epoch(path, inputs))
        except DataError as error:
            findings += error.diagnostics
    if findings:
        raise DataError(findings)
    return result


def _epoch(path: Path, inputs: Sequence[TableInput]) -> EpochFiles:
    if path.is_dir() and not extension(path):
        return EpochFiles(path.name, tuple(_sub_folder(path, inputs)))
    return EpochFiles(path.name, (files_at(_of_single(path, inputs), path, signed=True),))


def _sub_folder(folder: Path, inputs: Sequence[TableInput]) -> Iterator[TableFiles]:
    """Yield the files of the tables that one epoch changes. They are named like the tables' own files."""
    sources: dict[TableInput, Path] = {}
    for path in _entries(folder):
        source = _named_as_input(path, inputs)
        if source is None:
            raise _unknown(path, path.name, inputs, "name it as the input file of one of the tables")
        if source in sources:
            raise wrong(path, f"table {source.name}: {sources[source].name} holds changes of it already")
        sources[source] = path
        yield files_at(source, path, signed=True)


def _of_single(path: Path, inputs: Sequence[TableInput]) -> TableInput:
    """Return the table of a file that is an epoch on its own: <order>.<table>.<extension>, or the only table."""
    stem, tables = _stem(path), _by_name(inputs)
    for name in (stem.partition(".")[2], stem):
        if name in tables:
            return tables[name]
    named = _named_as_input(path, inputs)
    if named is not None:
        return named
    if len(tables) == 1:
        return inputs[0]
    raise _unknown(path, stem.partition(".")[2] or stem, inputs, "name it <order>.<table>.<extension>")


def _named_as_input(path: Path, inputs: Sequence[TableInput]) -> TableInput | None:
    """Return the table whose input file, or whose own name, has this name."""
    bare = path.name.removesuffix(".gz")
    for source in inputs:
        if source.filename is not None and Path(source.filename).name.removesuffix(".gz") == bare:
            return source
    return _by_name(inputs).get(_stem(path))


def _by_name(inputs: Sequence[TableInput]) -> dict[str, TableInput]:
    """Return the tables by name. A table with several inputs is read like the first one."""
    tables: dict[str, TableInput] = {}
    for source in inputs:
        tables.setdefault(source.name, source)
    return tables


def _stem(path: Path) -> str:
    bare = path.name.removesuffix(".gz")
    return bare[: -len(extension(path))] if extension(path) else bare


def _entries(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if not is_hidden(path)), key=lambda path: natural(path.name))


def _unknown(path: Path, name: str, inputs: Sequence[TableInput], remedy: str) -> DataError:
    known, tables = f"the extensions are {', '.join(EXTENSIONS)}", _by_name(inputs)
    hint = did_you_mean(_stem(Path(name)), tables) or f"{remedy}; {known}"
    if Path(name).stem in tables:
        hint = f"{Path(name).suffix} is not an extension that is read; {known}"
    return wrong(path, f"no table matches these changes (the tables: {', '.join(tables) or 'none'})", hint)

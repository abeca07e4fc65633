"""Files whose rows a table begins with."""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json

from deltic.engine.files.address import path_here
from deltic.errors import CatalogError
from deltic.pipeline.io.files import File
from deltic.pipeline.io.text import check_delimiter


def rows_of_file(name: str, file: File, key: Container[str]) -> pa.Table:
    """Read a file into an Arrow table; raises CatalogError where it cannot be read."""
    path = path_here(file.path)
    suffix = path.suffix.lower()
    known = (*_DELIMITERS, *_READERS)
    if suffix not in known:
        remedy = f"it may be one of {', '.join(known)}; read other files with pandas, and pass the frame"
        raise CatalogError(f"table {name}: the form of {path} is not known: {remedy}")
    if not path.exists():
        raise CatalogError(f"table {name}: there is no file {path}; relative paths start at {Path.cwd()}")
    try:
        if suffix in _DELIMITERS:
            return _delimited(path, file.delimiter or _DELIMITERS[suffix], key)
        return _READERS[suffix](path)
    except (OSError, pa.ArrowException) as error:
        raise CatalogError(f"table {name}: {path} cannot be read: {error}") from error


def _delimited(path: Path, delimiter: str, key: Container[str]) -> pa.Table:
    """Read delimited text. An empty field is NULL, in a column of the key the empty text."""
    try:
        rows = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter))
    except pa.ArrowInvalid:
        with path.open(encoding="utf-8", errors="replace") as lines:
            check_delimiter(path, lines.readline().rstrip("\r\n").split(delimiter), delimiter)
        raise
    check_delimiter(path, rows.column_names, delimiter)
    for place, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if pa.types.is_binary(column.type):
            raise CatalogError(f"{path}: column {name} is not UTF-8 text; save the file as UTF-8")
        if name not in key and pa.types.is_string(column.type):
            is_empty = pyarrow.compute.equal(column, "")
            rows = rows.set_column(place, name, pyarrow.compute.if_else(is_empty, None, column))
    return rows


def _dataset(kind: str) -> Callable[[Path], pa.Table]:
    return lambda path: pyarrow.dataset.dataset(path, format=kind).to_table()


_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _dataset("parquet"),
    ".arrow": _dataset("ipc"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), pyarrow.json.read_json),
}

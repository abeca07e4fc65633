"""The header line of delimited text: the field of each column."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deltic.errors import DataError, Diagnostic, did_you_mean
from deltic.pipeline.io.blocks import blocks
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.text import split


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
        raise _error(table, other, "", f"the columns are in another order than in {first}", "give all one order")
    return next(iter(result), ())


def _places(table: str, path: Path, line: str, layout: FileLayout) -> tuple[int, ...]:
    try:
        names = [field.value.strip().lower() for field in split(line, 0, layout)]
    except Malformed as error:
        raise _error(table, path, line, error.reason, error.hint) from None
    columns = [name.lower() for name in layout.schema.names]
    if layout.signed and names[0] not in columns:
        names = names[1:]
    for column in columns:
        if names.count(column) != 1:
            message = "two fields have the name" if column in names else "no field has the name"
            hint = did_you_mean(column, names) or f"the first line names {', '.join(names)}"
            raise _error(table, path, line, f"{message} of the column {column}", hint)
    places = tuple(map(names.index, columns))
    return () if places == tuple(range(len(names))) else places


def _error(table: str, path: Path, line: str, message: str, hint: str) -> DataError:
    return DataError([Diagnostic(f"table {table}: {message}", str(path), 1, min(1, len(line)), line, len(line), hint)])

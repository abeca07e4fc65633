"""Delta tables as sources, by the package deltalake, which needs no Java."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from deltic.catalog import Table
from deltic.circuit.types import Schema
from deltic.engine.image import Json
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.coerce import to_table
from deltic.pipeline.outside.source import Found, Held, difference, nothing

_FEED = "delta.enableChangeDataFeed"


def deltalake() -> Any:
    """The package; raises DelticError where it is not installed."""
    try:
        return importlib.import_module("deltalake")
    except ImportError:
        raise DelticError(
            "Delta tables are read and written by the package deltalake: pip install 'deltic[delta]'"
        ) from None


class DeltaSource:
    """A Delta table. A position is its id and a version: what came after it is told by the change data feed.

    Without the feed it is told by the files that were added and removed; where these are gone, or have deletion
    vectors, the whole table is compared.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def columns(self) -> Schema:
        return Schema.of_arrow(pa.schema(self._at().schema()))

    def pending(self, position: Json) -> str:
        now = self._at()
        if position is None or position["id"] != str(now.metadata().id):
            return f"all of version {now.version()}"
        return (
            f"versions {position['version'] + 1} to {now.version()}"
            if now.version() > position["version"]
            else "no version"
        )

    def new(self, table: Table, position: Json, held: Held, wants_all: bool) -> Found:
        now = self._at()
        at = {"id": str(now.metadata().id), "version": now.version()}
        if position == at and not wants_all:
            return Found(nothing(table.schema), at, "no version")
        if (
            position is not None
            and position["id"] == at["id"]
            and position["version"] < at["version"]
            and not wants_all
        ):
            for told in (self._of_feed, self._of_files):
                if (found := told(table, position["version"], now, at)) is not None:
                    return found
        with errors(self.path):
            rows = pa.table(now.scan(columns=list(table.schema.names)))
        rows = _rows(table, rows)
        return Found(difference(rows, held({})), at, "compared", len(rows))

    def _of_feed(self, table: Table, before: int, now: Any, at: Json) -> Found | None:
        """What the change data feed tells; None where it does not tell all of it."""
        if now.metadata().configuration.get(_FEED, "").lower() != "true":
            return None
        try:
            rows = pa.table(now.load_cdf(before + 1, now.version()))
        except _failures():
            return None
        changes = to_table(table.name, table.schema, rows.select([*table.schema.names, "_change_type"]), signed=True)
        return Found(changes, at, f"change feed of versions {before + 1} to {now.version()}", len(rows))

    def _of_files(self, table: Table, before: int, now: Any, at: Json) -> Found | None:
        """The rows of the files that were added and removed; None where files do not tell them."""
        try:
            then = self._at(before)
            old, new = then.to_pyarrow_dataset(), now.to_pyarrow_dataset()
            were, are = _fragments(old), _fragments(new)
            came = _read(table, new, {name: f for name, f in are.items() if name not in were})
            went = _read(table, old, {name: f for name, f in were.items() if name not in are})
        except _failures():
            return None
        read = [name for name in {**were, **are} if (name in were) != (name in are)]
        sizes = {**_sizes(then), **_sizes(now)}
        size = sum(sizes.get(name.rpartition("/")[2], 0) for name in read)
        how = f"files of versions {before + 1} to {now.version()}"
        return Found(difference(came, went), at, how, len(came) + len(went), len(read), size)

    def _at(self, version: int | None = None) -> Any:
        with errors(self.path):
            return deltalake().DeltaTable(self.path, version=version, storage_options=options_of(self.path))


def _before(position: Json, now: Any) -> int | None:
    """The version that was read, where it was one of this table that is not after the present one."""
    is_one = position is not None and position["id"] == str(now.metadata().id) and position["version"] <= now.version()
    return int(position["version"]) if is_one else None


def _fragments(dataset: Any) -> dict[str, Any]:
    return {fragment.path: fragment for fragment in dataset.get_fragments()}


def _read(table: Table, dataset: Any, fragments: Mapping[str, Any]) -> pa.Table:
    found = ds.FileSystemDataset(list(fragments.values()), dataset.schema, dataset.format, dataset.filesystem)
    return _rows(table, found.to_table(columns=list(table.schema.names)))


def _rows(table: Table, rows: pa.Table) -> pa.Table:
    found: pa.Table = to_table(table.name, table.schema, rows)
    return found


def _sizes(table: Any) -> dict[str, int]:
    """The bytes of its files, by the last parts of their names."""
    actions = pa.table(table.get_add_actions())
    names = (path.rpartition("/")[2] for path in actions.column("path").to_pylist())
    return dict(zip(names, actions.column("size_bytes").to_pylist(), strict=True))


def _failures() -> tuple[type[Exception], ...]:
    """What reading a table raises: by the package itself, and by what it reads with."""
    return importlib.import_module("deltalake.exceptions").DeltaError, pa.ArrowException, OSError


@contextmanager
def errors(path: str) -> Iterator[None]:
    """Turns what the package raises into a DataError."""
    deltalake()
    try:
        yield
    except _failures() as error:
        raise DataError([Diagnostic(f"the Delta table cannot be read: {_reason(error)}", path)]) from error


def _reason(error: Exception) -> str:
    """What is said of an error: what it is, and what it was at the bottom."""
    lines = [re.sub(r"\x1b\[[0-9;]*m|^[\s↳]+", "", line).strip("↳ ") for line in str(error).splitlines()]
    told = [line for line in lines if line and not re.match(r"Debug source:|\w+ \{", line)]
    return ": ".join(dict.fromkeys([told[0], told[-1]])) if told else type(error).__name__


def options_of(address: str) -> dict[str, str] | None:
    """How the package is to reach a store; keys and endpoints are in the environment, as AWS_ACCESS_KEY_ID is."""
    return {"max_retries": "3", "retry_timeout": "20s", "timeout": "60s"} if "://" in address else None

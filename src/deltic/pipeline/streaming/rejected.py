"""Rows of a stream that do not fit its table, as rows of a table of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from deltic.errors import DataError
from deltic.values.types import Schema

OnErrors = Literal["stop", "table"]
COLUMNS = {"row": "string", "reason": "string", "position": "string", "epoch": "int64"}
"""The columns of a table of rejected rows."""
_PLACE, _ROW = re.compile(r"^table .*?, row \d+(, |: )"), "; the row is "


def rejects_of(table: str) -> str:
    """Return the name of the table that has the rejected rows of another one."""
    return f"{table}_errors"


def tables_of_rejects(tables: Mapping[str, Schema]) -> dict[str, str]:
    """Return the tables that have rejected rows of others, by the names of those."""
    found = {name: rejects_of(name) for name in tables}
    return {name: kept for name, kept in found.items() if kept in tables and tables[kept].names == tuple(COLUMNS)}


@dataclass(frozen=True)
class RejectedRow:
    """A row, why it does not fit, and where it was in the source."""

    row: str
    reason: str
    position: Mapping[str, Any]

    def values(self, batch: int, epoch: int) -> tuple[str, str, str, int]:
        """Its row in the table of rejected rows."""
        return self.row, self.reason, json.dumps({"batch": batch, **self.position}, default=str), epoch


def sorted_out(
    rows: pa.Table, read: Callable[[pa.Table], pa.Table], shown: Sequence[str], order: Mapping[str, str]
) -> tuple[pa.Table, list[RejectedRow]]:
    """Return what is read of those rows that can be read, and the others; halves are read until all of one can.

    `shown` are the columns of a row, and `order` names those of its position. So a rejected row costs about as many
    readings as the number of rows has bits.
    """
    good, bad = list[pa.Table](), list[RejectedRow]()
    for part, result in _parts(rows, read):
        if isinstance(result, DataError):
            row = part.to_pylist()[0]
            at = {name: row[column] for name, column in order.items()}
            reason = _PLACE.sub("", result.diagnostics[0].message).partition(_ROW)[0]
            bad.append(RejectedRow(_text(row, shown), reason, at))
        else:
            good.append(result)
    return pa.concat_tables([read(rows.slice(0, 0)), *good]), bad


def _parts(rows: pa.Table, read: Callable[[pa.Table], pa.Table]) -> Iterator[tuple[pa.Table, pa.Table | DataError]]:
    """Parts of the rows that can be read, in order, with what they are, and single rows with their errors."""
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        try:
            yield part, read(part)
        except DataError as error:
            if len(part) == 1:
                yield part, error
            else:
                half = len(part) // 2
                waiting += [part.slice(half), part.slice(0, half)]


def _text(row: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Return a row as JSON; of one that is a text, or bytes, that."""
    values = {name: row[name] for name in shown}
    (first, *rest) = values.values()
    if not rest and isinstance(first, str | bytes):
        return first if isinstance(first, str) else first.decode("utf-8", "replace")
    return json.dumps(values, default=str, ensure_ascii=False)

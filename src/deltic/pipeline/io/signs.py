"""The sign of a changed row: inserted, deleted, or replacing the row with its key."""

from __future__ import annotations

from collections.abc import Mapping

from deltic.circuit.tables import WEIGHT
from deltic.engine.keyed import BY_KEY, UPSERT
from deltic.pipeline.io.layout import FileLayout
from deltic.values.types import Column

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


def weight_columns(layout: FileLayout) -> list[str]:
    """Return the possible names of the column with the weight. The first existing one counts."""
    return [name for name in (WEIGHT, OP, FEED) if name not in layout.schema.names]


def words(name: str, layout: FileLayout) -> Mapping[str, int]:
    """Return the lower-case words in one of these columns, with their weights."""
    if name != OP:
        return _SIGNS.get(name, {})
    return _OPS_BY_KEY if layout.key else _OPS


def needs_key(word: str) -> bool:
    """Return whether a word requires a table with a key."""
    return word.lower() in _UPSERTS


def others(layout: FileLayout) -> list[Column]:
    """Return the columns outside the key of a table with one: a deletion by key need not have them."""
    return [column for column in layout.schema if column.name not in layout.key] if layout.key else []


def have_key_alone(layout: FileLayout) -> bool:
    """Return whether a row with NULL in all `others` can only be a key."""
    return not all(column.nullable for column in others(layout))

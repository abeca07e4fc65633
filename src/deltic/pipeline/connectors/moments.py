"""Moments of a server of PostgreSQL: which transactions a snapshot sees, and the form of a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deltic.errors import CatalogError
from deltic.pipeline.connectors.connections import Database, quoted

# Transactions have numbers of 64 bits. Rows and the log have 32 of them, whose order is known within half of their
# range.
RANGE = 1 << 32
# The snapshot, and what decides whether a position can be used: the database, its history, and the tables, their files
# and columns that the rows are in. TRUNCATE begins another file.
_MOMENT = """
WITH RECURSIVE part (id) AS (
    SELECT CAST(CAST(? AS regclass) AS oid) UNION SELECT inhrelid FROM pg_inherits JOIN part ON inhparent = id
), form (columns) AS (
    SELECT string_agg(concat_ws('.', id, pg_relation_filenode(id), attnum, attname), ' ' ORDER BY id, attnum)
    FROM part JOIN pg_attribute ON attrelid = id WHERE attnum > 0 AND NOT attisdropped
)
SELECT CAST(pg_current_snapshot() AS text), md5(concat_ws(' ', system_identifier, timeline_id, columns)),
    (SELECT bool_and(relkind IN ('r', 'p', 'm')) FROM part JOIN pg_class ON oid = id)
FROM pg_control_system(), pg_control_checkpoint(), form"""


@dataclass(frozen=True)
class ServerMoment:
    """A snapshot, as PostgreSQL writes it, and the form of the table."""

    snapshot: str
    of: str = ""

    @property
    def oldest(self) -> int:
        """The oldest transaction that has not ended."""
        return self._parts[0]

    @property
    def following(self) -> int:
        """The next transaction to begin."""
        return self._parts[1]

    def sees(self, transaction: int) -> bool:
        """Return whether a committed transaction, by the last 32 bits of its number, had ended."""
        before = (self.following - transaction + RANGE // 2) % RANGE - RANGE // 2
        number = self.following - before
        return number < self.oldest or (number < self.following and number not in self._parts[2:])

    @cached_property
    def _parts(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.snapshot.replace(",", ":").split(":") if part)


def moment_of(database: Database, table: str, option: str) -> ServerMoment:
    """Return the moment of the present snapshot. CatalogError if the table is a view."""
    snapshot, of, is_stored = database.run(_MOMENT, [quoted(table)]).fetchone()
    if not is_stored:
        raise CatalogError(f"{table}: {option} needs a table of PostgreSQL, not a view")
    return ServerMoment(snapshot, of)

"""Tables of PostgreSQL, read from its log by a replication slot: what transactions have written, in whole transactions.

First all rows of a snapshot are read. A position has that snapshot, and how far the log was read: a transaction counts
if its commit stands after that, and the snapshot does not see it. The server keeps the log from the place of the slot
on. The slot advances after the epoch with the position; where it stands after the position, as with a restored state,
the rest of the log is lost, and all rows are compared. So they are after TRUNCATE, and where the table has another
form.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from deltic.catalog import CatalogTable
from deltic.engine.comparing import difference
from deltic.engine.image import Json
from deltic.errors import CatalogError, DelticError
from deltic.pipeline.connectors.advancing import Advance
from deltic.pipeline.connectors.connections import Database, quoted
from deltic.pipeline.connectors.database import DatabaseQuery
from deltic.pipeline.connectors.logged_rows import LoggedRows
from deltic.pipeline.connectors.moments import ServerMoment, moment_of
from deltic.pipeline.connectors.source import HeldRows, SourceChange
from deltic.values import words

_LOG = logging.getLogger("deltic.sources")
_IDLE = 16 << 20
"""The bytes of the log without rows of the table after which the position moves, so that the server can free them."""
_SLOT = """
SELECT CAST(confirmed_flush_lsn - '0/0' AS bigint), CAST(CAST(? AS regclass) AS oid) FROM pg_replication_slots
WHERE slot_name = ? AND plugin = 'pgoutput' AND database = current_database()"""
_IS_PUBLISHED = """
SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AND to_jsonb(shown) ->> 'rowfilter' IS NULL
FROM pg_publication JOIN pg_publication_tables AS shown USING (pubname)
WHERE pubname = ? AND to_regclass(format('%I.%I', schemaname, tablename)) = CAST(? AS regclass)"""
_END = "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint), CAST(pg_current_wal_flush_lsn() - '0/0' AS bigint)"
_PEEK = """
SELECT data FROM pg_logical_slot_peek_binary_changes(
    %s, NULL, NULL, 'proto_version', '1', 'publication_names', %s)"""


class ReplicationSlot(DatabaseQuery):
    """A table of PostgreSQL, and a replication slot with a publication of the same name."""

    def pending(self, position: Json) -> str:
        return f"the log of the server from {_written(position['log'])} on" if position else "all rows"

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        with self._connected() as database:
            slot, relation = self._slot(table, database)
            if position is not None and not wants_all and slot <= position["log"]:
                result = self._since(database, table, position, held, relation)
                if result is not None:
                    log = result.position["log"]
                    return replace(result, done=partial(self.advance, log)) if log > slot else result
        return self._whole(table, slot, held)

    def _slot(self, table: CatalogTable, database: Database) -> tuple[int, int]:
        """Return the place of the slot in the log, and the number of the table. CatalogError without either."""
        name, shown = self._place["slot"], quoted(self._place["table"])
        if not table.key:
            raise CatalogError(f"table {table.name}: a replication slot needs a key, by which rows replace others")
        if (is_published := database.run(_IS_PUBLISHED, [name, shown]).fetchone()) is None:
            raise CatalogError(
                f"{shown}: the server has no publication {name} of it; a user that owns the table makes one: CREATE "
                f"PUBLICATION {words.quoted(name)} FOR TABLE {shown} WITH (publish_via_partition_root = true)"
            )
        if not is_published[0]:
            raise CatalogError(f"{shown}: the publication {name} leaves out rows or operations of it")
        if (slot := database.run(_SLOT, [shown, name]).fetchone()) is None:
            raise CatalogError(
                f"{shown}: this database has no replication slot {name} of the plugin pgoutput; a user with the right "
                f"REPLICATION makes one: SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"
            )
        return int(slot[0]), int(slot[1])

    def _whole(self, table: CatalogTable, slot: int, held: HeldRows) -> SourceChange:
        """Compare all rows of a snapshot. The log is read from the slot on: it has what ends after the snapshot."""
        with self._connected() as database:
            database.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            moment = self._moment(database)
            until = database.run(_END).fetchone()[0]
            rows, rounded = self._rows(table, self._listed(database, table))
        at = {"of": moment.of, "snapshot": moment.snapshot, "until": until, "log": slot}
        return replace(Advance(table, self._place, None, None).compared_here(rows, None, held, rounded), position=at)

    def _moment(self, database: Database) -> ServerMoment:
        return moment_of(database, self._place["table"], "a replication slot")

    def _since(
        self, database: Database, table: CatalogTable, position: Json, held: HeldRows, relation: int
    ) -> SourceChange | None:
        """Return the changes of the log since a position; None if it does not have all of them."""
        from psycopg.adapt import Transformer

        end, flushed = database.run(_END).fetchone()
        after, loaders = position["log"], Transformer(database.connection)
        log = LoggedRows(table, relation, loaders, after, position["until"], ServerMoment(position["snapshot"]))
        for data in self._messages(database):
            log.take(data)
        if self._moment(database).of != position["of"]:
            return None
        if log.problem:
            raise CatalogError(f"{self._place['table']}: {log.problem}")
        read = max(after, log.end, end if end <= flushed else 0)
        at = {**position, "log": read} if log.count or read - after > _IDLE else position
        went = held.version.lookup_all(table.name, log.keys)
        came, rounded = self._rows(table, [*log.present(went)])
        how = f"log from {_written(after)} on"
        return SourceChange(difference(came, went), at, how, log.count, rounded=rounded)

    def _messages(self, database: Database) -> Iterator[bytes]:
        """Yield the messages of all transactions that have ended, without holding them all."""
        name = self._place["slot"]
        cursor = database.connection.cursor()
        for (data,) in cursor.stream(_PEEK, [name, words.quoted(name)], binary=True):
            yield data

    def advance(self, log: int) -> None:
        """Let the server free the log before a place. If it fails, the next refresh does it."""
        try:
            with self._connected() as database:
                database.run("SELECT pg_replication_slot_advance(?, ?)", [self._place["slot"], _written(log)])
        except DelticError as error:
            _LOG.warning("the replication slot %s was not advanced: %s", self._place["slot"], error)


def _written(place: int) -> str:
    """Return a place in the log as PostgreSQL writes it."""
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"

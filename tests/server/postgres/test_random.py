"""Random sessions against SQLite: changes, transactions, savepoints, errors in between, and what is seen in the middle.

Catches a change that is kept after ROLLBACK or lost after COMMIT, a savepoint that takes too much or too little with
it, a count of rows that is another one, and an error that ends a transaction only half.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.postgres.conftest import Running

_IDS, _NAMES = st.integers(0, 5), st.sampled_from(["a", "b"])
_STATEMENTS = st.one_of(
    st.builds("INSERT INTO items VALUES ({}, '{}')".format, _IDS, _NAMES),
    st.builds("INSERT INTO items SELECT id + {}, name FROM items WHERE id < {}".format, st.integers(1, 5), _IDS),
    st.builds("UPDATE items SET name = '{}' WHERE id >= {}".format, _NAMES, _IDS),
    st.builds("DELETE FROM items WHERE id = {} OR name = '{}'".format, _IDS, _NAMES),
    st.just("SELECT * FROM nowhere"),
    st.sampled_from(["BEGIN", "COMMIT", "ROLLBACK"]),
    st.sampled_from(["SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "ROLLBACK TO b", "RELEASE a", "RELEASE b"]),
)


class Model:
    """SQLite with PostgreSQL's rule that an error ends a transaction, but for a savepoint."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.database.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
        self.is_failed = False

    def run(self, statement: str) -> tuple[str, Any]:
        """ "ok" with the count of rows, or "error"."""
        word, is_open = statement.split()[0], self.database.in_transaction
        if word == "BEGIN" and is_open and not self.is_failed:
            return "ok", None
        if not is_open and word in ("COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"):
            return ("ok", None) if word in ("COMMIT", "ROLLBACK") and " TO " not in statement else ("error", None)
        if self.is_failed and word not in ("COMMIT", "ROLLBACK"):
            return "error", None
        if word in ("COMMIT", "ROLLBACK") and " TO " not in statement:
            self.database.execute("ROLLBACK" if self.is_failed else word)
            self.is_failed = False
            return "ok", None
        try:
            count = self.database.execute(statement).rowcount
        except sqlite3.Error:
            self.is_failed = is_open
            return "error", None
        self.is_failed = False
        return "ok", count if word in ("INSERT", "UPDATE", "DELETE") else None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements=st.lists(_STATEMENTS, max_size=14))
def test_sessions_are_those_of_sqlite(lasting: Running, statements: list[str]) -> None:
    model = Model()
    with lasting.connect() as other, lasting.connect() as connection:
        other.execute("DELETE FROM items")
        for statement in statements:
            assert _run(connection, statement) == model.run(statement), statement
        if not model.is_failed:
            seen = connection.execute("SELECT id, name FROM items ORDER BY id").fetchall()
            assert seen == model.database.execute("SELECT id, name FROM items ORDER BY id").fetchall()
        if model.database.in_transaction:
            model.database.execute("ROLLBACK")
        connection.close()
        kept = other.execute("SELECT id, name FROM items ORDER BY id").fetchall()
        assert kept == model.database.execute("SELECT id, name FROM items ORDER BY id").fetchall()
        counts = other.execute("SELECT name, n FROM names ORDER BY name").fetchall()
        assert counts == model.database.execute("SELECT name, count(*) FROM items GROUP BY 1 ORDER BY 1").fetchall()


def _run(connection: psycopg.Connection[Any], statement: str) -> tuple[str, Any]:
    try:
        cursor = connection.execute(statement)
    except psycopg.Error as error:
        return ("error", None) if error.sqlstate != "XX000" else ("fault", str(error))
    return "ok", cursor.rowcount if statement.split()[0] in ("INSERT", "UPDATE", "DELETE") else None

"""psycopg against the server: values, statements, transactions, cursors, COPY, cancel, subscriptions.

Catches a message that is missing or comes too early, a value that is another one on its way back, a change that is kept
after ROLLBACK, and an error that the client cannot tell from others.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8

import deltic
from deltic.server.limits import Limits
from deltic.server.listening import Address
from deltic.server.postgres.server import PostgresServer
from deltic.server.service import Service
from tests.server.postgres.conftest import PROGRAM, Running

Connection = psycopg.Connection[Any]

VALUES: list[tuple[str, Any]] = [
    ("BOOLEAN", True),
    ("SMALLINT", -7),
    ("INT", 2**31 - 1),
    ("BIGINT", -(2**63)),
    ("FLOAT", 1.5),
    ("DOUBLE", 1e-300),
    ("DECIMAL(20, 3)", Decimal("12345678901234567.125")),
    ("STRING", 'it\'s \\ "é" €\n'),
    ("BINARY", b"\x00\xff'\\"),
    ("DATE", dt.date(1969, 12, 31)),
    ("TIMESTAMP", dt.datetime(2026, 2, 28, 23, 59, 59, 999999, dt.UTC)),
    ("TIMESTAMP_NTZ", dt.datetime(1, 1, 1, 0, 0, 0, 1)),
    ("INTERVAL DAY TO SECOND", dt.timedelta(days=-3, microseconds=5)),
    ("ARRAY<INT>", [1, None, -3]),
    ("ARRAY<STRING>", ["", "null", 'a"b', "c,d", None, "{}"]),
    ("ARRAY<DATE>", [dt.date(2026, 1, 1)]),
]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("type_", "value"), VALUES, ids=[name for name, _ in VALUES])
def test_values_come_back(connection: Connection, type_: str, value: Any, binary: bool) -> None:
    connection.execute(f"CREATE TABLE kept (x {type_})")
    with connection.cursor(binary=binary) as cursor:
        placeholder = "%b" if binary else "%s"
        cursor.execute(f"INSERT INTO kept VALUES ({placeholder}), (NULL)", [value])
        rows = cursor.execute("SELECT x FROM kept").fetchall()
    assert sorted(rows, key=lambda row: row[0] is None) == [(value,), (None,)]


@pytest.mark.parametrize("binary", [False, True])
def test_values_have_the_types_that_are_described(connection: Connection, binary: bool) -> None:
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    with connection.cursor(binary=binary) as cursor:
        row = cursor.execute("SELECT id + %s, %s FROM items", [Int8(5), Int8(7)]).fetchone()
        assert cursor.description is not None
        assert [column.type_display for column in cursor.description] == ["int8", "int8"]
    assert row == (6, 7)


def test_a_prepared_statement_over_a_changed_view(connection: Connection) -> None:
    connection.execute("CREATE VIEW some AS SELECT id FROM items")
    assert connection.execute("SELECT * FROM some", prepare=True).fetchall() == []
    connection.execute("CREATE OR REPLACE VIEW some AS SELECT id, name FROM items")
    with pytest.raises(errors.FeatureNotSupported, match="cached plan"):
        connection.execute("SELECT * FROM some", prepare=True)


def test_floats_that_are_no_numbers(connection: Connection) -> None:
    row = connection.execute("SELECT double('NaN'), double('inf'), double('-inf'), float(0.1)").fetchone()
    assert row is not None
    assert str(row[0]) == "nan"
    assert row[1:] == (float("inf"), float("-inf"), 0.1)


def test_structs_and_maps_are_json(connection: Connection) -> None:
    row = connection.execute("SELECT struct(1 AS a, 'x' AS b), map('k', 2), array(array(1))").fetchone()
    assert row == ({"a": 1, "b": "x"}, [["k", 2]], [[1]])


def test_counts_of_changes(connection: Connection) -> None:
    assert connection.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'a')").statusmessage == "INSERT 0 3"
    assert connection.execute("UPDATE items SET name = 'c' WHERE name = %s", ["a"]).rowcount == 2
    assert connection.execute("UPDATE items SET name = 'c' WHERE name = 'c'").rowcount == 2
    assert connection.execute("DELETE FROM items WHERE id > 1").rowcount == 2
    assert connection.execute("SELECT * FROM names").fetchall() == [("c", 1)]


def test_many_at_once_are_one_epoch(running: Running, connection: Connection) -> None:
    connection.execute("SELECT 1")
    before = running.pipeline.epoch
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO items VALUES (%s, %s)", [(n, f"n{n % 3}") for n in range(100)])
        assert cursor.rowcount == 100
    assert running.pipeline.epoch == before + 1


def test_a_text_of_several_statements_is_one_transaction(running: Running, connection: Connection) -> None:
    with pytest.raises(errors.UniqueViolation):
        connection.execute("INSERT INTO items VALUES (1, 'a'); INSERT INTO items VALUES (1, 'b')")
    assert connection.execute("SELECT count(*) FROM items").fetchone() == (0,)
    before = running.pipeline.epoch
    connection.execute("INSERT INTO items VALUES (1, 'a'); INSERT INTO items VALUES (2, 'b')")
    assert running.pipeline.epoch == before + 1


def test_a_transaction_is_one_epoch_and_sees_itself(running: Running, connection: Connection) -> None:
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    before = running.pipeline.epoch
    with connection.transaction():
        connection.execute("INSERT INTO items VALUES (2, 'a')")
        assert connection.info.transaction_status == TransactionStatus.INTRANS
        assert connection.execute("SELECT n FROM names").fetchone() == (2,)
        assert connection.execute("UPDATE items SET name = 'b'").rowcount == 2
        with running.connect() as other:
            assert other.execute("SELECT * FROM names").fetchall() == [("a", 1)]
    assert running.pipeline.epoch == before + 1
    assert connection.execute("SELECT * FROM names").fetchall() == [("b", 2)]


def test_an_error_ends_a_transaction(connection: Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    with pytest.raises(errors.UndefinedTable):
        connection.execute("SELECT * FROM nowhere")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    with pytest.raises(errors.InFailedSqlTransaction):
        connection.execute("SELECT 1")
    assert connection.execute("COMMIT").statusmessage == "ROLLBACK"
    assert connection.execute("SELECT * FROM items").fetchall() == []


def test_transactions_that_meet(running: Running, connection: Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    connection.execute("SELECT * FROM items")
    with running.connect() as other:
        other.execute("INSERT INTO items VALUES (2, 'b')")
    with pytest.raises(errors.SerializationFailure):
        connection.execute("COMMIT")
    assert connection.execute("SELECT id FROM items").fetchall() == [(2,)]


def test_transactions_that_count_rows(running: Running, connection: Connection) -> None:
    """Others may commit meanwhile, if the numbers that the client was told stay true."""
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    for other, is_refused in (("INSERT INTO items VALUES (2, 'b')", False), ("UPDATE items SET name = 'b'", True)):
        connection.execute("BEGIN")
        assert connection.execute("UPDATE items SET name = 'a' WHERE name = 'a'").rowcount == 1
        with running.connect() as another:
            another.execute(other)
        with pytest.raises(errors.SerializationFailure) if is_refused else nullcontext():
            connection.execute("COMMIT")
    assert connection.execute("SELECT * FROM names").fetchall() == [("b", 2)]


def test_definitions(connection: Connection) -> None:
    assert connection.execute("CREATE TABLE extra (a int8, b text)").statusmessage == "CREATE TABLE"
    parts: list[str] = []
    connection.add_notice_handler(lambda notice: parts.append(str(notice.message_primary)))
    with connection.transaction():
        connection.execute("CREATE VIEW sums AS SELECT b, sum(a) AS total FROM public.extra GROUP BY b")
        connection.execute("INSERT INTO extra VALUES (1, 'x'), (2, 'x')")
        with pytest.raises(errors.ActiveSqlTransaction), connection.transaction():
            connection.execute("DROP VIEW sums")
    assert parts == ["definitions take effect at once: ROLLBACK does not undo them"]
    assert connection.execute("SELECT total FROM sums").fetchall() == [(3,)]
    assert connection.execute("DROP VIEW IF EXISTS sums CASCADE").statusmessage == "DROP VIEW"


@pytest.mark.parametrize("statements", [("{}",), ("BEGIN", "{}", "COMMIT"), ("SELECT 1; {}",)])
def test_rows_that_come_too_late_are_told(connection: Connection, statements: Sequence[str]) -> None:
    connection.execute("CREATE TABLE hits (page STRING, day DATE LATENESS INTERVAL 1 DAY)")
    connection.execute("INSERT INTO hits VALUES ('a', DATE '2026-01-09')")
    parts: list[str] = []
    connection.add_notice_handler(lambda notice: parts.append(str(notice.message_primary)))
    for statement in statements:
        connection.execute(statement.format("INSERT INTO hits VALUES ('b', DATE '2026-01-02')"))
    assert parts == ["the epoch left out 1 late row of hits, with day before 2026-01-08"]


def test_rows_of_a_pipeline_that_come_too_late_are_told(connection: Connection) -> None:
    """Its changes are committed at the end of the messages, after the answers to the statements."""
    connection.execute("CREATE TABLE hits (page STRING, day DATE LATENESS INTERVAL 1 DAY)")
    connection.execute("INSERT INTO hits VALUES ('a', DATE '2026-01-09')")
    parts: list[str] = []
    connection.add_notice_handler(lambda notice: parts.append(str(notice.message_primary)))
    with connection.pipeline():
        for page in ("b", "c"):
            connection.execute("INSERT INTO hits VALUES (%s, DATE '2026-01-02')", [page])
    assert parts == ["the epoch left out 2 late rows of hits, with day before 2026-01-08"]


def test_a_client_limits_the_time_of_its_statements(connection: Connection) -> None:
    connection.execute("SET statement_timeout = '1 ms'")
    with pytest.raises(errors.QueryCanceled, match=r"after 0\.001 s"):
        connection.execute("SELECT count(*) FROM range(300000) AS a JOIN range(300) AS b ON a.id % 300 = b.id")
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT count(*) FROM range(3000)").fetchall() == [(3000,)]
    with pytest.raises(errors.InvalidParameterValue, match="500ms or 2s"):
        connection.execute("SET statement_timeout = soon")


READ_ONLY = [
    ("BEGIN READ ONLY",),
    ("BEGIN", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY"),
    ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",),
    ("SET default_transaction_read_only = true", "START TRANSACTION"),
]


@pytest.mark.parametrize("begin", READ_ONLY)
@pytest.mark.parametrize("change", ["INSERT INTO items VALUES (1, 'a')", "DROP VIEW names", "COPY items FROM STDIN"])
def test_a_transaction_that_only_reads(running: Running, begin: Sequence[str], change: str) -> None:
    with running.connect() as connection:
        for statement in begin:
            connection.execute(statement)
        with pytest.raises(errors.ReadOnlySqlTransaction):
            connection.execute(change)
        connection.execute("ROLLBACK")
        connection.execute("BEGIN READ WRITE")
        connection.execute("INSERT INTO items VALUES (2, 'b')")
        connection.execute("COMMIT")
    assert running.pipeline["items"].to_arrow().to_pylist() == [{"id": 2, "name": "b"}]


ERRORS = [
    ("SELECT * FROM itms", errors.UndefinedTable, 15),
    ('SELECT "id", nam FROM items', errors.UndefinedColumn, 14),
    ("SELECT\n  nofunction(1)", errors.UndefinedFunction, 10),
    ("SELEC 1", errors.SyntaxError, 1),
    ("SELECT 'abc", errors.SyntaxError, 8),
    ("INSERT INTO items VALUES (1)", errors.SyntaxError, 27),
    ("INSERT INTO items VALUES (NULL, 'a')", errors.NotNullViolation, None),
    ("CREATE TABLE items (a INT)", errors.DuplicateTable, 14),
    ("DROP TABLE items", errors.DependentObjectsStillExist, 12),
    ("SELECT 1 / 0", errors.DivisionByZero, None),
    ("CREATE INDEX i ON items (id)", errors.FeatureNotSupported, 8),
    ("LISTEN channel", errors.FeatureNotSupported, 1),
    ("SHOW nothing", errors.UndefinedObject, None),
    ("FETCH 1 FROM nothing", errors.InvalidCursorName, None),
    ("COPY items FROM '/etc/passwd'", errors.FeatureNotSupported, 17),
    ("CREATE TABLE x (a INT) USING csv OPTIONS (path '/etc/passwd')", psycopg.Error, None),
]


@pytest.mark.parametrize(("text", "kind", "position"), ERRORS, ids=[text for text, _, _ in ERRORS])
def test_errors(connection: Connection, text: str, kind: type[psycopg.Error], position: int | None) -> None:
    with pytest.raises(kind) as raised:
        connection.execute(text)
    if position is not None:
        assert raised.value.diag.statement_position == str(position)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_copy_in_and_out(connection: Connection) -> None:
    rows = [(1, "a\tb\\n"), (2, None), (3, ""), (4, "\\N"), (5, 'x"y,z\nw')]
    for form in ("text", "csv", "binary"):
        connection.execute("DELETE FROM items")
        with connection.cursor() as cursor, cursor.copy(f"COPY items FROM STDIN (FORMAT {form})") as copy:
            if form == "csv":
                copy.write('1,"a\tb\\n"\n2,\n3,""\n4,\\N\n5,"x""y,z\nw"\n')
            else:
                copy.set_types(["int4", "text"])
                for row in rows:
                    copy.write_row(row)
        assert sorted(connection.execute("SELECT * FROM items").fetchall()) == rows
        with connection.cursor() as cursor, cursor.copy(f"COPY items TO STDOUT (FORMAT {form})") as copy:
            if form == "csv":
                written = b"".join(bytes(part) for part in copy).decode()
                assert sorted(written.split("\n")[:4]) == ["1,a\tb\\n", "2,", '3,""', "4,\\N"]
            else:
                copy.set_types(["int4", "text"])
                assert sorted(copy.rows()) == rows


def _copy_and_fail(connection: Connection) -> None:
    with connection.cursor() as cursor, cursor.copy("COPY items FROM STDIN") as copy:
        copy.write("1\ta\n")
        raise ZeroDivisionError


def test_copy_of_some_columns_with_a_header(connection: Connection) -> None:
    with connection.cursor() as cursor, cursor.copy('COPY "public".items (id) FROM STDIN WITH CSV HEADER') as copy:
        copy.write("id\n7\n")
    with connection.cursor() as cursor, cursor.copy("COPY (SELECT id AS k FROM items) TO STDOUT CSV HEADER") as copy:
        assert b"".join(bytes(part) for part in copy) == b"k\n7\n"


@pytest.mark.parametrize("data", ["x\ty\n", "1\n", "1\ta\tb\n", "1\ta\n1\tb\n"])
def test_copies_that_are_refused_leave_no_trace(connection: Connection, data: str) -> None:
    with pytest.raises(psycopg.Error), connection.cursor() as cursor, cursor.copy("COPY items FROM STDIN") as copy:
        copy.write(data)
    with pytest.raises(ZeroDivisionError):
        _copy_and_fail(connection)
    assert connection.execute("SELECT * FROM items").fetchall() == []


def test_cursors(connection: Connection) -> None:
    connection.execute("INSERT INTO items SELECT x, 'a' FROM (SELECT explode(sequence(1, 250)) AS x)")
    with connection.transaction(), connection.cursor("some") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT id FROM items WHERE id > %s ORDER BY id", [50])
        assert [row[0] for row in cursor] == list(range(51, 251))
    with pytest.raises(errors.InvalidCursorName):
        connection.execute("FETCH ALL FROM some")


def test_prepared_statements(connection: Connection) -> None:
    for n in range(8):
        connection.execute("INSERT INTO items VALUES (%s, %s)", [n, f"n{n % 2}"], prepare=True)
    asked = "SELECT count(*) FROM items WHERE id >= %s AND name = %s"
    assert [connection.execute(asked, [n, "n1"], prepare=True).fetchone() for n in range(4)] == [(4,), (4,), (3,), (3,)]
    connection.execute("PREPARE named AS SELECT name FROM items WHERE id = $1")
    assert connection.execute("EXECUTE named(3)").fetchall() == [("n1",)]
    connection.execute("DEALLOCATE ALL")


def test_pipelines(connection: Connection) -> None:
    with connection.pipeline():
        cursors = [connection.execute("INSERT INTO items VALUES (%s, 'a')", [n]) for n in range(3)]
        asked = connection.execute("SELECT n FROM names")
    assert [cursor.rowcount for cursor in cursors] == [1, 1, 1]
    assert asked.fetchall() == [(3,)]


def test_settings(connection: Connection) -> None:
    connection.execute("SET application_name = 'x'")
    assert connection.execute("SHOW application_name").fetchone() == ("x",)
    assert connection.info.parameter_status("application_name") == "x"
    assert connection.execute("SELECT set_config('application_name', 'y', false)").fetchone() == ("y",)
    assert connection.execute("SELECT current_setting('application_name')").fetchone() == ("y",)
    connection.execute("RESET application_name")
    connection.execute("SET TIME ZONE 'Europe/Berlin'; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
    with pytest.raises(errors.InvalidParameterValue):
        connection.execute("SET client_encoding = 'LATIN1'")


def test_a_question_is_cancelled(connection: Connection) -> None:
    connection.execute("CREATE TABLE many (x INT)")
    connection.execute("INSERT INTO many SELECT explode(sequence(1, 3000))")
    threading.Timer(0.5, connection.cancel_safe).start()
    with pytest.raises(errors.QueryCanceled):
        connection.execute("SELECT count(*) FROM many a, many b, many c WHERE a.x + b.x > c.x")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def _changes(running: Running, statements: list[str]) -> threading.Thread:
    def change() -> None:
        with running.connect() as connection:
            for statement in statements:
                time.sleep(0.05)
                connection.execute(statement)

    thread = threading.Thread(target=change)
    thread.start()
    return thread


def test_a_subscription_begins_with_what_is_there(running: Running, connection: Connection) -> None:
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    first = running.pipeline.epoch
    thread = _changes(running, ["INSERT INTO items VALUES (2, 'a')", "DELETE FROM items"])
    seen = []
    with connection.cursor() as cursor:
        for row in cursor.stream("SUBSCRIBE TO names"):
            seen.append(row)
            if len(seen) == 4:
                break
    thread.join()
    assert seen[0] == (first, 1, "a", 1)
    assert sorted(seen[1:3]) == [(first + 1, -1, "a", 1), (first + 1, 1, "a", 2)]
    assert seen[3] == (first + 2, -1, "a", 2)


def test_a_subscription_goes_on_since_an_epoch(running: Running, connection: Connection) -> None:
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    since = running.pipeline.epoch
    connection.execute("INSERT INTO items VALUES (2, 'b')")
    with pytest.raises(errors.QueryCanceled):
        _copy_changes(connection, since)
    with pytest.raises(psycopg.Error, match="no epoch 999"):
        connection.execute("SUBSCRIBE TO names SINCE 999")
    assert not running.service.followers


def _copy_changes(connection: Connection, since: int) -> None:
    asked = f"COPY (SUBSCRIBE TO names SINCE {since}) TO STDOUT"
    with connection.cursor() as cursor, cursor.copy(asked) as copy:
        for row in copy.rows():
            assert row == (str(since + 1), "1", "b", "1")
            connection.cancel_safe()


def test_a_subscription_is_fetched(running: Running, connection: Connection) -> None:
    connection.execute("DECLARE changes CURSOR FOR SUBSCRIBE TO names")
    assert connection.execute("FETCH ALL FROM changes").fetchall() == []
    connection.execute("INSERT INTO items VALUES (1, 'a')")
    connection.execute("INSERT INTO items VALUES (2, 'b')")
    first = connection.execute("FETCH 1 FROM changes").fetchall()
    rest = connection.execute("FETCH ALL FROM changes").fetchall()
    assert [row[1:] for row in first + rest] == [(1, "a", 1), (1, "b", 1)]
    connection.execute("CLOSE changes")
    assert not running.service.followers


def test_subscribers_that_leave_are_forgotten(running: Running) -> None:
    connections = [running.connect() for _ in range(3)]
    for connection in connections:
        connection.pgconn.send_query(b"SUBSCRIBE TO names")
    _until(lambda: len(running.service.followers) == 3)
    for connection in connections:
        connection.close()
    _until(lambda: not running.service.followers)


def _until(holds: Any) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to hold in 30 s")


def test_a_state_that_is_only_read_refuses_changes_as_a_standby_does(tmp_path: Path) -> None:
    with deltic.Pipeline(state=tmp_path) as writer:
        writer.sql(PROGRAM)
        writer.execute("INSERT INTO items VALUES (1, 'a')")
        durability = deltic.Durability(readonly=True)
        with deltic.Pipeline(state=tmp_path, durability=durability) as pipeline, Service(pipeline) as service:
            server = PostgresServer(service, Address("127.0.0.1", 0))
            address = f"host=127.0.0.1 port={server.address.port} user=ada dbname=deltic"
            with psycopg.connect(address) as connection:
                assert connection.execute("SELECT name, n FROM names").fetchall() == [("a", 1)]
                for change in ("INSERT INTO items VALUES (2, 'b')", "CREATE TABLE other (a INT)"):
                    with pytest.raises(errors.ReadOnlySqlTransaction, match=f"process {os.getpid()} on"):
                        connection.execute(change)
                    connection.rollback()
            server.stop()


def test_an_answer_has_its_limits_inside_a_transaction_too() -> None:
    running = Running(limits=Limits(rows=2))
    try:
        with running.connect(autocommit=False) as connection:
            connection.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b'), (3, 'c')")
            assert connection.execute("SELECT id FROM items WHERE id < 3 ORDER BY id").fetchall() == [(1,), (2,)]
            with pytest.raises(errors.InvalidParameterValue, match="3 rows, and may have 2"):
                connection.execute("SELECT id FROM items")
    finally:
        running.close()


def test_a_question_has_its_memory_inside_a_transaction_too() -> None:
    running = Running(limits=Limits(question_memory="32 MiB", seconds=300))
    pairs = "SELECT x.id, y.name FROM items x, items y"
    try:
        with running.connect(autocommit=False) as connection:
            connection.execute("INSERT INTO items SELECT id, CAST(id AS STRING) FROM range(3000)")
            with pytest.raises(errors.OutOfMemory, match="may take 32 MiB"):
                connection.execute(pairs)
            connection.rollback()
            connection.execute("INSERT INTO items VALUES (1, 'a')")
            connection.commit()
            assert connection.execute("SELECT name FROM items").fetchall() == [("a",)]
    finally:
        running.close()

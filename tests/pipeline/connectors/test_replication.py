"""Tables of PostgreSQL, read from the log of a real server by a replication slot.

Catches a transaction that is lost, doubled or in two epochs, after kills too, a long value that an update leaves out, a
key that changes, rows of a snapshot that come again from the log, and what the log does not have, as TRUNCATE.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

import deltic
from deltic import CatalogError, External
from tests.pipeline.connectors.test_databases import run

pytestmark = pytest.mark.slow
ROWS, LONG = 200, "repeat(md5(random()::text), 200)"
SLOT = "SELECT pg_create_logical_replication_slot('sale', 'pgoutput')"
PUBLISHED = "CREATE PUBLICATION sale FOR TABLE sale WITH (publish_via_partition_root = true)"


@pytest.fixture
def sale(postgresql, tmp_path):
    """A table of 200 rows in two partitions, with long texts; and what opens a pipeline over it."""
    url, connect = postgresql
    run(
        connect,
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots",
        "DROP PUBLICATION IF EXISTS sale",
        "DROP TABLE IF EXISTS sale, part0, part1",
        "CREATE TABLE sale (id bigint, part int, price numeric(9, 2), day timestamptz, marks int[], note text, "
        "PRIMARY KEY (id, part)) PARTITION BY LIST (part)",
        *(f"CREATE TABLE part{n} PARTITION OF sale FOR VALUES IN ({n})" for n in range(2)),
        *(f"ALTER TABLE part{n} ALTER note SET STORAGE EXTERNAL" for n in range(2)),
        f"INSERT INTO sale SELECT n, n % 2, n, now(), ARRAY[n], {LONG} FROM generate_series(1, {ROWS}) AS n",
        PUBLISHED,
        SLOT,
    )

    def opened():
        pipeline = deltic.Pipeline(state=tmp_path / "state")
        if "sale" not in pipeline:
            source = External("database", url=url, table="sale", slot="sale", new_columns="add")
            pipeline.table("sale", key=("id", "part"), source=source)
        return pipeline

    return connect, opened


def refreshed(pipeline, connect):
    """How the table was read, and how many rows, once the pipeline has those of the database."""
    report = pipeline.refresh().sources["sale"]
    with connect() as connection:
        assert as_sorted(pipeline["sale"]) == as_sorted(connection.execute("SELECT * FROM sale").fetchall())
    return report.how.partition(" ")[0], report.rows_read


def as_sorted(rows):
    return sorted((*row[:4], list(row[4] or ()), *row[5:]) for row in rows)


def test_only_what_the_log_has_is_read(sale):
    connect, opened = sale
    run(connect, "UPDATE sale SET id = 2000 WHERE id = 4")
    with opened() as pipeline:
        assert refreshed(pipeline, connect) == ("compared", ROWS)
        assert refreshed(pipeline, connect) == ("log", 0)
        run(connect, "UPDATE sale SET price = 0 WHERE id = 7", "DELETE FROM sale WHERE id = 8")
        run(connect, "UPDATE sale SET id = 1000 WHERE id = 9")
        assert pipeline.pending()["sale"].startswith("the log of the server from ")
        assert refreshed(pipeline, connect) == ("log", 3)
        epoch = pipeline.epoch
        assert refreshed(pipeline, connect) == ("log", 0)
        assert pipeline.epoch == epoch
        for statement in ("TRUNCATE part0", "ALTER TABLE sale ADD COLUMN more int DEFAULT 7", "TRUNCATE sale"):
            run(connect, statement)
            assert refreshed(pipeline, connect)[0] == "compared"
        run(connect, "INSERT INTO sale VALUES (1, 1, 1, now(), NULL, NULL, 1)")
        assert refreshed(pipeline, connect) == ("log", 1)
        run(connect, "SELECT pg_drop_replication_slot('sale')", "DELETE FROM sale", SLOT)
        assert refreshed(pipeline, connect)[0] == "compared"


def test_a_slot_that_was_not_advanced(sale, monkeypatch):
    """The position says what was read."""
    connect, opened = sale
    monkeypatch.setattr("deltic.pipeline.connectors.replication.ReplicationSlot.advance", lambda *_: None)
    with opened() as pipeline:
        refreshed(pipeline, connect)
        run(connect, "UPDATE sale SET id = 2000 WHERE id = 4")
        assert refreshed(pipeline, connect) == ("log", 1)
        assert refreshed(pipeline, connect) == ("log", 0)


def test_the_server_frees_what_was_read(sale, monkeypatch):
    connect, opened = sale
    monkeypatch.setattr("deltic.pipeline.connectors.replication._IDLE", 1 << 20)

    def behind():
        with connect() as connection:
            place = "pg_current_wal_lsn() - confirmed_flush_lsn"
            return connection.execute(f"SELECT {place} FROM pg_replication_slots").fetchone()[0]

    with opened() as pipeline:
        refreshed(pipeline, connect)
        run(connect, "CREATE TABLE other AS SELECT n FROM generate_series(1, 100000) AS n", "DROP TABLE other")
        assert behind() > 1 << 20
        assert refreshed(pipeline, connect) == ("log", 0)
        assert behind() < 1 << 16


@pytest.mark.parametrize("seed", range(3))
def test_random_transactions(sale, seed):
    connect, opened = sale
    rng, pipeline = random.Random(seed), opened()
    with ExitStack() as stack:
        writers = [stack.enter_context(connect()) for _ in range(3)]
        for writer in writers:
            writer.autocommit = False
        hows = set()
        for _ in range(30):
            number = rng.randrange(len(writers))
            write_some(writers[number], rng, range(number, 240, len(writers)))
            if rng.random() < 0.2:
                pipeline.close()
                pipeline = opened()
            if rng.random() < 0.7:
                full = rng.random() < 0.1
                if full:
                    pipeline.refresh(full=True)
                hows.add(refreshed(pipeline, connect)[0])
        assert hows == {"compared", "log"}
    pipeline.close()


def write_some(writer, rng, ids):
    """Statements of a transaction, some of which are taken back; it may go on in a later step."""
    for n in rng.sample(ids, rng.randrange(1, 5)):
        writer.execute("SAVEPOINT before")
        match rng.randrange(7):
            case 0:
                writer.execute("DELETE FROM sale WHERE id = %s", [n])
            case 1:
                text = f"INSERT INTO sale VALUES (%s, %s, 1, now(), '{{1,NULL}}', {LONG}) ON CONFLICT DO NOTHING"
                writer.execute(text, [n, n % 2])
            case 2:
                writer.execute("UPDATE sale SET part = 1 - part WHERE id = %s", [n])
            case 3:
                writer.execute(f"UPDATE sale SET note = {LONG} WHERE id = %s", [n])
            case _:
                writer.execute("UPDATE sale SET price = price + 1, day = now() WHERE id = %s", [n])
        writer.execute(f"{rng.choice(['ROLLBACK TO', 'RELEASE'])} SAVEPOINT before")
    if rng.random() < 0.5:
        rng.choice([writer.commit, writer.commit, writer.rollback])()


LOOP = """
import sys, deltic
url, state = sys.argv[1:]
with deltic.Pipeline(state=state) as pipeline:
    if "account" not in pipeline:
        source = deltic.External("database", url=url, table="account", slot="account")
        pipeline.table("account", key="id", source=source)
        pipeline.sql("CREATE VIEW total AS SELECT sum(money) AS money FROM account")
    while True:
        pipeline.refresh()
        assert [*pipeline["total"]] == [(0,)], [*pipeline["total"]]
        print(pipeline.epoch, flush=True)
"""


def test_a_process_is_killed_while_transactions_are_written(postgresql, tmp_path):
    """Each transaction leaves the sum of all rows as it is."""
    url, connect = postgresql
    run(
        connect,
        "DROP TABLE IF EXISTS account",
        "CREATE TABLE account (id bigint PRIMARY KEY, money bigint)",
        "INSERT INTO account SELECT n, 0 FROM generate_series(1, 50) AS n",
        "CREATE PUBLICATION account FOR TABLE account",
        "SELECT pg_create_logical_replication_slot('account', 'pgoutput')",
    )
    rng, ends = random.Random(0), threading.Event()

    def transfer(seed):
        rng = random.Random(seed)
        with connect() as connection:
            connection.execute("SET synchronous_commit = off")
            while not ends.is_set():
                one, other = sorted(rng.sample(range(1, 51), 2))
                with connection.transaction():
                    for n, money in ((one, 1), (other, -1)):
                        connection.execute("UPDATE account SET money = money + %s WHERE id = %s", [money, n])

    writers = [threading.Thread(target=transfer, args=(seed,)) for seed in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(6):
            command = [sys.executable, "-c", LOOP, url, str(tmp_path / "state")]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                for _ in range(3):
                    line = process.stdout.readline()
                    assert line, process.stderr.read()
                time.sleep(rng.random() / 10)
                os.kill(process.pid, signal.SIGKILL)
                epochs = int(line)
                assert "AssertionError" not in process.stderr.read()
        assert epochs > 12
    finally:
        ends.set()
        for writer in writers:
            writer.join()
    with deltic.Pipeline(state=tmp_path / "state") as pipeline, connect() as connection:
        connection.execute("CHECKPOINT")  # commits of the writers may not be flushed yet, and slots read what is
        assert pipeline.refresh().sources["account"].how.startswith("log")
        assert sorted(pipeline["account"]) == sorted(connection.execute("SELECT * FROM account").fetchall())


def test_what_a_slot_needs(sale, postgresql):
    url, connect = postgresql
    run(connect, "SELECT pg_drop_replication_slot('sale')", "DROP PUBLICATION sale")

    def refusal(key="id", table="sale", slot="sale"):
        pipeline = deltic.Pipeline()
        columns = {"id": "int64", "note": "string"}
        pipeline.table("t", columns, key=key, source=External("database", url=url, table=table, slot=slot))
        try:
            pipeline.refresh()
            run(connect, "UPDATE sale SET note = 'x' WHERE id = 1")
            return str(pipeline.refresh())
        except CatalogError as error:
            return str(error)

    assert "table t: a replication slot needs a key" in refusal(key=())
    assert PUBLISHED in (told := refusal()).replace('"', ""), told
    run(connect, "CREATE PUBLICATION sale FOR TABLE sale WITH (publish = 'insert', publish_via_partition_root)")
    assert "the publication sale leaves out rows or operations of it" in refusal()
    run(connect, "DROP PUBLICATION sale", PUBLISHED)
    assert SLOT in refusal()
    run(connect, SLOT)
    assert "does not identify rows by note, see REPLICA IDENTITY" in refusal(key=("note",))
    with pytest.raises(CatalogError, match="slot is an option of postgresql:// addresses"):
        External("database", url="sqlite:///a.db", table="t", slot="s")
    with pytest.raises(CatalogError, match="write slot or changed"):
        External("database", url=url, table="t", slot="s", changed="xmin")

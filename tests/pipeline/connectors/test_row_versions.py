"""Tables of PostgreSQL, read by xmin, against the rows of a real server.

Catches a row of a transaction that began before a refresh and ended after it, a deletion or a replaced table that is
not seen, a transaction's number that begins again after 2³², and a refresh that reads all rows though few changed.
"""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest

import deltic
from deltic import CatalogError, External
from tests.pipeline.connectors.test_databases import run

pytestmark = pytest.mark.slow
ROWS = 300


@pytest.fixture
def sale(postgresql, tmp_path):
    """A table of 300 rows in three partitions, one of which can be replaced; and what opens a pipeline over it."""
    url, connect = postgresql
    parts = [f"CREATE TABLE part{n} PARTITION OF sale FOR VALUES IN ({n})" for n in range(2)]
    run(
        connect,
        "DROP TABLE IF EXISTS sale, former, part0, part1, spare, other, copy",
        "CREATE TABLE sale (id bigint, part int, name text, PRIMARY KEY (id, part)) PARTITION BY LIST (part)",
        *parts,
        "CREATE TABLE spare (LIKE sale INCLUDING ALL)",
        "ALTER TABLE sale ATTACH PARTITION spare FOR VALUES IN (2)",
        f"INSERT INTO sale SELECT n, n % 3, 'new' FROM generate_series(1, {ROWS}) AS n",
    )

    def opened():
        pipeline = deltic.Pipeline(state=tmp_path / "state")
        if "sale" not in pipeline:
            source = External("database", url=url, table="sale", changed="xmin", new_columns="add")
            pipeline.table("sale", key=("id", "part"), source=source)
        return pipeline

    return connect, opened


def held(connect):
    with connect() as connection:
        return sorted(connection.execute("SELECT * FROM sale").fetchall())


def refreshed(pipeline, connect):
    """How the table was read, and how many rows, once the pipeline has those of the database."""
    report = pipeline.refresh().sources["sale"]
    assert sorted(pipeline["sale"]) == held(connect)
    return report.how.partition(" ")[0], report.rows_read


def test_only_rows_that_changed_are_read(sale):
    connect, opened = sale
    with opened() as pipeline:
        assert refreshed(pipeline, connect) == ("compared", ROWS)
        assert refreshed(pipeline, connect) == ("xmin", 0)
        run(connect, "UPDATE sale SET name = 'old' WHERE id = 7", "INSERT INTO sale VALUES (1000, 1, 'more')")
        assert refreshed(pipeline, connect) == ("xmin", 2)
    with opened() as pipeline:
        assert refreshed(pipeline, connect) == ("xmin", 0)
        run(connect, "DELETE FROM sale WHERE id = 9", "INSERT INTO sale VALUES (1001, 1, 'more')")
        assert refreshed(pipeline, connect) == ("compared", ROWS + 1)


def test_transactions_that_end_after_a_later_one(sale):
    connect, opened = sale
    with opened() as pipeline, connect() as late:
        late.autocommit = False
        late.execute("UPDATE sale SET name = 'late' WHERE id = 1")
        late.execute("SAVEPOINT inner_one")
        late.execute("INSERT INTO sale VALUES (2000, 0, 'late')")
        late.execute("RELEASE inner_one")
        refreshed(pipeline, connect)
        run(connect, "UPDATE sale SET name = 'early' WHERE id = 2")
        assert refreshed(pipeline, connect) == ("xmin", 1)
        assert refreshed(pipeline, connect) == ("xmin", 1), "it is read again until the transaction before it ends"
        late.commit()
        assert refreshed(pipeline, connect) == ("xmin", 3)
        assert refreshed(pipeline, connect) == ("xmin", 0)


@pytest.mark.parametrize(
    "statements",
    [
        ["TRUNCATE sale"],
        ["ALTER TABLE sale DETACH PARTITION part0", "ALTER TABLE sale ATTACH PARTITION other FOR VALUES IN (0)"],
        ["ALTER TABLE sale DROP COLUMN name", "ALTER TABLE sale ADD COLUMN name text DEFAULT 'default'"],
        ["ALTER TABLE sale ADD COLUMN more int DEFAULT 7"],
        ["ALTER TABLE sale RENAME TO former", "ALTER TABLE copy RENAME TO sale"],
    ],
)
def test_changes_that_write_no_row(sale, statements):
    connect, opened = sale
    run(connect, "CREATE TABLE other (LIKE sale)", "CREATE TABLE copy (LIKE sale)")
    run(connect, "INSERT INTO other SELECT id, part, 'other' FROM sale WHERE part = 0")
    run(connect, "INSERT INTO copy SELECT id, part, 'copy' FROM sale")
    with opened() as pipeline:
        refreshed(pipeline, connect)
        run(connect, "BEGIN", *statements, "COMMIT")
        assert refreshed(pipeline, connect)[0] == "compared"
        assert refreshed(pipeline, connect) == ("xmin", 0)


@pytest.mark.parametrize("seed", range(3))
def test_random_transactions(sale, seed):
    connect, opened = sale
    rng, pipeline = random.Random(seed), opened()
    with ExitStack() as stack:
        writers = [stack.enter_context(connect()) for _ in range(3)]
        for writer in writers:
            writer.autocommit = False
        for step in range(40):
            number = rng.randrange(len(writers))
            write_some(writers[number], rng, range(number, 400, len(writers)), f"step {step}")
            if rng.random() < 0.2:
                run(connect, "VACUUM FREEZE sale")
            if rng.random() < 0.2:
                pipeline.close()
                pipeline = opened()
            refreshed(pipeline, connect)
    pipeline.close()


def write_some(writer, rng, ids, name):
    """Statements of a transaction, some of which are taken back; it may go on in a later step."""
    for n in rng.sample(ids, rng.randrange(1, 5)):
        writer.execute("SAVEPOINT before")
        match rng.randrange(6):
            case 0:
                writer.execute("DELETE FROM sale WHERE id = %s", [n])
            case 1:
                writer.execute("INSERT INTO sale VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", [n, n % 3, name])
            case _:
                writer.execute("UPDATE sale SET name = name || 'x' WHERE id = %s", [n])
        writer.execute(f"{rng.choice(['ROLLBACK TO', 'RELEASE'])} SAVEPOINT before")
    if rng.random() < 0.5:
        rng.choice([writer.commit, writer.commit, writer.rollback])()


def test_numbers_that_begin_again(sale, server):
    """Rows keep 32 bits of a number of 64."""
    connect, opened = sale
    with opened() as pipeline:
        refreshed(pipeline, connect)
        for number in (1_500_000_000, 3_000_000_000, 2**32 - 5):
            server.at(number)
            run(connect, "UPDATE sale SET name = name || '.' WHERE id % 100 = 0", "VACUUM FREEZE")
            assert refreshed(pipeline, connect) == ("xmin", 3)
        for _ in range(10):
            run(connect, "UPDATE sale SET name = name || '+' WHERE id % 100 = 1")
            assert refreshed(pipeline, connect) == ("xmin", 3)
        with connect() as connection:
            assert connection.execute("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)").fetchone()[0] > 2**32


def test_what_xmin_needs(postgresql):
    url, connect = postgresql
    run(connect, "DROP VIEW IF EXISTS shown", "CREATE VIEW shown AS SELECT 1 AS id")
    pipeline = deltic.Pipeline()
    pipeline.table("bag", {"id": "int32"}, source=External("database", url=url, table="shown", changed="xmin"))
    with pytest.raises(CatalogError, match="table bag: changed 'xmin' needs a key"):
        pipeline.refresh()
    pipeline = deltic.Pipeline()
    pipeline.table("v", key="id", source=External("database", url=url, table="shown", changed="xmin"))
    with pytest.raises(CatalogError, match="shown: changed 'xmin' needs a table of PostgreSQL, not a view"):
        pipeline.refresh()

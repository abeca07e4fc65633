"""Tables over databases, compared or read by a change column.

Catches an update that is not seen, rows that have the largest value of the change column and come late, rows of a key
that are there twice, and values that a database has in another form than the table.
"""

from __future__ import annotations

import random
import sqlite3
from decimal import Decimal

import duckdb
import pytest

import deltic
from deltic import DataError, DelticError, External
from deltic.pipeline.connectors.connections import Database

COLUMNS = {"id": "int64", "name": "string?", "price": "decimal(10,2)?", "day": "date?", "version": "int64?"}


def database(kind, folder):
    """Its address, and what connects to it."""
    path = folder / f"shop.{kind}"
    connect = {"sqlite": lambda: sqlite3.connect(path, isolation_level=None), "duckdb": lambda: duckdb.connect(path)}
    return f"{kind}:///{path}", connect[kind]


def run(connect, *statements):
    connection = connect()
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
    connection.close()


def contents(connect):
    connection = connect()
    found = connection.execute("SELECT id, name, price, day, version FROM orders").fetchall()
    connection.close()
    return as_sorted(found)


def shown(pipeline):
    return as_sorted(pipeline["orders"])


def as_sorted(rows):
    plain = ((i, n, None if p is None else float(p), d and str(d), v) for i, n, p, d, v in rows)
    return sorted(plain, key=str)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
@pytest.mark.parametrize("changed", ["", "version"])
@pytest.mark.parametrize("key", ["id", ()])
def test_random_changes(tmp_path, kind, changed, key):
    url, connect = database(kind, tmp_path)
    run(connect, "CREATE TABLE orders (id BIGINT, name TEXT, price DECIMAL(10, 2), day DATE, version BIGINT)")
    option = {"changed": changed} if changed else {}
    source = External("database", url=url, table="orders", **option)
    pipeline = deltic.Pipeline(state=tmp_path / "state")
    pipeline.table("orders", COLUMNS, key=key, source=source)
    rng = random.Random(kind)
    for step in range(15):
        version, statements = step // 2 if rng.random() < 0.9 else None, []
        for _ in range(rng.choice((0, 1, 4))):
            number = rng.randrange(30) + (0 if key or not changed else 100 * step)
            row = number, rng.choice(["nut", None]), rng.choice([1.5, None]), rng.choice(["2026-01-02", None]), version
            if key or not changed:
                statements.append(("DELETE FROM orders WHERE id = ?", [number]))
            if not changed and rng.random() < 0.3:
                continue
            statements.append(("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", list(row)))
        run(connect, *statements)
        if step == 7:
            pipeline.close()
            pipeline = deltic.Pipeline(state=tmp_path / "state")
        pipeline.refresh()
        assert shown(pipeline) == contents(connect), step
    if changed:
        run(connect, "DELETE FROM orders WHERE id % 2 = 0")
        pipeline.refresh(full=True)
        assert shown(pipeline) == contents(connect)
    pipeline.close()


def test_what_is_read_follows_the_change(tmp_path):
    url, connect = database("sqlite", tmp_path)
    run(connect, "CREATE TABLE orders (id INTEGER, version INTEGER)")
    run(connect, "BEGIN", *[("INSERT INTO orders VALUES (?, ?)", [n, n]) for n in range(1000)], "COMMIT")
    pipeline = deltic.Pipeline()
    source = External("database", url=url, table="orders", changed="version")
    pipeline.table("orders", {"id": "int64", "version": "int64"}, key="id", source=source)
    pipeline.refresh()
    run(connect, "UPDATE orders SET version = 1000 WHERE id = 3")
    assert pipeline.pending() == {"orders": "rows with version from 999 on"}
    told = pipeline.refresh().sources["orders"]
    assert (told.rows_read, told.inserted) == (2, 1)
    assert list(pipeline["orders"].lookup(id=3)) == [(3, 1000)]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqllite:///shop.db", "did you mean `sqlite`?"),
        ("sqlite:///no/such.db", "there is no such file"),
        ("sqlite:///${NO_SUCH_VARIABLE}", "the environment has no variable NO_SUCH_VARIABLE"),
    ],
)
def test_databases_that_are_not_there(url, message):
    pipeline = deltic.Pipeline()
    pipeline.table("orders", {"id": "int64"}, source=External("database", url=url, table="orders"))
    with pytest.raises(DelticError) as raised:
        pipeline.refresh()
    assert message in str(raised.value)


def test_views_of_a_database_read_no_files_unless_they_may(tmp_path):
    (tmp_path / "secret.csv").write_text("id\n7\n")
    url, connect = database("duckdb", tmp_path)
    run(connect, f"CREATE VIEW orders AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    for allowed in (False, True):
        pipeline = deltic.Pipeline()
        source = External("database", url=url, table="orders", external_access=allowed)
        pipeline.table("orders", {"id": "int64"}, source=source)
        if allowed:
            pipeline.refresh()
            assert list(pipeline["orders"]) == [(7,)]
        else:
            with pytest.raises(DelticError, match="file system operations are disabled"):
                pipeline.refresh()


def test_marks_of_postgresql_are_not_those_in_names():
    statement = 'INSERT INTO "a?" ("share %", "b""?") VALUES (?, ?)'
    marked = Database("postgresql", None)._marked(statement)
    assert marked == 'INSERT INTO "a?" ("share %%", "b""?") VALUES (%s, %s)'
    assert Database("sqlite", None)._marked(statement) == statement


def test_values_that_do_not_fit(tmp_path):
    url, connect = database("sqlite", tmp_path)
    run(connect, "CREATE TABLE orders (id TEXT)", "INSERT INTO orders VALUES ('1'), ('x')")
    pipeline = deltic.Pipeline()
    pipeline.table("orders", {"id": "int64"}, source=External("database", url=url, table="orders"))
    with pytest.raises(DataError, match="table orders, row 1, column id"):
        pipeline.refresh()


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["", "version"])
def test_tables_by_jdbc(spark, tmp_path, changed):
    """Derby comes with Spark, and begins with the first address that names a database of it."""
    url = f"jdbc:derby:{tmp_path / 'shop'};create=true"
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))

    def put(mode, *rows):
        frame = spark.createDataFrame(rows, "id long, name string, price decimal(8, 2), version int")
        frame.write.format("jdbc").options(url=url, dbtable="orders").mode(mode).save()

    put("append", (1, "nut", Decimal("1.50"), 1), (2, None, None, 1))
    options = {"changed": changed} if changed else {}
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        pipeline.table("orders", key="id", source=External("database", url=url, table="orders", **options))
        assert pipeline.refresh().sources["orders"].inserted == 2
        assert pipeline.refresh().report is None
    put("append", (3, "cog", Decimal("2.25"), 2))
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        told = pipeline.refresh().sources["orders"]
        assert (told.inserted, told.rows_read) == (1, 3)
        assert sorted(pipeline["orders"])[2] == (3, "cog", Decimal("2.25"), 2)
    put("overwrite", (2, "bolt", None, 2), (3, "cog", Decimal("2.25"), 2))
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        pipeline.refresh()
        assert sorted(row[:2] for row in pipeline["orders"]) == [(1, "nut")] * bool(changed) + [(2, "bolt"), (3, "cog")]
        pipeline.refresh(full=True)
        assert sorted(row[:2] for row in pipeline["orders"]) == [(2, "bolt"), (3, "cog")]

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
from deltic.errors import CatalogError
from deltic.pipeline.connectors.connections import Database
from deltic.pipeline.connectors.frames import frame_source

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


def test_a_lost_database_is_left_out(tmp_path):
    pipeline = deltic.Pipeline()
    for name in ("lost", "kept"):
        (tmp_path / name).mkdir()
        url, connect = database("sqlite", tmp_path / name)
        run(connect, "CREATE TABLE t (id INTEGER)")
        pipeline.table(name, {"id": "int64"}, key="id", source=External("database", url=url, table="t"))
    pipeline.refresh()
    run(connect, "INSERT INTO t VALUES (1)")
    (tmp_path / "lost/shop.sqlite").unlink()
    report = pipeline.refresh()
    assert "there is no such file" in report.failed["lost"].reason
    assert list(pipeline["kept"]) == [(1,)]


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


def widened(kind, folder, choice, **options):
    """A pipeline over a table of a database that gets a column after the first refresh."""
    url, connect = database(kind, folder)
    run(connect, "CREATE TABLE sale (id BIGINT, shop TEXT)", "INSERT INTO sale VALUES (1, 'x')")
    pipeline = deltic.Pipeline(**options)
    source = External("database", url=url, table="sale", new_columns=choice)
    pipeline.table("sale", {"id": "int64", "shop": "string?"}, key="id", source=source)
    pipeline.refresh()
    run(connect, "ALTER TABLE sale ADD COLUMN price DECIMAL(8, 2)", "INSERT INTO sale VALUES (2, 'y', 2.5)")
    return pipeline, connect


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_new_columns_are_ignored_or_refused(tmp_path, kind):
    (tmp_path / "ignored").mkdir()
    pipeline, _ = widened(kind, tmp_path / "ignored", "ignore")
    pipeline.refresh()
    assert sorted(pipeline["sale"]) == [(1, "x"), (2, "y")]
    pipeline, _ = widened(kind, tmp_path, "refuse")
    message = r"shop.* sale.*: table sale: there is a new column price \(decimal\(8, 2\)\)\n  hint: new_columns='add'"
    with pytest.raises(DataError, match=message):
        pipeline.refresh()
    assert list(pipeline["sale"]) == [(1, "x")]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_new_columns_are_added(tmp_path, kind):
    with widened(kind, tmp_path, "add", state=tmp_path / "state")[0] as pipeline:
        pipeline.refresh()
        assert sorted(pipeline["sale"]) == [(1, "x", None), (2, "y", Decimal("2.50"))]
    run(database(kind, tmp_path)[1], "UPDATE sale SET price = 1 WHERE id = 1")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        pipeline.refresh()
        assert sorted(pipeline["sale"]) == [(1, "x", Decimal(1)), (2, "y", Decimal("2.50"))]


@pytest.mark.parametrize("choice", ["add", "refuse"])
def test_removed_columns_are_refused(tmp_path, choice):
    pipeline, connect = widened("sqlite", tmp_path, choice)
    run(connect, "ALTER TABLE sale DROP COLUMN price", "ALTER TABLE sale RENAME COLUMN shop TO market")
    with pytest.raises(DataError, match="table sale: column shop is missing"):
        pipeline.refresh()
    assert pipeline["sale"].schema.names == ("id", "shop")


def test_columns_of_sqlite(tmp_path):
    url, connect = database("sqlite", tmp_path)
    types = "INTEGER PRIMARY KEY, n DOUBLE, name VARCHAR(9), amount NUMERIC(7, 2), day DATE, at DATETIME, is_on BOOLEAN"
    run(connect, f"CREATE TABLE sale (id {types}, data BLOB)")
    run(connect, "INSERT INTO sale VALUES (1, 1.5, 'a', 2.25, '2026-01-02', '2026-01-02 03:04:05', 1, x'00')")
    pipeline = deltic.Pipeline()
    pipeline.table("sale", key="id", source=External("database", url=url, table="main.sale"))
    assert str(pipeline["sale"].schema) == (
        "{id: int64, n: float64?, name: string?, amount: decimal(7, 2)?, day: date?, at: timestamp_ntz?, "
        "is_on: boolean?, data: binary?}"
    )
    pipeline.refresh()
    ((number, n, name, amount, day, _, is_on, data),) = pipeline["sale"]
    assert (number, n, name, amount, str(day), is_on, data) == (1, 1.5, "a", Decimal("2.25"), "2026-01-02", True, b"\0")


def test_columns_without_a_type_of_tables(tmp_path):
    url, connect = database("sqlite", tmp_path)
    run(connect, "CREATE TABLE sale (id INTEGER, anything)")
    pipeline = deltic.Pipeline()
    with pytest.raises(CatalogError, match="sale: column anything has type none, which tables do not have"):
        pipeline.table("sale", key="id", source=External("database", url=url, table="sale"))
    with pytest.raises(CatalogError, match="the database has no table sales"):
        pipeline.table("sale", key="id", source=External("database", url=url, table="sales"))


@pytest.mark.slow
def test_new_columns_of_postgresql(postgresql, tmp_path):
    url, connect = postgresql
    types = "id bigint PRIMARY KEY, n numeric(9, 2), name varchar(5), at timestamptz, seen timestamp, tags text[]"
    values = "1, 2.5, 'a', '2026-01-02 03:04:05+00', '2026-01-02 03:04:05', '{u,v}'"
    run(connect, "CREATE SCHEMA shop", f"CREATE TABLE shop.sale ({types})", f"INSERT INTO shop.sale VALUES ({values})")
    with deltic.Pipeline(state=tmp_path / "state") as pipeline:
        source = External("database", url=url, table="shop.sale", new_columns="add")
        pipeline.table("sale", key="id", source=source)
        pipeline.refresh()
        schema = (
            "{id: int64, n: decimal(9, 2)?, name: string?, at: timestamp?, seen: timestamp_ntz?, tags: array(string?)?"
        )
        assert str(pipeline["sale"].schema) == schema + "}"
        assert [row[1] for row in pipeline["sale"]] == [Decimal("2.50")]
        run(connect, "ALTER TABLE shop.sale ADD COLUMN late boolean DEFAULT true")
        pipeline.refresh()
        assert str(pipeline["sale"].schema) == schema + ", late: boolean?}"
        assert [row[-2:] for row in pipeline["sale"]] == [(["u", "v"], True)]
        run(connect, "ALTER TABLE shop.sale ADD COLUMN more jsonb")
        with pytest.raises(CatalogError, match="column more has type jsonb, which tables do not have"):
            pipeline.refresh()
        run(connect, "ALTER TABLE shop.sale DROP COLUMN more", "ALTER TABLE shop.sale DROP COLUMN name")
        with pytest.raises(DataError, match="column name is missing"):
            pipeline.refresh(full=True)
        assert len(list(pipeline["sale"])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["timestamptz", "timestamp", "numeric(9, 3)"])
def test_change_columns_of_postgresql(postgresql, tmp_path, type_):
    url, connect = postgresql
    value = "{}" if type_.startswith("numeric") else "timestamp '2026-01-02 03:04:05' + {} * interval '1 ms'"
    run(connect, "DROP TABLE IF EXISTS item", f"CREATE TABLE item (id int PRIMARY KEY, changed {type_})")
    source = External("database", url=url, table="item", changed="changed")
    for n in range(4):
        run(connect, f"INSERT INTO item VALUES ({n}, {value.format(n)})")
        with deltic.Pipeline(state=tmp_path / "state") as pipeline:
            if "item" not in pipeline:
                pipeline.table("item", key="id", source=source)
            assert pipeline.refresh().sources["item"].rows_read == min(n, 1) + 1
            assert sorted(row[0] for row in pipeline["item"]) == [*range(n + 1)]


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
    parts = {"numpartitions": 2, "partitionColumn": "id", "lowerBound": 1, "upperBound": 4}
    source = External("database", url=url, table="orders", **options, **parts)
    assert frame_source(source, None, spark, None)._frame().rdd.getNumPartitions() == 2
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        pipeline.table("orders", key="id", source=source)
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


def test_a_table_by_jdbc_with_the_options_of_spark(spark, tmp_path, monkeypatch):
    url = f"jdbc:derby:{tmp_path / 'shop'};create=true"
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    rows = spark.createDataFrame([(1, "nut"), (2, None)], "id long, name string")
    rows.write.format("jdbc").options(url=url, dbtable="orders").save()
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    options = f"url '{url}', dbtable 'orders', user 'app', password '${{SHOP_PASSWORD}}'"
    with deltic.Pipeline(spark) as pipeline:
        pipeline.sql(f"CREATE TABLE orders (PRIMARY KEY (id)) USING jdbc OPTIONS ({options})")
        assert sorted(pipeline["orders"]) == [(1, "nut"), (2, None)]
        declared = str(pipeline.sql("SHOW CREATE TABLE orders"))
    columns = "`id` BIGINT, `name` STRING, PRIMARY KEY (id)"
    assert declared == f"CREATE TABLE orders ({columns}) USING jdbc OPTIONS ({options})"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"url": "jdbc:mariadb://h/shop"}, r"reads wrong rows from jdbc:mariadb: .* write jdbc:mysql:"),
        ({"url": "sqlite:///shop.db", "fetchsize": 10}, "fetchsize is an option of jdbc: addresses"),
        ({"url": "jdbc:mysql://h/shop", "password": "secret"}, r"as a variable of the environment, .*SHOP_PASSWORD"),
    ],
)
def test_options_that_a_database_refuses(options, reason):
    with pytest.raises(CatalogError, match=reason):
        External("database", table="orders", **options)


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["ignore", "add", "refuse"])
def test_new_columns_by_jdbc(spark, tmp_path, choice):
    url = f"jdbc:derby:{tmp_path / 'shop'};create=true"
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))

    def put(*rows, columns):
        frame = spark.createDataFrame(rows, columns)
        frame.write.format("jdbc").options(url=url, dbtable="orders").mode("overwrite").save()

    put((1, "nut"), columns="id long, name string")
    with deltic.Pipeline(spark) as pipeline:
        pipeline.table("orders", key="id", source=External("database", url=url, table="orders", new_columns=choice))
        pipeline.refresh()
        put((1, "nut", 2.5), columns="id long, name string, price double")
        if choice == "refuse":
            with pytest.raises(DataError, match=r"there is a new column price \(float64\)"):
                pipeline.refresh()
        else:
            pipeline.refresh()
        assert list(pipeline["orders"]) == [(1, "nut", 2.5) if choice == "add" else (1, "nut")]

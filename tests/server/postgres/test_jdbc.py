"""PostgreSQL's JDBC driver against the server, as Metabase and other tools of the JVM use it.

It runs in a JVM that py4j drives. Catches a question of DatabaseMetaData that has no answer, and what changes when the
driver goes over to prepared statements and binary values after the fifth time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.server.postgres.conftest import Running

DRIVERS = sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/postgresql-*.jar"))
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    pytest.mark.skipif(
        not DRIVERS, reason="mvn dependency:get -Dartifact=org.postgresql:postgresql:42.7.8 brings the driver"
    ),
]


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
    from pyspark.find_spark_home import _find_spark_home

    (py4j,) = Path(_find_spark_home()).glob("jars/py4j-*.jar")
    port, token = launch_gateway(classpath=str(DRIVERS[-1]), jarpath=str(py4j), die_on_exit=True, enable_auth=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture
def jdbc(jvm: Any, running: Running) -> Iterator[Any]:
    connection = jvm.java.sql.DriverManager.getConnection(f"jdbc:postgresql://127.0.0.1:{running.port}/deltic?user=ada")
    yield connection
    connection.close()


def _rows(result: Any) -> list[dict[str, Any]]:
    described = result.getMetaData()
    names = [described.getColumnLabel(n) for n in range(1, described.getColumnCount() + 1)]
    rows = []
    while result.next():
        rows.append({name: result.getObject(n) for n, name in enumerate(names, 1)})
    return rows


def test_metadata(jdbc: Any) -> None:
    told = jdbc.getMetaData()
    tables = {row["TABLE_NAME"]: row["TABLE_TYPE"] for row in _rows(told.getTables(None, "public", "%", None))}
    assert tables == {"items": "TABLE", "names": "VIEW", "items_pkey": "INDEX"}
    columns = _rows(told.getColumns(None, None, "items", "%"))
    assert [(c["COLUMN_NAME"], c["TYPE_NAME"], c["IS_NULLABLE"]) for c in columns] == [
        ("id", "int4", "NO"),
        ("name", "text", "YES"),
    ]
    assert [row["COLUMN_NAME"] for row in _rows(told.getPrimaryKeys(None, None, "items"))] == ["id"]
    assert [row["INDEX_NAME"] for row in _rows(told.getIndexInfo(None, None, "items", False, False))] == ["items_pkey"]
    assert {row["TABLE_SCHEM"] for row in _rows(told.getSchemas())} >= {"public"}
    for ask in (told.getImportedKeys, told.getExportedKeys):
        assert _rows(ask(None, None, "items")) == []
    for ask in (told.getCatalogs, told.getTypeInfo, told.getTableTypes):
        assert _rows(ask())
    assert _rows(told.getFunctions(None, None, "%")) == []
    assert told.getSQLKeywords()


def test_prepared_statements(jdbc: Any, jvm: Any) -> None:
    jdbc.createStatement().execute(
        "CREATE TABLE kept (id BIGINT NOT NULL, n DECIMAL(10, 2), d DATE, ts TIMESTAMP, b BOOLEAN, PRIMARY KEY (id))"
    )
    insert = jdbc.prepareStatement("INSERT INTO kept VALUES (?, ?, ?, ?, ?)")
    for n in range(8):
        insert.setLong(1, n)
        insert.setBigDecimal(2, jvm.java.math.BigDecimal("1.50"))
        insert.setDate(3, jvm.java.sql.Date.valueOf("2026-01-02"))
        insert.setTimestamp(4, jvm.java.sql.Timestamp.valueOf("2026-01-02 10:00:00.123"))
        insert.setBoolean(5, n % 2 == 0)
        assert insert.executeUpdate() == 1
    asked = jdbc.prepareStatement("SELECT * FROM kept WHERE id >= ? AND b = ?")
    for n in range(8):
        asked.setLong(1, n)
        asked.setBoolean(2, False)
        rows = _rows(asked.executeQuery())
        assert [row["id"] for row in rows] == [m for m in range(n, 8) if m % 2]
    assert rows[0]["n"] == Decimal("1.50")
    assert rows[0]["d"].toString() == "2026-01-02"
    assert rows[0]["ts"].toString() == "2026-01-02 10:00:00.123"


def test_batches_are_one_epoch(running: Running, jdbc: Any) -> None:
    before = running.pipeline.epoch
    insert = jdbc.prepareStatement("INSERT INTO items VALUES (?, ?)")
    for n in range(50):
        insert.setInt(1, n)
        insert.setString(2, "a")
        insert.addBatch()
    assert list(insert.executeBatch()) == [1] * 50
    assert running.pipeline.epoch == before + 1


def test_transactions(jdbc: Any) -> None:
    jdbc.setAutoCommit(False)
    statement = jdbc.createStatement()
    assert statement.executeUpdate("INSERT INTO items SELECT x, 'a' FROM (SELECT explode(sequence(1, 20)) AS x)") == 20
    savepoint = jdbc.setSavepoint()
    assert statement.executeUpdate("DELETE FROM items WHERE id > 5") == 15
    jdbc.rollback(savepoint)
    jdbc.commit()
    statement.setFetchSize(3)
    assert [row["id"] for row in _rows(statement.executeQuery("SELECT id FROM items ORDER BY id"))] == [*range(1, 21)]
    statement.executeUpdate("DELETE FROM items")
    jdbc.rollback()
    assert _rows(statement.executeQuery("SELECT n FROM names")) == [{"n": 20}]


def test_errors(jdbc: Any) -> None:
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as raised:
        jdbc.createStatement().executeQuery("SELECT missing FROM items")
    assert raised.value.java_exception.getSQLState() == "42703"
    assert raised.value.java_exception.getServerErrorMessage().getPosition() == 8


def test_copies(jdbc: Any, jvm: Any) -> None:
    inner = jdbc.unwrap(jvm.java.lang.Class.forName("org.postgresql.core.BaseConnection"))
    copies = jvm.org.postgresql.copy.CopyManager(inner)
    assert copies.copyIn("COPY items FROM STDIN WITH CSV", jvm.java.io.StringReader("1,x\n2,\n")) == 2
    written = jvm.java.io.StringWriter()
    assert copies.copyOut("COPY (SELECT * FROM items ORDER BY id) TO STDOUT", written) == 2
    assert written.toString() == "1\tx\n2\t\\N\n"

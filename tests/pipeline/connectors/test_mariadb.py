"""Tables of MariaDB through JDBC, by its own driver and by MySQL's, against the rows of a real server.

Catches a type of MySQL that is read as another value, names that are read as texts, and an update that is not seen.
Needs mariadbd, and both drivers in Maven's local repository; `scripts/trial-cluster mariadb` is the way to run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.standalone import free_port

pytestmark = pytest.mark.slow
DRIVERS = {
    "com.mysql.cj.jdbc.Driver": ("com/mysql/mysql-connector-j", ""),
    "org.mariadb.jdbc.Driver": ("org/mariadb/jdbc/mariadb-java-client", "?permitMysqlScheme"),
}
SECRET = "s3cret"
CREATED = """CREATE TABLE sale (id INT PRIMARY KEY, shop VARCHAR(20), n BIGINT UNSIGNED, price DECIMAL(10, 2),
       at DATETIME(6), paid BOOLEAN, day DATE, note TEXT, rate DOUBLE, version INT);
       INSERT INTO sale VALUES
       (1, 'north', 4, 9.90, '2026-01-02 03:04:05.123456', TRUE, '2026-01-02', 'x', 1.5, 1),
       (2, 'süd', 18446744073709551615, 1.00, NULL, FALSE, NULL, NULL, NULL, 1)"""
CHANGES = [
    "INSERT INTO sale VALUES (3, 'east', 7, 2.50, '2026-01-02 03:04:05', NULL, '9999-12-31', '', -0.5, 2)",
    "UPDATE sale SET price = 10, version = 3 WHERE id = 1",
]
ROWS = [
    "1 north 4 9.90 2026-01-02T03:04:05.123456+00:00 True 2026-01-02 x 1.5 1",
    "2 süd 18446744073709551615 1.00 None False None None None 1",
    "3 east 7 2.50 2026-01-02T03:04:05+00:00 None 9999-12-31  -0.5 2",
]
PROGRAM = """
import subprocess, sys
from pyspark.sql import SparkSession
import deltic

jar, statement, *client, changes = sys.argv[1:]
spark = SparkSession.builder.master("local[1]").config("spark.jars", jar).getOrCreate()
text = lambda value: value.isoformat() if hasattr(value, "isoformat") else str(value)
with deltic.Pipeline(spark) as pipeline:
    pipeline.sql(statement)
    for change in ["", *changes.split(";")]:
        subprocess.run([*client, "-e", change], check=True)
        pipeline.refresh()
        print(sorted(" ".join(map(text, row)) for row in pipeline["sale"]), flush=True)
"""


@pytest.fixture(scope="module")
def server():
    """The port of a server, and the command of a client of its database `shop`."""
    if not (shutil.which("mariadbd") and shutil.which("mariadb-install-db")):
        pytest.skip("the machine has no MariaDB")
    with tempfile.TemporaryDirectory(prefix="deltic-mariadb-") as folder:
        Path(folder).chmod(0o755)
        user = ["--user=mysql"] if os.getuid() == 0 else []
        subprocess.run(["mariadb-install-db", f"--datadir={folder}/data", *user], check=True, capture_output=True)
        shutil.copymode("/tmp", folder)  # its socket and its mark are in the folder
        port = free_port()
        places = [f"--datadir={folder}/data", f"--socket={folder}/socket", f"--pid-file={folder}/pid", f"--port={port}"]
        process = subprocess.Popen(["mariadbd", *user, *places, "--bind-address=127.0.0.1"], stderr=subprocess.DEVNULL)
        client = ["mariadb", "-S", f"{folder}/socket"]
        try:
            while subprocess.run([*client, "-e", ""], capture_output=True, check=False).returncode:
                assert process.poll() is None
                time.sleep(0.1)
            user_of_it = f"GRANT ALL ON shop.* TO me@127.0.0.1 IDENTIFIED BY '{SECRET}'"
            subprocess.run([*client, "-e", f"CREATE DATABASE shop; {user_of_it}"], check=True)
            yield port, [*client, "shop"]
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.parametrize("changed", ["", ", changed 'version'"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_table_of_mariadb(server, driver, changed):
    artifact, options = DRIVERS[driver]
    jar = next((Path.home() / ".m2/repository" / artifact).glob("*/*.jar"), None)
    if jar is None:
        pytest.skip(f"the machine has no {driver}: mvn dependency:get")
    port, client = server
    subprocess.run([*client, "-e", f"DROP TABLE IF EXISTS sale; {CREATED}"], check=True)
    place = f"url 'jdbc:mysql://127.0.0.1:{port}/shop{options}', dbtable 'sale', driver '{driver}'"
    access = f"user 'me', password '${{SHOP_PASSWORD}}'{changed}"
    statement = f"CREATE TABLE sale (PRIMARY KEY (id)) USING jdbc OPTIONS ({place}, {access})"
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, jar, statement, *client, ";".join(CHANGES)],
        env={**os.environ, "SHOP_PASSWORD": SECRET},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    raised = ROWS[0].replace("9.90", "10.00").removesuffix("1") + "3"
    listed = [sorted(ROWS[:2]), sorted(ROWS), sorted([raised, *ROWS[1:]])]
    assert result.stdout.splitlines() == list(map(str, listed))

"""The example of dbt-deltic against a server: seeds, models and tests, run again, changed, and dropped first.

`scripts/check-dbt` installs dbt in an environment of its own, and names it in DELTIC_TEST_DBT. Catches a statement of
dbt's that is refused, threads whose transactions conflict, a view that is not fresh between the runs, and a second run
that loses a state or cannot replace what the first one made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from tests.server.postgres.conftest import Running

DBT = os.environ.get("DELTIC_TEST_DBT", "")
EXAMPLE = Path(__file__).parents[1] / "example"
VALUES = "SELECT name, value FROM {} ORDER BY name"

pytestmark = pytest.mark.skipif(not DBT, reason="DELTIC_TEST_DBT names no command of dbt: run scripts/check-dbt")


@pytest.fixture
def project(tmp_path):
    """A server without tables, and what runs dbt over a copy of the example."""
    folder, server = Path(shutil.copytree(EXAMPLE, tmp_path / "cafe")), Running("")

    def run(*arguments, fails=False):
        command = [DBT, *arguments, "--profiles-dir", "."]
        environment = os.environ | {"DELTIC_PORT": str(server.port)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert bool(done.returncode) == fails, done.stdout
        return done.stdout

    with server.connect() as connection:
        yield connection, folder, run
    server.close()


def test_models_are_fresh_between_runs(project):
    connection, _, run = project
    run("debug")
    assert "PASS=17 " in run("build")
    assert connection.execute(VALUES.format("customers")).fetchall() == [
        ("ada", Decimal("12.5")),
        ("bob", Decimal(5)),
        ("cyd", Decimal(0)),
    ]
    connection.execute("INSERT INTO raw_payments VALUES (5, 1, 'card', 100)")
    connection.execute("DELETE FROM raw_orders WHERE id = 3")
    fresh = [("ada", Decimal("13.5")), ("bob", Decimal(0)), ("cyd", Decimal(0))]
    assert connection.execute(VALUES.format("customers")).fetchall() == fresh
    assert connection.execute(VALUES.format("best")).fetchall() == [("ada", Decimal("12.5")), ("bob", Decimal(5))]
    run("run")
    assert connection.execute(VALUES.format("best")).fetchall() == [("ada", Decimal("13.5"))]
    assert connection.execute("SELECT n FROM best_count").fetchall() == [(1,)]
    run("docs", "generate")
    assert "PASS=17 " in run("build")
    assert connection.execute("SELECT n FROM best_count").fetchall() == [(2,)]


def test_changed_models(project):
    connection, folder, run = project
    run("build")
    staging, customers = folder / "models/staging/stg_customers.sql", folder / "models/customers.sql"
    staging.write_text(staging.read_text().replace("name", "upper(name) as title"))
    customers.write_text(customers.read_text().replace("c.name", "c.title"))
    best = folder / "models/best.sql"
    best.write_text(best.read_text().replace("name", "title").replace("'table'", "'view'"))
    assert "there is no column c.name here" in run("run", fails=True)
    assert "PASS=17 " in run("build", "--full-refresh")
    assert connection.execute("SELECT title FROM best ORDER BY 1").fetchall() == [("ADA",), ("BOB",)]
    customers.write_text("{{ config(materialized='table') }}\n" + customers.read_text())
    assert "PASS=17 " in run("build")
    assert connection.execute("SELECT n FROM best_count").fetchall() == [(2,)]


def test_snapshots_are_refused(project):
    _, folder, run = project
    (folder / "snapshots").mkdir()
    config = "{{ config(unique_key='id', strategy='check', check_cols='all') }}"
    (folder / "snapshots/s.sql").write_text(f"{{% snapshot s %}}{config} select 1 as id{{% endsnapshot %}}")
    assert "Deltic has no snapshots" in run("snapshot", fails=True)
